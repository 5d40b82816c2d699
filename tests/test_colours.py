"""Every colour of page, card, e-book and scripts is one of the palette."""

import re

import pytest

from tools.notebooks import ROOT
from tools.page import colours
from utils import palette

PAIRS = [*palette.FIGURE.values(), *palette.PAGE.values()]
NAMED = {colour for pair in PAIRS for colour in pair} | {*palette.OTHERS, *palette.LOGO, "#fff"}
NAMED |= {colours.mixed(head, share) for head in palette.PALETTE[:2] for share in (0.5, 0.2)}
STYLES = ("book/_static/**/*", "tools/**/*", "chapters/**/*", "utils/_static/*")
HEX = re.compile(r"(?<![&\w])#(?:[0-9a-f]{3}){1,2}\b(?!-)", re.I)


def read(*patterns, kinds):
    files = (file for pattern in patterns for file in ROOT.glob(pattern) if file.suffix in kinds)
    return {file.relative_to(ROOT).as_posix(): file.read_text("utf-8") for file in files}


@pytest.mark.parametrize("pattern", STYLES)
def test_a_style_and_a_drawing_have_colours_of_the_palette(pattern):
    texts = read(pattern, kinds={".css", ".js", ".svg"})
    other = {
        (name, c)
        for name, text in texts.items()
        for c in HEX.findall(text)
        if "weights" not in name
    }
    assert not {(name, colour) for name, colour in other if colour.lower() not in NAMED}


def test_python_names_no_colour_elsewhere():
    places = ("tools/**/*", "chapters/**/*", "utils/*", "benchmarks/*")
    own = {name for name, text in read(*places, kinds={".py"}).items() if HEX.search(text)}
    assert own == {"utils/palette.py"}


def test_the_page_has_them_written_down():
    assert colours.FILE.read_text("utf-8") == colours.css(), "run python -m tools.page"
    text = "".join(read("book/_static/*", kinds={".css"}).values())
    asked = set(re.findall(r"var\(--course-([\w-]+)", text))
    assert asked <= set(re.findall(r"--course-([\w-]+):", text))
