"""The findings of the landing page are what the chapters print."""

from pathlib import Path

import pytest

from tools.page.findings import FINDINGS, Finding, numbers, printed

NOTEBOOKS = Path(__file__).resolve().parents[3] / "notebooks"


def test_each_finding_says_the_numbers_of_its_chapter():
    found = []
    for finding in FINDINGS:
        (notebook,) = NOTEBOOKS.glob(f"[0-9]*-{finding.chapter}.ipynb")
        found.append(numbers(finding, printed(notebook)))
    leak, padding, page = found
    assert leak["leaking"] < 0.5 * leak["possible"]
    assert padding["padded"] < 0.5 < 0.8 < padding["alone"]
    assert page["found"] > 0.8
    figures = [f.figure(n) for f, n in zip(FINDINGS, found, strict=True)]
    assert figures[1] == f"{padding['alone']} → {padding['padded']}"


def test_a_number_that_is_no_longer_printed_is_named():
    finding = Finding("some-chapter", {"n": r"grows to ([\d.]+)"}, str, str)
    assert numbers(finding, "It grows to 3.5 in the end") == {"n": 3.5}
    with pytest.raises(ValueError, match="some-chapter"):
        numbers(finding, "It shrinks")
