"""An empty folder for results and page."""

import pytest

from benchmarks import page, report


@pytest.fixture
def results(monkeypatch, tmp_path):
    """The folder that the results are written to, and the page beside it."""
    monkeypatch.setattr(report, "RESULTS", tmp_path / "results")
    monkeypatch.setattr(page, "PAGE", tmp_path / "book" / "measurements.md")
    monkeypatch.setattr(page, "PICTURES", tmp_path / "book" / "pictures")
    return tmp_path / "results"
