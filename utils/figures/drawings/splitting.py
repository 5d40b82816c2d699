"""The numbers of a projection split into heads, rightly and wrongly."""

from __future__ import annotations

from collections.abc import Sequence

from matplotlib.axes import Axes

from utils.figures.drawings.canvas import (
    TEXT,
    Block,
    Picture,
    Point,
    both,
    shorten,
    text_width,
)
from utils.figures.drawings.primitives import box, colours_of_heads, write
from utils.figures.palette import NOTE

CELL = 26.0, 20.0  # width and height of a cell with a number, in points
TITLE, NAME, APART = 44.0, 24.0, 14.0  # the room above all, above a head, between heads


def draw_splitting(tokens: Sequence[str], num_heads: int = 2, head_dim: int = 2) -> Picture:
    """Draw which numbers a head gets by ``view`` and ``transpose``, and which by ``view`` alone.

    Parameters
    ----------
    tokens : 1 to 6 words, as many as can be shared out to the heads
    num_heads, head_dim : ints, into how many heads the numbers are split, and how wide one is

    Raises
    ------
    ValueError
        if there are too many tokens or heads, or tokens that cannot be shared out
    """
    colours, T = colours_of_heads(num_heads), len(tokens)
    if not 1 <= T <= 6 or T % num_heads:
        raise ValueError(f"{T} tokens cannot be drawn; give 1 to 6, a multiple of {num_heads}.")
    D = num_heads * head_dim
    whole = [range(t * D, (t + 1) * D) for t in range(T)]  # by token: where its numbers lie
    strips = [[row[h * head_dim :][:head_dim] for row in whole] for h in range(num_heads)]
    line = [range(n, n + head_dim) for n in range(0, T * D, head_dim)]
    pieces = [line[h * T : (h + 1) * T] for h in range(num_heads)]
    named = list(tokens)
    margin = min(80.0, max(map(text_width, named)) + 8)
    stages = [
        ("projected", "(T, D)", [whole], ""),
        ("view, then transpose", "(H, T, D_head)", strips, "head {}"),
        ("view alone", "(H, T, D_head)?", pieces, "“head” {}"),
    ]

    def grid(axes: Axes, at: Point, rows: Sequence[range]) -> float:
        """Draw rows of numbers, with the name of the token that each is from; give its end."""
        x, y = at
        for i, row in enumerate(rows):
            name, top = shorten(named[row[0] // D], margin - 6), y + i * CELL[1]
            write(axes, (x - 6, top + CELL[1] / 2), name, colour=NOTE, align="right")
            for j, number in enumerate(row):
                left = x + j * CELL[0]
                place = Block(left + 1, top + 1, left + CELL[0] - 1, top + CELL[1] - 1)
                shade = colours[number % D // head_dim]
                box(axes, place, str(number), colour=shade, alpha=0.45, radius=3, kind="cell")
        return y + len(rows) * CELL[1]

    def draw(axes: Axes, narrow: bool) -> None:
        wide = max(margin + head_dim * CELL[0], 150.0)
        x, y, low = 0.0, 0.0, 0.0
        for n, (title, shape, blocks, name) in enumerate(stages):
            if narrow and n == 1:
                x, y = 0.0, low + 22
            columns = len(blocks[0][0])
            middle = x + margin + columns * CELL[0] / 2
            write(axes, (middle, y + 8), title, size=TEXT, bold=True)
            write(axes, (middle, y + 26), shape, colour=NOTE)
            top = y + TITLE
            for h, rows in enumerate(blocks):
                if name:
                    write(axes, (middle, top + 8), name.format(h), colour=NOTE)
                    top += NAME - 4
                top = grid(axes, (x + margin, top), rows) + APART
            low = max(low, top)
            x += (margin + columns * CELL[0] + 55) if n == 0 and not narrow else wide + 15

    told = "; ".join(
        f"“head” {h} has " + ", ".join(named[row[0] // D] for row in rows)
        for h, rows in enumerate(pieces)
    )
    return both(
        draw,
        f"The {T * D} numbers of {T} tokens, {D} each, in the order in which they lie in memory. "
        f"By view and then transpose every head gets its own columns of all {T} tokens. By view "
        f"alone the rows of each head come from a piece of the text: {told}.",
    )
