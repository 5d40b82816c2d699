"""The findings of the landing page are what the chapters print."""

from pathlib import Path

import pytest
from nbformat.v4 import new_code_cell, new_notebook, new_output, writes

from tools.page.findings import FINDINGS, Finding, numbers, printed

NOTEBOOKS = Path(__file__).resolve().parents[3] / "notebooks"
MASKS, FAST, NEWS = FINDINGS


def read(finding):
    (notebook,) = NOTEBOOKS.glob(f"[0-9]*-{finding.chapter}.ipynb")
    return numbers(finding, printed(notebook))


def test_there_are_three_from_three_chapters():
    assert len({finding.chapter for finding in FINDINGS}) == 3


def test_padding_that_nobody_masks_leaves_one_class():
    found = read(MASKS)
    assert 0.8 * found["texts"] < found["one class"] <= found["texts"]
    assert MASKS.figure(found) == f"{found['one class']:.0f} of {found['texts']:.0f}"


def test_the_largest_factor_is_the_one_that_is_named():
    found = read(FAST)
    factors = {
        "no weights": found["called"] / found["fused"],
        "one row": found["fused"] / found["one row"],
        "the rest": found["one row"] / found["ours"],
    }
    assert max(factors, key=factors.get) == "one row"
    assert f"{factors['one row']:.0f}" in FAST.sentence(found)
    assert "→" in FAST.figure(found)


def test_the_baseline_wins():
    found = read(NEWS)
    assert 1 > found["counted"] > found["attention"] > 0.9
    assert 1 > found["equal"] > found["attention"]
    assert f"{found['equal']:.3f}" in NEWS.sentence(found)


def test_a_number_that_is_no_longer_printed_is_named():
    finding = Finding("some-chapter", {"n": r"grows to ([\d.]+)"}, str, str)
    assert numbers(finding, "It grows to 3.5 in the end") == {"n": 3.5}
    with pytest.raises(ValueError, match=r"some-chapter.*tools/page/findings\.py"):
        numbers(finding, "It shrinks")


def test_streams_and_results_are_read_in_order(tmp_path):
    outputs = [
        new_output("stream", text="one\n"),
        new_output("execute_result", data={"text/plain": "two", "text/html": "<b>no</b>"}),
    ]
    file = tmp_path / "n.ipynb"
    file.write_text(writes(new_notebook(cells=[new_code_cell("1", outputs=outputs)])))
    assert printed(file).split() == ["one", "two"]
