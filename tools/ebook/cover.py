"""The picture on the front: the title, and the two heads of the landing page."""

from __future__ import annotations

import io
import textwrap
from typing import Any

from tools.page.card import canvas, draw_heads
from utils.palette import INK, NOTE, OTHERS

GROUND = OTHERS[2]


def cover(title: str, author: str) -> bytes:
    """Draw the front as PNG, 1200 by 1800."""
    figure, ax = canvas(1200, 1800, GROUND)
    lines = "\n".join(textwrap.wrap(title.replace(", ", ",\n"), 20, replace_whitespace=False))
    style: dict[str, Any] = {"va": "top", "weight": "bold", "linespacing": 1.25}
    ax.text(96, 168, lines, size=62, color=INK, **style)
    draw_heads(ax, 1.9, 68, 900, GROUND)
    ax.text(96, 1692, author, size=24, color=NOTE)
    buffer = io.BytesIO()
    figure.savefig(buffer, format="png", facecolor=GROUND, metadata={"Software": None})
    return buffer.getvalue()
