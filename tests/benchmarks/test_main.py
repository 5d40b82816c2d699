"""The command: one table, one line where the file is, and a file that can be read again."""

import json

import pandas as pd
import pytest
import torch

from benchmarks import __main__ as command
from benchmarks import page, report
from utils.data import NEWS
from utils.measure import Peak

no_gpu = pytest.mark.skipif(torch.cuda.is_available(), reason="there is a GPU")


def test_a_quick_run_prints_a_table_and_writes_nothing(results, capsys):
    command.main(["layers", "--quick", "--device", "cpu"])
    out = capsys.readouterr().out
    assert "fastest peer" in out
    assert "nothing is written" in out
    assert not results.exists()


@no_gpu
def test_without_a_gpu_it_says_so_and_runs_on_the_cpu(results, capsys):
    command.main(["layers", "--quick", "--write", "--device", "cuda"])
    out = capsys.readouterr().out
    assert out.startswith(report.NO_GPU)
    file = results / "layers-cpu.json"
    assert f"Written: {file}" in out
    assert out.rstrip().endswith(f"Written: {page.PAGE}")
    found = json.loads(file.read_text())
    assert found["benchmark"] == "layers"
    assert found["machine"]["gpu"] is None
    assert found["machine"]["cores"] >= 1
    # A package's version may or may not name the build, as 2.13.0+cpu does.
    assert found["versions"]["torch"].split("+")[0] == torch.__version__.split("+")[0]
    assert len(found["date"]) == 10
    assert found["peak"]["flops"] > 0
    assert found["settings"]["dtype"] == "float32"
    assert {"name", "ms", "ms_low", "ms_high", "to_floor"} <= set(found["tables"]["layers"][0])


@no_gpu
@pytest.mark.parametrize("asked", [None, "cuda"])
def test_the_device_where_there_is_no_gpu(asked):
    assert report.choose_device(asked) == (torch.device("cpu"), [report.NO_GPU])
    assert report.choose_device("cpu") == (torch.device("cpu"), [])


def test_the_device_where_there_is_a_gpu(monkeypatch):
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr(torch.cuda, "current_device", lambda: 0)
    for asked in (None, "cuda"):
        assert report.choose_device(asked) == (torch.device("cuda", 0), [])
    assert report.choose_device("cpu") == (torch.device("cpu"), [])


def test_what_is_empty_is_null_and_small_numbers_stay(results):
    table = pd.DataFrame({"loss": [float("nan"), 1.5], "gap": [6e-8, 0.0], "name": ["a", "b"]})
    found = report.make("x", torch.device("cpu"), {"quick": True}, Peak(1.0, 2.0), {"t": table})
    file = report.write("x-cpu", found)
    rows = json.loads(file.read_text())["tables"]["t"]
    assert rows[0] == {"loss": None, "gap": pytest.approx(6e-8, rel=1e-3), "name": "a"}
    assert [path.name for path in results.iterdir()] == ["x-cpu.json"]


def test_some_shapes_alone_and_no_shape(results, capsys):
    command.main(["layers", "--quick", "--case", "1 of", "--device", "cpu"])
    out = capsys.readouterr().out
    assert "(2, 1 of 24, 16, 2)" in out
    assert "(2, 12, 16, 2)" not in out
    with pytest.raises(SystemExit, match="77"):
        command.main(["layers", "--quick", "--case", "77", "--device", "cpu"])


def test_no_epochs_are_refused(capsys):
    with pytest.raises(SystemExit):
        command.main(["training", "--slow-epochs", "0"])
    assert "at least one epoch" in capsys.readouterr().err


def test_an_unknown_benchmark_is_refused(capsys):
    with pytest.raises(SystemExit):
        command.main(["everything"])
    assert "training" in capsys.readouterr().err


@pytest.mark.slow
def test_quick_training_runs_to_its_end(monkeypatch, results, capsys):
    from datasets import Dataset, DatasetDict

    from benchmarks import epochs

    texts = [f"{'sun' if i % 2 else 'moon'} rises {i}" for i in range(80)]
    rows = [{"text": t, "label": i % 2, "label_text": "ab"[i % 2]} for i, t in enumerate(texts)]
    parts = {"train": Dataset.from_list(rows[:60]), "test": Dataset.from_list(rows[60:])}
    monkeypatch.setattr(epochs, "load_news", lambda: DatasetDict(parts))
    monkeypatch.setattr(NEWS, "source", "docstrings")
    command.main(["training", "--quick", "--write", "--device", "cpu"])
    out = capsys.readouterr().out
    assert "torch.nn, as the blog calls it" in out
    assert "A step of ours takes" in out
    found = json.loads((results / "training-cpu.json").read_text())
    assert set(found["tables"]) == {"variants", "epochs", "steps", "double"}
    assert found["settings"]["documents"] == 45
    assert found["settings"]["epochs"] == 2
