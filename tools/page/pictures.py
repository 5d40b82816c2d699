"""A small picture for each chapter of the path: one of ``tiles/``, whose classes the page colours.

Blue and orange (a and b) are head 0 and head 1. A chapter is known by its file's name without the
number, and has a plain picture until ``tiles/`` has one of that name.
"""

from __future__ import annotations

import re
from pathlib import Path

TILES = Path(__file__).with_name("tiles")


def picture(docname: str, name: str) -> str:
    """Give the picture of a chapter, named by its file without suffix, as SVG with this id."""
    file = TILES / f"{re.sub(r'^.*/(A?[0-9]+-)?', '', docname)}.svg"
    text = (file if file.is_file() else TILES / "plain.svg").read_text(encoding="utf-8")
    return "".join(text.replace("<svg ", f'<svg id="{name}" ', 1).splitlines())
