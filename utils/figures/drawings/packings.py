"""The projections of all heads as three libraries pack them."""

from __future__ import annotations

from matplotlib.axes import Axes

from utils.figures.drawings.canvas import TEXT, Picture, Point, both
from utils.figures.drawings.primitives import colours_of_heads, head_name, write
from utils.figures.drawings.tensors import tensor
from utils.figures.palette import NOTE

KINDS = ("q", "k", "v")
PLACES = ("PyTorch", "GPT-NeoX, BLOOM", "Keras")
NAMES = ("in_proj_weight", "query_key_value.weight", "three kernels")
SHAPES = ("(3 D, D)", "(3 D, D)", "(D, H, D_head) each")
CELL, GAP = 11.0, 5.0


def draw_packings(num_heads: int = 2) -> Picture:
    """Draw the three packed projections of a layer as PyTorch, GPT-NeoX and Keras keep them.

    PyTorch has all queries, then all keys, then all values, as rows; GPT-NeoX and BLOOM have query,
    key and value of one head after another, as rows; Keras has three kernels whose columns are cut
    into heads.

    Parameters
    ----------
    num_heads : int, 1 to 4

    Raises
    ------
    ValueError
        if there is no head, or there are more than fit
    """
    if num_heads > 4:
        raise ValueError(f"there is room for 1 to 4 heads, not {num_heads}.")
    colours = colours_of_heads(num_heads)
    own = {1: 4, 2: 2}.get(num_heads, 1)
    width, step = own * num_heads, 3 * own * num_heads * CELL

    def draw(axes: Axes, narrow: bool) -> None:
        left, right = ((15.0, 0.0), (193.0, 0.0)) if narrow else ((15.0, 0.0), (190.0, 0.0))
        high = step + 3 * num_heads * GAP + 66
        last: Point = (15.0, high) if narrow else (370.0, 0.0)
        for h, colour in enumerate(colours):
            head_name(axes, (8 + 75 * h, -72), f"head {h}", colour)
        _head(axes, left, 0)
        _head(axes, right, 1)
        _head(axes, last, 2)
        _rows(axes, left, [(kind, colours) for kind in KINDS], own, width)
        _rows(axes, right, [(kind, [c]) for c in colours for kind in KINDS], own, width)
        x, y = last
        for kind in KINDS:
            kernel = tensor(axes, (x, y), (width, width), colour=colours, cell=CELL, apart=4)
            write(axes, (kernel.south[0], kernel.bottom + 12), kind, colour=NOTE)
            x = kernel.right + 20

    return both(
        draw,
        f"The projections of {num_heads} heads, packed in three ways. PyTorch's in_proj_weight, "
        "(3 D, D), has the rows of all queries, then of all keys, then of all values, and within "
        "each of them head after head. In GPT-NeoX and BLOOM, query_key_value.weight, (3 D, D), "
        "has the rows of the first head's query, key and value, then those of the next head. Keras "
        "has three kernels, (D, H, D_head), whose columns are cut into heads.",
    )


def _head(axes: Axes, at: Point, place: int) -> None:
    """Write over a packing whose it is, what it is called and which shape it has."""
    x, y = at[0] - 7, at[1]
    write(axes, (x, y - 46), PLACES[place], size=TEXT, bold=True, align="left")
    write(axes, (x, y - 30), NAMES[place], align="left")
    write(axes, (x, y - 15), SHAPES[place], colour=NOTE, align="left")


def _rows(
    axes: Axes, at: Point, parts: list[tuple[str, list[str]]], own: int, columns: int
) -> None:
    """Draw blocks of rows below each other; in each the heads of its colours share the rows."""
    x, y = at[0] + 8, at[1]
    for kind, colours in parts:
        block = tensor(
            axes, (x, y), (own * len(colours), columns), colour=colours, along=-2, cell=CELL
        )
        write(axes, (x - 9, block.west[1]), kind, colour=NOTE)
        y = block.bottom + GAP
