"""The projections of all heads as libraries and models pack them."""

from __future__ import annotations

from collections.abc import Sequence

from matplotlib.axes import Axes

from utils.figures.drawings.canvas import TEXT, Picture, Point, both
from utils.figures.drawings.primitives import colours_of_heads, head_name, write
from utils.figures.drawings.tensors import tensor
from utils.figures.palette import NOTE

KINDS = ("q", "k", "v")
# Whose packing it is, what the weights are called, their shape, and all this in words.
PACKINGS = {
    "PyTorch": (
        "in_proj_weight",
        "(3 D, D)",
        "PyTorch's in_proj_weight, (3 D, D), has the rows of all queries, then of all keys, then "
        "of all values, and within each of them head after head.",
    ),
    "GPT-NeoX, BLOOM": (
        "query_key_value.weight",
        "(3 D, D)",
        "In GPT-NeoX and BLOOM, query_key_value.weight, (3 D, D), has the rows of the first head's "
        "query, key and value, then those of the next head.",
    ),
    "Keras": (
        "three kernels",
        "(D, H, D_head) each",
        "Keras has three kernels, (D, H, D_head), whose columns are cut into heads.",
    ),
}
CELL, GAP, STEP = 11.0, 5.0, 178.0  # side of a cell; between blocks; from packing to packing


def draw_packings(num_heads: int = 2, places: Sequence[str] = tuple(PACKINGS)) -> Picture:
    """Draw the packed projections of a layer as PyTorch, GPT-NeoX and Keras keep them.

    PyTorch has all queries, then all keys, then all values, as rows; GPT-NeoX and BLOOM have query,
    key and value of one head after another, as rows; Keras has three kernels whose columns are cut
    into heads.

    Parameters
    ----------
    num_heads : int, 1 to 4
    places : which of the three, from the left: "PyTorch", "GPT-NeoX, BLOOM", "Keras"

    Raises
    ------
    ValueError
        if there is no head, there are more than fit, or a place is not one of the three
    """
    if num_heads > 4:
        raise ValueError(f"there is room for 1 to 4 heads, not {num_heads}.")
    if not places or set(places) - set(PACKINGS):
        raise ValueError(f"give some of {', '.join(map(repr, PACKINGS))}; got {list(places)}.")
    colours = colours_of_heads(num_heads)
    own = {1: 4, 2: 2}.get(num_heads, 1)
    width, high = own * num_heads, 3 * own * num_heads * CELL + 3 * num_heads * GAP + 66

    def draw(axes: Axes, narrow: bool) -> None:
        for h, colour in enumerate(colours):
            head_name(axes, (8 + 75 * h, -72), f"head {h}", colour)
        for n, place in enumerate(places):
            at = (15 + STEP * (n % 2), high * (n // 2)) if narrow else (15 + STEP * n, 0.0)
            _head(axes, at, place)
            if place == "PyTorch":
                _rows(axes, at, [(kind, colours) for kind in KINDS], own, width)
            elif place == "Keras":
                _kernels(axes, at, colours, width)
            else:
                _rows(axes, at, [(kind, [c]) for c in colours for kind in KINDS], own, width)

    told = " ".join(PACKINGS[place][2] for place in places)
    ways = {1: "one way", 2: "two ways", 3: "three ways"}[len(places)]
    return both(draw, f"The projections of {num_heads} heads, packed in {ways}. {told}")


def _head(axes: Axes, at: Point, place: str) -> None:
    """Write over a packing whose it is, what it is called and which shape it has."""
    name, shape, _ = PACKINGS[place]
    x, y = at[0] - 7, at[1]
    write(axes, (x, y - 46), place, size=TEXT, bold=True, align="left")
    write(axes, (x, y - 30), name, align="left")
    write(axes, (x, y - 15), shape, colour=NOTE, align="left")


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


def _kernels(axes: Axes, at: Point, colours: list[str], width: int) -> None:
    """Draw three matrices side by side; in each the heads share the columns."""
    x, y = at
    for kind in KINDS:
        kernel = tensor(axes, (x, y), (width, width), colour=colours, cell=CELL, apart=4)
        write(axes, (kernel.south[0], kernel.bottom + 12), kind, colour=NOTE)
        x = kernel.right + 20
