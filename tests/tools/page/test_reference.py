"""The API reference names every module and renders every docstring as it is meant."""

import re
from pathlib import Path

import pytest

from tools.page.reference import as_fields, as_list

ROOT = Path(__file__).parents[3]
ROOMS = sorted(path.parent.name for path in (ROOT / "utils").glob("*/__init__.py"))


def test_sections_become_fields_with_lists():
    given = """Say what it does.

    Parameters
    ----------
    x, y : Tensor of shape (B, T), floats,
        in a row
    **options : what else

    Returns
    -------
    Tensor of shape (B,)
        or None

    Raises
    ------
    TypeError, ValueError
        if one is impossible

    A source."""
    lines = [line.removeprefix("    ") for line in given.splitlines()]
    assert as_fields(lines) == [
        "Say what it does.",
        "",
        ":Parameters:",
        "   - ``x``, ``y``: Tensor of shape (B, T), floats,",
        "     in a row",
        "   - ``**options``: what else",
        "",
        ":Returns:",
        "   Tensor of shape (B,)",
        "   or None",
        "",
        ":Raises:",
        "   - ``TypeError``, ``ValueError``:",
        "     if one is impossible",
        "",
        "A source.",
    ]


def test_several_results_are_a_list():
    lines = ["Returns", "-------", "output : Tensor", "weights : Tensor,", "    or None"]
    list_of_two = ["   - ``output``: Tensor", "   - ``weights``: Tensor,", "     or None"]
    assert as_fields(lines) == [":Returns:", *list_of_two]


def test_the_modules_of_a_room_are_a_list():
    lines = ["A room.", "", "``one``      the first; ``two``", "             helps it"]
    assert as_list(lines) == ["A room.", "", "- ``one``: the first; ``two``", "  helps it"]


@pytest.mark.parametrize("room", ROOMS)
def test_the_page_of_a_room_has_every_module_that_the_room_hands_on(room):
    handed_on = (ROOT / "utils" / room / "__init__.py").read_text()
    modules = re.findall(rf"^from utils\.{room}\.(\w+) import", handed_on, re.MULTILINE)
    page = (ROOT / "book" / "api" / f"{room}.md").read_text()
    shown = re.findall(rf"^\.\. automodule:: utils\.{room}\.(\w+)$", page, re.MULTILINE)
    assert sorted(shown) == sorted(modules)
    assert re.findall(r"^## `(\w+)`$", page, re.MULTILINE) == shown


def test_the_glossary_is_in_alphabetical_order():
    text = (ROOT / "book" / "glossary.md").read_text()
    entries = text.split("```")[1].split("\n\n")
    terms = [entry.strip().splitlines()[0] for entry in entries[0:]]
    terms[0] = entries[0].splitlines()[1]
    assert len(terms) > 80
    assert terms == sorted(terms, key=str.casefold)
