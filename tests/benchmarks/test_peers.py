"""A peer is one entry: from there it comes into the table, the versions and the pictures."""

import dataclasses
import re
import tomllib
from pathlib import Path

import pytest
import torch

from benchmarks import parts, peers, pictures, report
from benchmarks.cases import QUICK_CASES
from benchmarks.layers import compare_layers
from utils.measure import Peak

ROOT = Path(__file__).resolve().parents[2]
CPU = torch.device("cpu")
PEAK = Peak(flops=1e9, bytes=1e9)
SELF, _, FEW = QUICK_CASES


def compare(*cases):
    return compare_layers(cases, CPU, torch.float32, PEAK, budget=0.0)


def made_up(build, **changes):
    """One entry: PyTorch's layer under another name."""
    entry = {"package": "numpy", "colour": "#123456", "marker": "X"} | changes
    return peers.Library("made-up", build=build, **entry)


def test_a_missing_library_is_named(monkeypatch):
    def missing(case, module):
        raise ModuleNotFoundError("No module named 'made_up'")

    monkeypatch.setattr(peers, "LIBRARIES", (*peers.LIBRARIES[:2], made_up(missing)))
    rows, notes = compare(SELF)
    assert len(notes) == 1
    assert "'made_up'" in notes[0]
    assert set(rows["name"]) == {"floor", "floor, packed", "ours", "torch.nn"}


def test_a_new_peer_is_one_entry(monkeypatch):
    def build(case, module):
        for peer in peers.torch_peers(case, module):
            yield dataclasses.replace(peer, name="a way")

    entry = made_up(build, package="pytest")
    monkeypatch.setattr(peers, "LIBRARIES", (*peers.LIBRARIES[:2], entry))
    rows, notes = compare(SELF, FEW)
    rows.loc[rows["name"] == "torch.nn", "to_peer"] = 2.0
    rows.loc[rows["name"] == "made-up, a way", "to_peer"] = 1.0
    result = report.make("layers", CPU, {"notes": notes}, PEAK, {"layers": rows})
    assert result["versions"]["pytest"] == pytest.__version__
    part = parts.layers(result, "cpu")
    assert set(part.table["fastest peer"]) == {"made-up, a way"}
    for figure in part.draw().values():
        assert entry.colour in figure.svg, "its marks"
        assert "made-up" in figure.alt


def test_a_peer_without_an_entry_is_no_gap_in_a_picture():
    rows, _ = compare(SELF)
    renamed = rows.assign(name=rows["name"].str.replace("BERT", "nobody's"))
    with pytest.raises(ValueError, match="nobody's"):
        pictures.draw_layers(renamed, "here")


def test_every_peer_can_be_installed_and_told_from_the_others():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    lines = [*project["dependencies"], *project["optional-dependencies"]["bench"]]
    lines += (ROOT / "benchmarks" / "requirements.txt").read_text(encoding="utf-8").splitlines()
    installed = {re.match(r"[\w.-]*", line)[0] for line in lines}
    assert {library.package for library in peers.LIBRARIES} <= installed
    for mark in ("name", "colour", "marker"):
        marks = [getattr(library, mark) for library in peers.LIBRARIES]
        assert len(set(marks)) == len(marks), mark
    assert not any("," in library.name for library in peers.LIBRARIES), "a way follows a comma"
