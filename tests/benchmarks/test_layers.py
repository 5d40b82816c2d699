"""Layers are compared only if they are the same function, and the work is counted right."""

import dataclasses
from importlib.util import find_spec

import pytest
import torch

from benchmarks import layers, parts, peers, report
from benchmarks.cases import CASES, QUICK_CASES, Case
from benchmarks.layers import compare_layers
from utils.measure import Peak

CPU = torch.device("cpu")
PEAK = Peak(flops=1e9, bytes=1e9)
SELF, CAUSAL, FEW = QUICK_CASES


def compare(*cases, dtype=torch.float32):
    return compare_layers(cases, CPU, dtype, PEAK, budget=0.0)


@pytest.fixture(scope="module")
def everything():
    return compare(*QUICK_CASES)


def test_operations_by_hand():
    # Four projections of 2 tokens, 4 to 4, and two products of 2 × 2 pairs over 4 dimensions.
    assert Case(1, 2, 2, 4, 2).flops(backward=False) == 2 * (4 * 2 * 4 * 4 + 2 * 2 * 2 * 4)
    assert Case(3, 2, 2, 4, 2).flops(backward=True) == 3 * 3 * Case(1, 2, 2, 4, 2).flops(False)


def test_a_causal_case_counts_the_pairs_that_are_allowed():
    # Token 1 attends to one key and token 2 to two: 3 pairs in place of 4.
    assert Case(1, 2, 2, 4, 2, causal=True).flops(False) == 2 * (4 * 2 * 4 * 4 + 2 * 3 * 4)


def test_with_few_queries_the_cheaper_order_counts():
    # One query: projected, brought to the keys and back, and projected: four products 4 × 4. Then
    # scores and mixture of 100 keys with 4 dimensions for each of 2 heads.
    assert Case(1, 1, 100, 4, 2).flops(False) == 2 * (4 * 4 * 4 + 2 * 100 * 4 * 2)


def test_the_shapes_of_the_benchmark():
    names = [case.name for case in CASES]
    assert len(set(names)) == len(names)
    assert names[0] == "(32, 512, 64, 8)"
    assert "(4, 1024, 768, 12) causal" in names
    assert "(32, 1 of 512, 64, 8)" in names
    assert names[-5:] == [f"(1, 1 of {S}, 512, 8)" for S in (512, 1024, 2048, 4096, 8192)]


def test_every_layer_is_the_same_function_as_pytorchs(everything):
    rows, _ = everything
    assert rows["difference"].max() < 1e-5
    assert set(rows["case"]) == {case.name for case in QUICK_CASES}
    for _, group in rows.groupby(["case", "pass"]):
        assert {"floor", "torch.nn", "ours", "BERT, sdpa"} <= set(group["name"])


@pytest.mark.skipif(not find_spec("x_transformers"), reason="needs the extra bench")
def test_x_transformers_takes_part_with_and_without_weights(everything):
    rows, _ = everything
    found = rows[rows["name"].str.startswith("x-transformers")]
    assert set(found["asked"]) == {"none", "all"}


@pytest.mark.skipif(not find_spec("llms_from_scratch"), reason="needs `make bench`")
def test_causal_layers_are_compared_with_causal_ones(everything):
    rows, notes = everything
    found = rows[rows["name"].str.startswith("llms-from-scratch")]
    assert set(found["case"]) == {CAUSAL.name}
    assert len(found) == 4, "two classes, forward and both"
    assert any("causal" in note for note in notes)


def test_ours_and_pytorchs_are_asked_for_no_weights_for_their_mean_and_for_all(everything):
    rows, _ = everything
    for name in ("ours", "torch.nn"):
        assert set(rows.loc[rows["name"] == name, "asked"]) == {"none", "mean", "all"}


def test_ratios_are_to_the_fastest_that_was_asked_for_the_same(everything):
    rows, _ = everything
    for _, group in rows.groupby(["case", "pass", "asked"]):
        fastest = group[group["kind"] == "peer"]
        assert (fastest["to_peer"] == 1.0).sum() >= 1
    floors = rows[rows["kind"] == "floor"]
    assert len(floors) == 2 * 2 * 3
    assert (floors["to_floor"] == 1.0).sum() >= 6


def test_share_of_the_peak(everything):
    rows, _ = everything
    row = rows[rows["name"] == "ours"].iloc[0]
    rate = SELF.flops(False) / (row["ms"] / 1e3)
    assert row["tflops"] == pytest.approx(rate / 1e12)
    assert row["of_peak"] == pytest.approx(rate / PEAK.flops)


def test_causal_layers_are_trained_without_weights(everything):
    rows, _ = everything
    trained = rows[(rows["case"] == CAUSAL.name) & (rows["pass"] == "both")]
    assert set(trained["asked"]) == {"none"}


def test_the_table_has_a_row_for_each_question(everything):
    rows, _ = everything
    measured = [name for name in rows if name.startswith(("ms", "to_", "tflops", "of_peak"))]
    same = rows.assign(**dict.fromkeys(measured, 1.0))  # as wide on every machine
    result = report.make("layers", CPU, {"notes": []}, PEAK, {"layers": same})
    table = parts.layers(result, "cpu").table
    assert len(table) == len(QUICK_CASES) * 2 * 3 - 2
    assert "ours / floor" in table
    assert max(map(len, table.to_string(index=False).splitlines())) < 150


def test_half_precision():
    rows, _ = compare(SELF, dtype=torch.bfloat16)
    assert 0 < rows["difference"].max() < 0.05


@pytest.mark.parametrize("part", ["output", "gradient"])
@pytest.mark.parametrize("case", [SELF, FEW])
def test_another_function_is_refused(monkeypatch, part, case):
    build_peers = peers.build_peers

    def wrong(case, module):
        found, _ = build_peers(case, module)
        first = next(peer for peer in found if peer.kind == "ours")

        def call(query, x):
            output, weights = first.call(query, x)
            if part == "gradient":  # the same output, half of the gradient
                return output * 0.5 + output.detach() * 0.5, weights
            return output * 1.01, weights

        return [*found, dataclasses.replace(first, name="wrong", kind="peer", call=call)], []

    monkeypatch.setattr(layers, "build_peers", wrong)
    with pytest.raises(ArithmeticError, match="wrong, none"):
        compare(case)
