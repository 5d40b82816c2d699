"""Formulas as MathML: each of the course converts, and its characters are in the font."""

import json
import re
from pathlib import Path
from xml.etree import ElementTree

import pytest
from markdown_it import MarkdownIt
from mdit_py_plugins.amsmath import amsmath_plugin
from mdit_py_plugins.dollarmath import dollarmath_plugin
from sphinx.application import Sphinx

from tools.page import mathematics

ROOT = Path(__file__).resolve().parents[3]
STATIC = ROOT / "book" / "_static"
PAGES = [*sorted((ROOT / "book").glob("*.md")), *sorted((ROOT / "notebooks").glob("*.ipynb"))]
BLOCKS = ("math_block", "math_block_label", "amsmath")


def formulas(page):
    """The formulas of a page or a notebook, and whether each stands alone."""
    text = page.read_text(encoding="utf-8")
    if page.suffix == ".ipynb":
        cells = json.loads(text)["cells"]
        text = "\n\n".join("".join(c["source"]) for c in cells if c["cell_type"] == "markdown")
    tokens = MarkdownIt().enable("table").use(dollarmath_plugin).use(amsmath_plugin).parse(text)
    for token in tokens:
        for part in [token, *(token.children or [])]:
            if part.type in ("math_inline", *BLOCKS):
                yield part.content, part.type in BLOCKS


def ranges():
    """The characters that the stylesheet promises of the font."""
    style = (STATIC / "mathematics.css").read_text(encoding="utf-8")
    for part in re.search(r"unicode-range:(.*?);", style, re.DOTALL)[1].split(","):
        first, _, last = part.strip().removeprefix("U+").partition("-")
        yield range(int(first, 16), int(last or first, 16) + 1)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_every_formula_is_set_in_signs_of_the_font(page):
    in_font = {chr(number) for numbers in ranges() for number in numbers}
    for latex, block in formulas(page):
        root = ElementTree.fromstring(mathematics.as_mathml(latex, block))
        text = "".join(root.itertext())
        assert text.strip()
        assert not re.search(r"[\\$&{}^_]", text.replace("{", "", latex.count(r"\begin{cases}")))
        for element in root.iter():  # a single letter is slanted by the browser
            shown = element.text or ""
            if element.tag.endswith("}mi") and len(shown) == 1 and shown.isascii():
                shown = chr(0x1D44E + ord(shown) - ord("a")) if shown.islower() else shown
            assert set(shown) <= in_font, (latex, set(shown) - in_font)


def test_there_are_formulas():
    assert sum(1 for page in PAGES for _ in formulas(page)) > 500


def test_a_formula_is_good_xml_though_names_of_functions_hold_an_entity():
    found = mathematics.as_mathml(r"\operatorname{head}(Q) < \exp(0)", block=False)
    text = "".join(ElementTree.fromstring(found).itertext())
    assert text == "head\N{FUNCTION APPLICATION}(Q)<exp\N{FUNCTION APPLICATION}(0)"


def test_a_formula_alone_is_a_block():
    assert 'display="block"' in mathematics.as_mathml("x", block=True)
    assert 'display="block"' not in mathematics.as_mathml("x", block=False)


def test_an_unknown_command_is_an_error():
    with pytest.raises(ValueError, match="nonsense"):
        mathematics.as_mathml(r"\nonsense{x}", block=False)


def build(folder, text, builder="html"):
    """Build a book of one page; give the page and the warnings."""
    (folder / "conf.py").write_text(
        'extensions = ["tools.page.mathematics"]\nhtml_math_renderer = "mathml"\n'
        'epub_show_urls = "no"\n',
        encoding="utf-8",
    )
    (folder / "index.rst").write_text(text, encoding="utf-8")
    warnings = (folder / "warnings").open("w+", encoding="utf-8")
    app = Sphinx(
        folder, folder, folder / "out", folder / "trees", builder, status=None, warning=warnings
    )
    app.build()
    warnings.seek(0)
    page = next((folder / "out").glob("index.*html"))
    return page.read_text(encoding="utf-8"), warnings.read()


@pytest.mark.parametrize("builder", ["html", "epub"])
def test_a_page_has_formulas_and_no_script_for_them(tmp_path, builder):
    text = "Title\n=====\n\nLet :math:`x_1` be\n\n.. math:: y = \\frac{1}{2}\n"
    page, warnings = build(tmp_path, text, builder)
    assert "<msub><mi>x</mi><mn>1</mn></msub>" in page
    assert '<div class="math' in page
    assert "mathjax" not in page.lower()
    assert "formula" not in warnings


def test_a_wrong_formula_is_a_warning_and_its_source_stays_readable(tmp_path):
    page, warnings = build(tmp_path, "Title\n=====\n\nLet :math:`\\nonsense < 1`.\n")
    assert r"<code>\nonsense &lt; 1</code>" in page
    assert "index.rst:4: WARNING: The formula" in warnings


def test_the_font_is_small_and_its_licence_is_beside_it():
    folder = STATIC / "mathematics"
    assert (folder / "stix-two-math.woff2").stat().st_size < 100_000
    assert "SIL OPEN FONT LICENSE" in (folder / "OFL.txt").read_text(encoding="utf-8")
