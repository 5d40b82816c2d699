"""The API reference: the docstrings of ``utils`` in the course's style, as Sphinx reads them.

A docstring's sections follow NumPy's, but a parameter is described on the line of its name, in
words: its type, its shape, what it does. Each section becomes a field with a list. What a room
does not hand on is not part of the reference.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Sequence
from typing import Any

from sphinx.application import Sphinx

SECTIONS = ("Parameters", "Attributes", "Returns", "Yields", "Raises")
NAMED = re.compile(r"(\*{0,2}\w+(?:, \*{0,2}\w+)*) : (.+)")
MODULE = re.compile(r"(``\w+``) +(.+)")


def as_fields(lines: Sequence[str]) -> list[str]:
    """Write each section of a docstring as a field of reStructuredText."""
    given: list[str] = []
    section = None
    for line, below in zip(lines, [*lines[1:], ""], strict=True):
        if line in SECTIONS and re.fullmatch("-{3,}", below):
            section = line
            given += [f":{section}:"]
        elif section is None:
            given.append(line)
        elif not line:
            section = None
            given.append(line)
        elif not re.fullmatch("-{3,}", line):
            in_list = given[-1].startswith(("   - ", "     "))
            given.append("   " + _entry(section, line, in_list))
    return given


def _entry(section: str, line: str, in_list: bool) -> str:
    """Write a line of a section: the first of an entry of a list, or one that goes on."""
    goes_on = line.startswith(" ")
    if section == "Raises":
        return f"  {line.strip()}" if goes_on else f"- {_literal(line)}:"
    if found := NAMED.fullmatch(line):
        return f"- {_literal(found[1])}: {found[2]}"
    return f"  {line.strip()}" if goes_on and in_list else line.strip()


def _literal(names: str) -> str:
    return ", ".join(f"``{name}``" for name in names.split(", "))


def as_list(lines: Sequence[str]) -> list[str]:
    """Write the modules that a room's docstring names, one below the other, as a list."""
    given: list[str] = []
    for line in lines:
        if found := MODULE.fullmatch(line):
            given.append(f"- {found[1]}: {found[2]}")
        elif line.startswith("    "):
            given.append(f"  {line.strip()}")
        else:
            given.append(line)
    return given


def _rewrite(app: Sphinx, what: str, name: str, thing: Any, options: Any, lines: list[str]) -> None:
    is_room = what == "module" and name.count(".") == 1
    lines[:] = as_list(lines) if is_room else as_fields(lines)


def _skip(app: Sphinx, what: str, name: str, thing: Any, skip: bool, options: Any) -> bool | None:
    """Leave out what a module has for itself, and what the room does not hand on."""
    home = getattr(thing, "__module__", None)
    if what != "module" or not home:
        return None
    room = ".".join(home.split(".")[:2])
    return None if hasattr(sys.modules[room], name) else True


def setup(app: Sphinx) -> None:
    """Rewrite docstrings as ``sphinx.ext.autodoc`` hands them over."""
    app.setup_extension("sphinx.ext.autodoc")
    app.connect("autodoc-process-docstring", _rewrite)
    app.connect("autodoc-skip-member", _skip)
