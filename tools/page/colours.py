"""The colours of ``utils.palette`` as the page's style, which ``python -m tools.page`` writes."""

from __future__ import annotations

from pathlib import Path

from utils.palette import FIGURE, PAGE

FILE = Path(__file__).parents[2] / "book" / "_static" / "colours.css"
SHARED = ("0", "1", "ink", "paper", "note", "neutral", "pale")  # of figures, for the page too


def css() -> str:
    """Write each colour as a variable; on paper all are those of a light ground."""
    colours = {name: FIGURE[name] for name in SHARED} | PAGE
    light, dark = (
        "".join(f"  --course-{name}: {pair[ground]};\n" for name, pair in colours.items())
        for ground in (0, 1)
    )
    return (
        "/* Written by `python -m tools.page` from utils/palette.py. */\n"
        f"html {{\n{light}}}\n@media screen {{\n"
        f'html[data-theme="dark"] {{\n{dark}}}\n}}\n'
    )


def write() -> None:
    """Keep it beside the other styles."""
    FILE.write_text(css(), encoding="utf-8")


def mixed(colour: str, share: float) -> str:
    """Give the colour that as much of this one has on paper, where nothing may shine through."""
    return "#" + "".join(f"{round(255 - share * (255 - n)):02x}" for n in bytes.fromhex(colour[1:]))
