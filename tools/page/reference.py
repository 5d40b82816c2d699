"""The API reference: the docstrings of our packages in the course's style, as Sphinx reads them.

A docstring's sections follow NumPy's, but a parameter is described on the line of its name, in
words: its type, its shape, what it does. Each section becomes a field with a list.
"""

from __future__ import annotations

import importlib
import inspect
import re
from collections.abc import Sequence
from functools import partial
from typing import Any

from sphinx.application import Sphinx
from sphinx.config import Config

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
    """Write the modules that a package's docstring names, one below the other, as a list."""
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
    is_package = what == "module" and hasattr(thing, "__path__")
    lines[:] = as_list(lines) if is_package else as_fields(lines)


def _source(address: str, domain: str, info: dict[str, str]) -> str | None:
    """Give the address of the lines in which a thing of ours stands."""
    thing: Any = importlib.import_module(info["module"])
    for name in info["fullname"].split("."):
        thing = getattr(thing, name, None)
    try:
        lines, first = inspect.getsourcelines(inspect.unwrap(thing))
    except (TypeError, OSError):  # a constant, or what Python makes by itself
        return None
    file = info["module"].replace(".", "/")
    return f"{address}/blob/main/{file}.py#L{first}-L{first + len(lines) - 1}"


def _offer_sources(app: Sphinx, config: Config) -> None:
    config.linkcode_resolve = partial(_source, config.html_theme_options["repository_url"])


def setup(app: Sphinx) -> None:
    """Rewrite docstrings as ``sphinx.ext.autodoc`` hands them over."""
    app.setup_extension("sphinx.ext.autodoc")
    app.connect("autodoc-process-docstring", _rewrite)
    app.connect("config-inited", _offer_sources)
