"""The command: it prints what the page would say, and keeps only a whole run."""

import json

import pytest
import torch

from benchmarks import __main__ as command
from benchmarks import layers, page, report
from benchmarks.cases import QUICK_CASES


@pytest.mark.slow
def test_a_whole_run_is_kept_and_a_quick_one_only_printed(monkeypatch, results, capsys):
    command.main(["layers", "--quick", "--device", "cpu"])
    assert "With one query ours takes" in capsys.readouterr().out
    assert not results.exists()
    monkeypatch.setattr(layers, "CASES", QUICK_CASES)
    monkeypatch.setattr(layers, "BUDGET", 0.0)
    command.main(["layers", "--device", "cpu"])
    found = json.loads((results / "layers-cpu.json").read_text())
    assert (found["machine"]["gpu"], found["settings"]["dtype"]) == (None, "float32")
    text = page.PAGE.read_text(encoding="utf-8")
    assert text == page.make_page()[0]
    assert "file: _static/measurements/layers-cpu.html" in text
    assert [file.name for file in page.PICTURES.iterdir()] == ["layers-cpu.html"]


def test_what_a_table_leaves_empty_is_none(results):
    import pandas as pd

    table = pd.DataFrame({"a": [1.0, float("nan")]})
    made = report.make("layers", torch.device("cpu"), {}, {"t": table})
    assert made["tables"] == {"t": [{"a": 1.0}, {"a": None}]}
    report.write("x", made)
    assert report.read("x") == made
