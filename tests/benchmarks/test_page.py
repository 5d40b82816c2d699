"""The page says what the files hold, and the committed page is the one that the command writes."""

import json
import re

import matplotlib as mpl
import pytest
import torch

from benchmarks import chapters, page, report
from benchmarks.cases import QUICK_CASES
from benchmarks.layers import compare_layers
from benchmarks.limits import Peak

CPU, PEAK = torch.device("cpu"), Peak(1e12, 1e9)


@pytest.fixture(scope="module")
def files(tables, tmp_path_factory):
    """Small results of two benchmarks on a CPU: the files' texts."""
    settings = {"epochs": 4, "slow_epochs": 2, "documents": 12, "step_shape": [4, 10]}
    settings |= {"dtype": "float32", "source": "docstrings"}
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(report, "RESULTS", tmp_path_factory.mktemp("results"))
        report.write("training-cpu", report.make("training", CPU, settings, PEAK, tables))
        rows, notes = compare_layers(QUICK_CASES, CPU, torch.float32, PEAK, budget=0.0)
        found = {"dtype": "float32", "notes": notes}
        report.write("layers-cpu", report.make("layers", CPU, found, PEAK, {"layers": rows}))
        return {file.name: file.read_text() for file in report.RESULTS.iterdir()}


@pytest.fixture
def measured(results, files):
    """The folder of results with both in it."""
    results.mkdir()
    for name, text in files.items():
        (results / name).write_text(text)
    return results


@pytest.mark.slow
def test_the_committed_page_is_the_one_that_the_command_writes():
    again = "Run `python -m benchmarks page`."
    with mpl.rc_context({"font.size": 17, "axes.grid": True}):  # as another test may leave it
        text, figures = page.make_page()
    assert page.PAGE.read_text(encoding="utf-8") == text, again
    drawn = {file.stem: file.read_text(encoding="utf-8") for file in page.PICTURES.glob("*")}
    assert drawn.keys() == figures.keys(), again
    for name, figure in figures.items():  # the text of a picture has its numbers
        label = r'aria-label="[^"]+"'
        assert re.findall(label, drawn[name]) == re.findall(label, figure._repr_html_()), again


def test_without_results_the_page_claims_nothing(results):
    text, figures = page.make_page()
    assert not figures
    for name in page.PARTS:
        for device, word in (("cpu", "processor"), ("cuda", "GPU")):
            line = f"`python -m benchmarks {name} --device {device}` would"
            assert f"On a {word} nothing has been measured yet: {line}" in text


def test_the_numbers_are_those_of_the_file(measured):
    file = measured / "training-cpu.json"
    found = json.loads(file.read_text())
    rows = {row["variant"]: row for row in found["tables"]["variants"]}
    for name, seconds in {"ours": 4.321, "torch": 216, "floor": 2.16, "row": 21.6}.items():
        rows[name]["seconds"] = seconds
    taken = {"torch": [60, 50, 40, 66], "ours": [1, 1, 2, 0.321]}
    for row in found["tables"]["epochs"]:
        if row["variant"] in taken and row["epoch"]:
            row["seconds"] = taken[row["variant"]][row["epoch"] - 1]
    file.write_text(json.dumps(found))
    text, figures = page.make_page()
    for said in (
        "**5.00 times as fast** as the best",
        "(216 s against 4.32 s), within an epoch 55.0 (20.0–205.6) times in the median",
        "| ours | 4.32 | 50.0 | 55.0\u00a0(20.0–\u2060205.6) |",
        "“a loop over heads” and “reshaped” are reckoned from 2 of the 4 epochs",
    ):
        assert said in text
    assert "; ours 4.32 s, 50× as fast;" in figures["training-cpu"].alt
    accuracies = [r for r in found["tables"]["epochs"] if r["variant"] == "loop" and r["epoch"]]
    shown = " | ".join(f"{r['val_accuracy']:.3f}" for r in accuracies)
    assert f"| a loop over heads | {shown} |  |  |" in text, "two of four epochs"


@pytest.mark.slow
def test_every_picture_is_on_the_page_with_its_text_and_no_other_is_kept(measured):
    page.write_page()
    (page.PICTURES / "training-cuda.html").write_text("old")
    page.write_page()
    text = page.PAGE.read_text(encoding="utf-8")
    names = re.findall(r"```{raw} html\n:file: _static/measurements/([\w-]+)\.html\n```", text)
    files = {file.stem for file in page.PICTURES.iterdir()}
    assert set(names) == files == {"training-cpu", "layers-cpu", "few-queries-cpu"}
    for name in names:
        html = (page.PICTURES / f"{name}.html").read_text(encoding="utf-8")
        (alt, narrow_alt) = re.findall(r'aria-label="([^"]+)"', html)
        assert alt == narrow_alt
        assert "ours" in re.search(r".*\d.*", alt)[0], "the text has the numbers"


def test_a_chapters_time_is_kept_and_shown(results, monkeypatch):
    monkeypatch.setattr(report, "today", lambda: "2026-01-02")
    chapters.keep("05-masks", 12.345)
    chapters.keep("01-attention-as-lookup", 59.96)
    chapters.keep("05-masks", 34.56)
    found = json.loads((results / "chapters.json").read_text())["chapters"]
    assert list(found) == ["01-attention-as-lookup", "05-masks"]
    assert found["05-masks"]["seconds"] == 34.6
    text, _ = page.make_page()
    assert re.search(r"\| \[.*\]\(\.\./notebooks/05-masks\.ipynb\) \| 35 \| 2026-01-02 \|", text)
    assert "Together: 2 minutes, on " in text
