"""The command: one table, one line where the file is, and what it refuses."""

import json

import pandas as pd
import pytest
import torch

from benchmarks import __main__ as command
from benchmarks import page, report
from benchmarks.limits import Peak
from benchmarks.parts import Part
from utils.news import NEWS

no_gpu = pytest.mark.skipif(torch.cuda.is_available(), reason="there is a GPU")


@no_gpu
def test_without_a_gpu_it_says_so_and_runs_on_the_cpu(results, capsys):
    command.main(["layers", "--quick", "--write", "--case", "1 of", "--device", "cuda"])
    out = capsys.readouterr().out
    assert out.startswith(report.NO_GPU)
    assert "(2, 1 of 24, 16, 2)" in out
    assert "(2, 12, 16, 2)" not in out
    file = results / "layers-cpu.json"
    assert f"Written: {file}" in out
    assert out.rstrip().endswith(f"Written: {page.PAGE}")
    found = json.loads(file.read_text())
    assert found["machine"]["gpu"] is None
    assert found["peak"]["flops"] > 0
    assert (found["settings"]["dtype"], found["settings"]["quick"]) == ("float32", True)


def test_a_gpu_is_taken_where_there_is_one_unless_the_cpu_is_asked_for(monkeypatch):
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr(torch.cuda, "current_device", lambda: 0)
    for asked in (None, "cuda"):
        assert report.choose_device(asked) == (torch.device("cuda", 0), [])
    assert report.choose_device("cpu") == (torch.device("cpu"), [])


@pytest.mark.parametrize(
    ("options", "written"),
    [
        ("", True),
        ("--quick", False),
        ("--quick --write", True),
        ("--case 12", False),
    ],
)
def test_only_what_was_run_as_a_whole_is_written(monkeypatch, results, capsys, options, written):
    monkeypatch.setitem(command.RUNS, "layers", lambda *_: ({}, {"notes": []}))
    monkeypatch.setitem(command.PARTS, "layers", lambda *_: Part(pd.DataFrame(), [], {}, dict))
    monkeypatch.setattr(command, "measure_peak", lambda *_: Peak(1e9, 1e9))
    monkeypatch.setattr(command, "write_page", lambda: "a page")
    command.main(["layers", "--device", "cpu", *options.split()])
    assert ("nothing is written" in capsys.readouterr().out) != written
    assert (results / "layers-cpu.json").is_file() == written


@pytest.mark.parametrize(
    ("asked", "message"),
    [
        ("everything", "training"),
        ("training --slow-epochs 0", "at least one epoch"),
        ("writing --threads -1", "one thread"),
        ("layers --quick --device cpu --case 77", "77"),
    ],
)
def test_what_cannot_be_asked_for_is_refused(asked, message, capsys):
    with pytest.raises(SystemExit) as stopped:
        command.main(asked.split())
    assert message in f"{stopped.value} {capsys.readouterr().err}"


@pytest.mark.slow
def test_quick_training_runs_to_its_end(monkeypatch, results):
    from datasets import Dataset, DatasetDict

    from benchmarks import epochs

    texts = [f"{'sun' if i % 2 else 'moon'} rises {i}" for i in range(80)]
    rows = [{"text": t, "label": i % 2, "label_text": "ab"[i % 2]} for i, t in enumerate(texts)]
    parts = {"train": Dataset.from_list(rows[:60]), "test": Dataset.from_list(rows[60:])}
    monkeypatch.setattr(epochs, "load_news", lambda: DatasetDict(parts))
    monkeypatch.setattr(NEWS, "source", "docstrings")
    command.main(["training", "--quick", "--write", "--device", "cpu"])
    found = json.loads((results / "training-cpu.json").read_text())
    assert set(found["tables"]) == {"variants", "epochs", "steps", "double"}
    assert (found["settings"]["documents"], found["settings"]["epochs"]) == (45, 2)
