"""Layers are compared only if they are the same function, and a peer is one entry."""

import dataclasses
import re
import tomllib
from importlib.util import find_spec
from pathlib import Path

import pytest
import torch

from benchmarks import layers, parts, peers, report
from benchmarks.cases import QUICK_CASES
from benchmarks.layers import compare_layers

ROOT = Path(__file__).resolve().parents[2]
CPU = torch.device("cpu")
SELF, CAUSAL, FEW = QUICK_CASES


def compare(*cases):
    return compare_layers(cases, CPU, torch.float32, budget=0.0)


@pytest.fixture(scope="module")
def everything():
    return compare(*QUICK_CASES)


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

    entry = peers.Library("made-up", "pytest", build)
    monkeypatch.setattr(peers, "LIBRARIES", (*peers.LIBRARIES[:2], entry))
    rows, notes = compare(SELF, FEW)
    if missing:
        assert ["'made_up'" in note for note in notes] == [True]
        assert "ours" in set(rows["name"])
        return
    rows.loc[rows["name"] == "torch.nn", "to_peer"] = 2.0
    rows.loc[rows["name"] == "made-up, a way", "to_peer"] = 1.0
    result = report.make("layers", CPU, {"notes": notes}, {"layers": rows})
    assert result["versions"]["pytest"] == pytest.__version__
    part = parts.layers(result, "cpu")
    assert set(part["all-both"]["fastest peer"]) == {"made-up, a way"}
    assert "made-up" in part["picture"].alt


def test_every_peer_can_be_installed():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    extras = project["optional-dependencies"]
    lines = [*project["dependencies"], *extras["classifier"], *extras["bench"]]
    lines += (ROOT / "benchmarks" / "requirements.txt").read_text(encoding="utf-8").splitlines()
    installed = {re.match(r"[\w.-]*", line)[0] for line in lines}
    assert {library.package for library in peers.LIBRARIES} <= installed
