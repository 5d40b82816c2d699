"""How long a chapter takes is reckoned from its words and its last run, and nobody types it."""

import json

import nbformat
import pytest
from sphinx_external_toc.parsing import parse_toc_yaml

from tools.notebooks import ROOT, chapters
from tools.page import pace

TOC = parse_toc_yaml(str(ROOT / "_toc.yml"))


def test_the_line_says_place_reading_and_run(tmp_path, monkeypatch):
    runs = tmp_path / "chapters.json"
    seconds = {"05-masks": 13.4, "10-fast-attention": 61.0, "A2-other-ways-to-score": 140.0}
    runs.write_text(json.dumps({"chapters": {k: {"seconds": s} for k, s in seconds.items()}}))
    monkeypatch.setattr(pace, "RUNS", runs)
    text = {"cells": [{"cell_type": "markdown", "source": ["word " * 150, "word " * 100]}]}
    line = {name: pace.head(f"notebooks/{name}", text, TOC, "Needs 1.") for name in seconds}
    assert line == {
        "05-masks": "*The path, 5 of 8. Needs 1. 2 minutes to read, 15 seconds to run.*",
        "10-fast-attention": "*Further. Needs 1. 2 minutes to read, a minute to run.*",
        "A2-other-ways-to-score": "*Appendix. Needs 1. 2 minutes to read, 2 minutes to run.*",
    }
    assert pace.head("notebooks/01-attention-as-lookup", text, TOC, "Needs 1.").endswith("read.*")


@pytest.mark.parametrize("path", chapters([]), ids=lambda path: path.stem)
def test_each_chapter_says_what_it_needs_and_types_no_times(path):
    (first, *_) = nbformat.read(path, as_version=4).cells
    assert pace.NEEDS.search(first.source)
    assert "minutes to read" not in first.source
