"""The page says what the files hold, and the committed page is the one that the command writes."""

import json
import re

import matplotlib as mpl
import pandas as pd
import pytest
import torch

from benchmarks import chapters, page, report
from benchmarks.cases import QUICK_CASES
from benchmarks.layers import compare_layers
from utils.measure import Peak

CPU = torch.device("cpu")


@pytest.fixture(scope="module")
def files(tables, tmp_path_factory):
    """Small results of both benchmarks on a CPU: the files' texts."""
    settings = {"epochs": 4, "slow_epochs": 2, "documents": 12, "step_shape": [4, 10]}
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(report, "RESULTS", tmp_path_factory.mktemp("results"))
        peak = Peak(1e12, 1e9)
        settings |= {"dtype": "float32", "source": "docstrings"}
        report.write("training-cpu", report.make("training", CPU, settings, peak, tables))
        rows, notes = compare_layers(QUICK_CASES, CPU, torch.float32, peak, budget=0.0)
        found = {"dtype": "float32", "notes": notes}
        report.write("layers-cpu", report.make("layers", CPU, found, peak, {"layers": rows}))
        return {file.name: file.read_text() for file in report.RESULTS.iterdir()}


@pytest.fixture
def measured(results, files):
    """The folder of results with both in it."""
    results.mkdir()
    for name, text in files.items():
        (results / name).write_text(text)
    return results


def taken_apart(svg):
    """A picture without its numbers, and its numbers.

    The last digit of a coordinate may depend on the processor, and with it an id, which is a hash
    of coordinates: here ids are counted in the order in which they appear.
    """
    ids, number = {}, r"-?\d+(?:\.\d+)?(?:e-?\d+)?"
    svg = re.sub(r"\bf[0-9a-f]{8}-\d+\b", lambda i: str(ids.setdefault(i[0], len(ids))), svg)
    return re.sub(number, "0", svg), [float(found) for found in re.findall(number, svg)]


def assert_same_picture(svg, other, message):
    (text, numbers), (other_text, other_numbers) = taken_apart(svg), taken_apart(other)
    assert text == other_text, message
    assert numbers == pytest.approx(other_numbers, abs=0.01), message


def test_the_committed_page_is_the_one_that_the_command_writes():
    text, figures = page.make_page()
    again = "Run `python -m benchmarks page`."
    assert page.PAGE.read_text(encoding="utf-8") == text, again
    drawn = {file.stem: file.read_text(encoding="utf-8") for file in page.PICTURES.glob("*")}
    assert drawn.keys() == figures.keys(), again
    for name, figure in figures.items():
        assert_same_picture(drawn[name], figure._repr_html_() + "\n", f"{name}: {again}")


def test_without_results_the_page_says_so(results):
    text, figures = page.make_page()
    assert not figures
    for name in ("training", "layers"):
        for device, word in (("cpu", "processor"), ("cuda", "GPU")):
            command_line = f"`python -m benchmarks {name} --device {device}`"
            assert f"On a {word} nothing has been measured yet: {command_line}" in text
    assert text.count("not\u00a0measured\u00a0yet") == len(list(chapters.NOTEBOOKS.glob("*.ipynb")))


def test_the_same_results_give_the_same_page(measured):
    first, figures = page.make_page()
    with mpl.rc_context({"font.size": 17, "axes.grid": True}):  # as another test may leave it
        second, again = page.make_page()
    assert first == second
    assert figures.keys() == again.keys()
    for name, figure in figures.items():
        assert_same_picture(figure.svg, again[name].svg, name)


def test_every_picture_is_on_the_page_with_its_text(measured):
    page.write_page()
    text = page.PAGE.read_text(encoding="utf-8")
    names = re.findall(r"```{raw} html\n:file: _static/measurements/([\w-]+)\.html\n```", text)
    files = {file.stem for file in page.PICTURES.iterdir()}
    assert set(names) == files == {"training-cpu", "layers-cpu", "few-queries-cpu"}
    for name in names:
        html = (page.PICTURES / f"{name}.html").read_text(encoding="utf-8")
        (alt, narrow_alt) = re.findall(r'aria-label="([^"]+)"', html)
        assert alt == narrow_alt
        assert re.search(r"\d", alt), "the text has the numbers"
        assert "ours" in alt


def test_the_numbers_are_those_of_the_file(measured):
    file = measured / "training-cpu.json"
    found = json.loads(file.read_text())
    rows = {row["variant"]: row for row in found["tables"]["variants"]}
    rows["ours"]["seconds"], rows["torch"]["seconds"], rows["floor"]["seconds"] = 4.321, 216, 2.16
    rows["row"]["seconds"] = 21.6
    taken = {"torch": [60, 50, 40, 66], "ours": [1, 1, 2, 0.321]}
    for row in found["tables"]["epochs"]:
        if row["variant"] in taken and row["epoch"]:
            row["seconds"] = taken[row["variant"]][row["epoch"] - 1]
    file.write_text(json.dumps(found))
    text, figures = page.make_page()
    assert "**5.00 times as fast** as the best" in text
    assert "takes 21.6 s from end to end, and ours 4.32 s" in text
    assert "ours is 50.0 times as fast" in text
    assert "(216 s against 4.32 s), within an epoch 55.0 (20.0–205.6) times in the median" in text
    assert "and from end to end 2.00 times." in text
    assert "| ours | 4.32 | 50.0 | 55.0\u00a0(20.0–\u2060205.6) |" in text
    alt = figures["training-cpu"].alt
    assert "; ours 4.32 s, 50× as fast;" in alt, "the picture has the ratio of the totals too"
    assert "“a loop over heads” and “reshaped” are reckoned from 2 of the 4 epochs" in text
    assert "12 docstrings in place of the news an epoch" in text
    accuracies = [r for r in found["tables"]["epochs"] if r["variant"] == "loop" and r["epoch"]]
    shown = " | ".join(f"{r['val_accuracy']:.3f}" for r in accuracies)
    assert f"| a loop over heads | {shown} |  |  |" in text, "two of four epochs"


def test_a_gpu_has_a_part_of_its_own_and_is_named(measured):
    for name in ("training", "layers"):
        found = json.loads((measured / f"{name}-cpu.json").read_text())
        found["machine"]["gpu"] = "A fast GPU"
        (measured / f"{name}-cuda.json").write_text(json.dumps(found))
    text, figures = page.make_page()
    assert text.count("### On a GPU") == 2
    assert text.count("A fast GPU") == 2
    assert text.count("TFLOP/s (of the peak)") == text.count("GFLOP/s (of the peak)") > 1
    unmeasured = re.findall(r"nothing has been measured yet: `python -m benchmarks (\w+)", text)
    assert set(unmeasured) == {"pieces", "translation", "writing"}, (
        "those that are not among the files"
    )
    assert {"training-cuda", "layers-cuda", "few-queries-cuda"} < figures.keys()


def test_a_picture_that_is_no_longer_there_is_removed(measured):
    page.write_page()
    (page.PICTURES / "training-cuda.html").write_text("old")
    (measured / "layers-cpu.json").unlink()
    page.write_page()
    assert [file.name for file in page.PICTURES.iterdir()] == ["training-cpu.html"]


def test_tables_are_whole(measured):
    text, _ = page.make_page()
    for block in re.findall(r"(?:^\|.*\|\n)+", text, flags=re.MULTILINE):
        widths = {line.count("|") for line in block.splitlines()}
        assert len(widths) == 1, block
    assert "nan" not in text.lower().replace("finance", "")


def test_a_chapters_time_is_kept_and_shown(results, monkeypatch):
    monkeypatch.setattr(report, "today", lambda: "2026-01-02")
    chapters.keep("03-masks", 12.345)
    chapters.keep("01-attention-as-lookup", 59.96)
    chapters.keep("03-masks", 34.56)
    found = json.loads((results / "chapters.json").read_text())["chapters"]
    assert list(found) == ["01-attention-as-lookup", "03-masks"]
    assert found["03-masks"]["seconds"] == 34.6
    text, _ = page.make_page()
    assert re.search(r"\| \[.*\]\(\.\./notebooks/03-masks\.ipynb\) \| 35 \| 2026-01-02 \|", text)
    assert "Together: 2 minutes, on " in text


def test_what_is_empty_in_a_table_is_read_as_empty(results):
    table = pd.DataFrame({"x": [float("nan")]})
    report.write("x-cpu", report.make("x", CPU, {}, Peak(1.0, 1.0), {"t": table}))
    assert report.read("x-cpu")["tables"]["t"] == [{"x": None}]
    assert report.read("y") is None
