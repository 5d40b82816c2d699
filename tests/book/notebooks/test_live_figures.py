"""The live figures that are kept in the chapters have the scripts of today."""

import re

import nbformat
import pytest

from tools.notebooks import chapters
from utils.figures.live_figure import STATIC, scripts


def live_figures(path):
    """Give the live figures among the outputs of a chapter."""
    cells = (cell for cell in nbformat.read(path, as_version=4).cells if cell.cell_type == "code")
    shown = (output.get("data", {}).get("text/html", "") for c in cells for output in c.outputs)
    return [html for html in shown if 'class="course-figure live"' in html]


def test_chapters_have_live_figures():
    found = {path.stem[:2]: len(live_figures(path)) for path in chapters([])}
    having = [number for number, count in found.items() if count]
    assert having == ["01", "02", "03", "04", "07", "08", "17", "18"]


@pytest.mark.parametrize("path", chapters([]), ids=lambda path: path.stem)
def test_their_scripts_are_current(path):
    for html in live_figures(path):
        name = re.search(r'data-live="(\w+)"', html)[1]
        own = [file for file in (f"{name}.css",) if (STATIC / file).is_file()]
        for file in ("live.css", *own, *scripts(name)):
            current = (STATIC / file).read_text(encoding="utf-8")
            assert current in html, f"{file} has changed: run `make notebooks`, with this chapter"
