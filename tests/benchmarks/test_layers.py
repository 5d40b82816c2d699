"""Layers are compared only if they are the same function, and a peer is one entry."""

import dataclasses
import re
import tomllib
from importlib.util import find_spec
from pathlib import Path

import pytest
import torch

from benchmarks import layers, parts, peers, report
from benchmarks.cases import QUICK_CASES, Case
from benchmarks.layers import compare_layers
from benchmarks.limits import Peak

ROOT = Path(__file__).resolve().parents[2]
CPU, PEAK = torch.device("cpu"), Peak(flops=1e9, bytes=1e9)
SELF, CAUSAL, FEW = QUICK_CASES


def compare(*cases, dtype=torch.float32):
    return compare_layers(cases, CPU, dtype, PEAK, budget=0.0)


@pytest.fixture(scope="module")
def everything():
    return compare(*QUICK_CASES)


def test_operations_by_hand():
    # Four projections of 2 tokens, 4 to 4, and two products of 2 × 2 pairs over 4 dimensions.
    plain = 2 * (4 * 2 * 4 * 4 + 2 * 2 * 2 * 4)
    assert Case(1, 2, 2, 4, 2).flops(backward=False) == plain
    assert Case(3, 2, 2, 4, 2).flops(backward=True) == 3 * 3 * plain
    # Causal, token 1 attends to one key and token 2 to two: 3 pairs in place of 4.
    assert Case(1, 2, 2, 4, 2, causal=True).flops(False) == 2 * (4 * 2 * 4 * 4 + 2 * 3 * 4)
    # One query: projected, brought to the keys and back, and projected: four products 4 × 4. Then
    # scores and mixture of 100 keys with 4 dimensions for each of 2 heads.
    assert Case(1, 1, 100, 4, 2).flops(False) == 2 * (4 * 4 * 4 + 2 * 100 * 4 * 2)


def test_every_layer_is_the_same_function_as_pytorchs(everything):
    rows, notes = everything
    assert rows["difference"].max() < 1e-5
    assert set(rows["case"]) == {case.name for case in QUICK_CASES}
    for _, group in rows.groupby(["case", "pass"]):
        assert {"floor", "torch.nn", "ours", "BERT, sdpa"} <= set(group["name"])
    for name in ("ours", "torch.nn"):
        assert set(rows.loc[rows["name"] == name, "asked"]) == {"none", "mean", "all"}
    trained = rows[(rows["case"] == CAUSAL.name) & (rows["pass"] == "both")]
    assert set(trained["asked"]) == {"none"}
    if find_spec("x_transformers"):
        found = rows[rows["name"].str.startswith("x-transformers")]
        assert set(found["asked"]) == {"none", "all"}
    if find_spec("llms_from_scratch"):  # its layers are causal
        found = rows[rows["name"].str.startswith("llms-from-scratch")]
        assert found["case"].tolist() == [CAUSAL.name] * 4, "two classes, forward and both"
        assert any("causal" in note for note in notes)


def test_ratios_are_to_the_fastest_that_was_asked_for_the_same(everything):
    rows, _ = everything
    for _, group in rows.groupby(["case", "pass", "asked"]):
        assert (group.loc[group["kind"] == "peer", "to_peer"] == 1.0).any()
    floors = rows[rows["kind"] == "floor"]
    assert len(floors) == 2 * 2 * 3
    assert (floors["to_floor"] == 1.0).sum() >= 6
    row = rows[rows["name"] == "ours"].iloc[0]
    rate = SELF.flops(False) / (row["ms"] / 1e3)
    assert (row["tflops"], row["of_peak"]) == pytest.approx((rate / 1e12, rate / PEAK.flops))


@pytest.mark.parametrize(("part", "case"), [("output", SELF), ("gradient", FEW)])
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


@pytest.mark.parametrize("missing", [True, False])
def test_a_new_peer_is_one_entry(monkeypatch, missing):
    def build(case, module):
        if missing:
            raise ModuleNotFoundError("No module named 'made_up'")
        for peer in peers.torch_peers(case, module):
            yield dataclasses.replace(peer, name="a way")

    entry = peers.Library(
        "made-up", build=build, package="pytest", colour="#123456", marker="X"
    )  # fmt: skip
    monkeypatch.setattr(peers, "LIBRARIES", (*peers.LIBRARIES[:2], entry))
    rows, notes = compare(SELF, FEW)
    if missing:
        assert ["'made_up'" in note for note in notes] == [True]
        assert "ours" in set(rows["name"])
        return
    rows.loc[rows["name"] == "torch.nn", "to_peer"] = 2.0
    rows.loc[rows["name"] == "made-up, a way", "to_peer"] = 1.0
    result = report.make("layers", CPU, {"notes": notes}, PEAK, {"layers": rows})
    assert result["versions"]["pytest"] == pytest.__version__
    part = parts.layers(result, "cpu")
    assert set(part.table["fastest peer"]) == {"made-up, a way"}
    for figure in part.draw().values():
        assert entry.colour in figure.svg, "its marks"
        assert "made-up" in figure.alt


def test_every_peer_can_be_installed_and_told_from_the_others():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    lines = [*project["dependencies"], *project["optional-dependencies"]["bench"]]
    lines += (ROOT / "benchmarks" / "requirements.txt").read_text(encoding="utf-8").splitlines()
    installed = {re.match(r"[\w.-]*", line)[0] for line in lines}
    assert {library.package for library in peers.LIBRARIES} <= installed
    for mark in ("name", "colour", "marker"):
        marks = [getattr(library, mark) for library in peers.LIBRARIES]
        assert len(set(marks)) == len(marks), mark
