"""The picture on the front: the title, and two heads that read *can you can that*."""

from __future__ import annotations

import io
import textwrap

from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.patches import FancyArrowPatch

from utils.palette import INK, NOTE, OTHERS, PALETTE

PAPER, (BLUE, ORANGE) = OTHERS[2], PALETTE[:2]
TOKENS = ("can", "you", "can", "that")
PLACES = (0.14, 0.38, 0.62, 0.86)
# Which token looks at which, how strongly, and whose head that is.
ARCS = ((0, 1, 7, BLUE), (2, 3, 7, BLUE), (2, 0, 9, ORANGE), (3, 1, 4, ORANGE))


def cover(title: str, author: str) -> bytes:
    """Draw the front as PNG, 1200 by 1800."""
    figure = Figure(figsize=(6, 9), dpi=200, facecolor=PAPER)
    figure.set_layout_engine("none")  # the places below are final
    FigureCanvasAgg(figure)
    axes = figure.add_axes((0, 0, 1, 1))
    axes.set(xlim=(0, 1), ylim=(0, 1.5))
    axes.axis("off")
    lines = "\n".join(textwrap.wrap(title.replace(", ", ",\n"), 20, replace_whitespace=False))
    axes.text(
        0.08, 1.36, lines, va="top", fontsize=31, fontweight="bold", color=INK, linespacing=1.25
    )
    for place, token in zip(PLACES, TOKENS, strict=True):
        axes.text(place, 0.52, token, ha="center", va="center", fontsize=24, color=INK)
    for start, end, width, colour in ARCS:
        above = colour == BLUE
        height = 0.57 if above else 0.47
        bend = (-0.5 if above else 0.5) * (1 if end > start else -1)
        axes.add_patch(
            FancyArrowPatch(
                (PLACES[start], height), (PLACES[end], height), arrowstyle="-", lw=width,
                connectionstyle=f"arc3,rad={bend}", color=colour, alpha=0.85, capstyle="round",
            )
        )  # fmt: skip
    axes.text(0.08, 0.09, author, fontsize=12, color=NOTE)
    buffer = io.BytesIO()
    figure.savefig(buffer, format="png", facecolor=PAPER, metadata={"Software": None})
    return buffer.getvalue()
