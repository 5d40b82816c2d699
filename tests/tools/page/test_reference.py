"""The API reference names every module and renders every docstring as it is meant."""

import re
from pathlib import Path

from tools.page.reference import as_fields, as_list

ROOT = Path(__file__).parents[3]


def test_sections_become_fields_with_lists():
    parameters = ["Parameters", "----------", "x, y : Tensor of shape (B, T),", "    in a row"]
    returns = ["Returns", "-------", "Tensor of shape (B,)", "    or None"]
    assert as_fields(["Say.", "", *parameters, "", *returns, "", "A source."]) == [
        *["Say.", ""],
        *[":Parameters:", "   - ``x``, ``y``: Tensor of shape (B, T),", "     in a row", ""],
        *[":Returns:", "   Tensor of shape (B,)", "   or None", ""],
        "A source.",
    ]
    lines = ["A package.", "", "``one``      the first; ``two``", "             helps it"]
    assert as_list(lines) == ["A package.", "", "- ``one``: the first; ``two``", "  helps it"]


def test_every_module_stands_on_one_page():
    pages = [page.read_text() for page in (ROOT / "book" / "api").glob("*.md")]
    shown = re.findall(r"^\.\. automodule:: ([\w.]+)$", "\n".join(pages), re.MULTILINE)
    modules = {
        ".".join(path.relative_to(ROOT).with_suffix("").parts)
        for package in ("utils", "chapters")
        for path in (ROOT / package).rglob("*.py")
        if path.name != "__init__.py"
    }
    assert sorted(shown) == sorted(modules)


def test_the_glossary_is_in_alphabetical_order():
    text = (ROOT / "book" / "glossary.md").read_text().split("```")[1].partition("\n")[2]
    terms = [entry.strip().splitlines()[0] for entry in text.split("\n\n")]
    assert len(terms) > 80
    assert terms == sorted(terms, key=str.casefold)
