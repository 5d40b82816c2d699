"""Formulas as MathML: each of the course converts, and its characters are in the font."""

import json
import re
from pathlib import Path
from xml.etree import ElementTree

import pytest
from sphinx.application import Sphinx

from tools.page import mathematics
from tools.symbols import formulas

ROOT = Path(__file__).resolve().parents[3]
PAGES = [*sorted((ROOT / "book").glob("*.md")), *sorted((ROOT / "notebooks").glob("*.ipynb"))]


def texts(page):
    """The Markdown of a page or a notebook."""
    text = page.read_text(encoding="utf-8")
    cells = json.loads(text)["cells"] if page.suffix == ".ipynb" else []
    return ["".join(c["source"]) for c in cells if c["cell_type"] == "markdown"] or [text]


def in_font():
    """The characters that the stylesheet promises of the font."""
    style = (ROOT / "book" / "_static" / "mathematics.css").read_text(encoding="utf-8")
    for part in re.search(r"unicode-range:(.*?);", style, re.DOTALL)[1].split(","):
        first, _, last = part.strip().removeprefix("U+").partition("-")
        yield from map(chr, range(int(first, 16), int(last or first, 16) + 1))


def test_every_formula_is_set_in_signs_of_the_font():
    known, every = (
        set(in_font()),
        {f for page in PAGES for text in texts(page) for f in formulas(text)},
    )
    assert len(every) > 270
    for latex in every:
        root = ElementTree.fromstring(mathematics.as_mathml(latex, block="\n" in latex))
        text = "".join(root.itertext())
        assert text.strip()
        assert not re.search(r"[\\$&{}^_]", text.replace("{", "", latex.count(r"\begin{cases}")))
        for element in root.iter():  # a single letter is slanted by the browser
            shown = element.text or ""
            if element.tag.endswith("}mi") and len(shown) == 1 and shown.isascii():
                shown = chr(0x1D44E + ord(shown) - ord("a")) if shown.islower() else shown
            assert set(shown) <= known, (latex, set(shown) - known)


@pytest.mark.parametrize("builder", ["html", "epub"])
def test_a_page_has_formulas_and_a_wrong_one_is_a_warning(tmp_path, builder):
    settings = {
        "extensions": ["tools.page.mathematics"],
        "html_math_renderer": "mathml",
        "epub_show_urls": "no",
    }
    text = "Title\n=====\n\nLet :math:`x_1` or :math:`\\nonsense < 1`.\n\n.. math:: y = \\frac12\n"
    (tmp_path / "index.rst").write_text(text, encoding="utf-8")
    out, log = tmp_path / "out", tmp_path / "warnings"
    with log.open("w", encoding="utf-8") as warnings:
        app = Sphinx(tmp_path, None, out, tmp_path, builder, settings, None, warnings)
        app.build()
    page = next(out.glob("index.*html")).read_text(encoding="utf-8")
    assert "<msub><mi>x</mi><mn>1</mn></msub>" in page
    assert '<div class="math' in page
    assert "mathjax" not in page.lower()
    assert r"<code>\nonsense &lt; 1</code>" in page
    assert "index.rst:4: WARNING: The formula" in log.read_text()
