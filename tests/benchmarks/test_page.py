"""The page says what the files hold, and the committed page is the one that the command writes."""

import json
import re

import matplotlib as mpl
import pytest

from benchmarks import chapters, page, report


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


def test_the_numbers_are_those_of_the_file():
    found = report.read("training-cpu")
    rows = {row["variant"]: row for row in found["tables"]["variants"]}
    for name, seconds in {"ours": 4.321, "torch": 216, "floor": 2.16, "row": 21.6}.items():
        rows[name]["seconds"] = seconds
    taken = {"torch": [60, 50, 40, 66], "ours": [1, 1, 2, 0.321]}
    for row in found["tables"]["epochs"]:
        if row["variant"] in taken:
            times = taken[row["variant"]]
            row["seconds"] = times[row["epoch"] % 4]
    text, figure = page.make_part("training", found, "cpu")
    for said in (
        "**5.00 times as fast** as the best",
        "(216 s against 4.32 s), within an epoch 50.0 (20.0–205.6) times in the median",
        "| ours | 4.32 | 50.0 | 50.0\u00a0(20.0–\u2060205.6) |",
        "“a loop over heads” and “reshaped” are reckoned from 2 of the 10 epochs",
    ):
        assert said in text
    assert "; ours 4.32;" in figure.alt
    accuracies = [r for r in found["tables"]["epochs"] if r["variant"] == "loop" and r["epoch"]]
    shown = " | ".join(f"{r['val_accuracy']:.3f}" for r in accuracies)
    assert f"| a loop over heads | {shown} |" in text, "two of ten epochs"


def test_an_old_picture_goes_when_the_page_is_written(results):
    report.write_text(page.PICTURES / "training-cuda.html", "old")
    page.write_page()
    assert not [*page.PICTURES.iterdir()]


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
