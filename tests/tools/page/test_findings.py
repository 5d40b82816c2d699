"""The findings of the landing page are what the chapters print."""

from pathlib import Path

import pytest

from tools.page.findings import FINDINGS, Finding, numbers, printed

NOTEBOOKS = Path(__file__).resolve().parents[3] / "notebooks"


def test_each_finding_says_the_numbers_of_its_chapter():
    masks, fast, news = FINDINGS
    found = []
    for finding in FINDINGS:
        (notebook,) = NOTEBOOKS.glob(f"[0-9]*-{finding.chapter}.ipynb")
        found.append(numbers(finding, printed(notebook)))
    padding, times, accuracies = found
    assert 0.8 * padding["texts"] < padding["one class"] <= padding["texts"]
    assert masks.figure(padding) == f"{padding['one class']:.0f} of {padding['texts']:.0f}"
    row = times["fused"] / times["one row"]
    assert row > max(times["called"] / times["fused"], times["one row"] / times["ours"])
    assert f"{row:.0f}" in fast.sentence(times)
    assert 1 > accuracies["counted"] > accuracies["attention"] > 0.9
    assert f"{accuracies['equal']:.3f}" in news.sentence(accuracies)


def test_a_number_that_is_no_longer_printed_is_named():
    finding = Finding("some-chapter", {"n": r"grows to ([\d.]+)"}, str, str)
    assert numbers(finding, "It grows to 3.5 in the end") == {"n": 3.5}
    with pytest.raises(ValueError, match="some-chapter"):
        numbers(finding, "It shrinks")
