"""Join, then project; or project each head, then add: the same."""

from __future__ import annotations

from matplotlib.axes import Axes

from utils.figures.drawings.canvas import TITLE, Block, Picture, Point, both
from utils.figures.drawings.primitives import colours_of_heads, head_name, write
from utils.figures.drawings.tensors import tensor
from utils.figures.palette import NOTE

CELL = 13.0
TIMES, SIGN = 36.0, 46.0  # the room for "@", and for "=" or "+", in points
LARGE = 16.0  # size of these signs


def draw_sum_of_heads(num_heads: int = 2) -> Picture:
    """Draw one projection of the joined heads as a sum with one term for each head.

    Parameters
    ----------
    num_heads : int, 1 to 6

    Raises
    ------
    ValueError
        if there are not as many colours
    """
    colours = colours_of_heads(num_heads)

    own = {1: 4, 2: 3, 3: 2}.get(num_heads, 1)

    def draw(axes: Axes, narrow: bool) -> None:
        left = _product(axes, (0, 0), colours, own, ("joined", "w_o"))
        _note(axes, left, "(D,)", "(D, D)")
        end, low = left[1].right, left[1].bottom
        piece, across = own * CELL, num_heads < 3 and not narrow
        wide = end - (num_heads - 1) * piece  # of a term
        pitch = piece + 44
        for h, colour in enumerate(colours):
            if narrow:  # below: blocks of rows under the whole matrix
                x, y = end - wide, low + 76 + piece / 2 + h * pitch
            elif across:
                x, y = end + SIGN + h * (wide + SIGN), 0.0
            else:
                x, y = end + 2 * SIGN, (h - (num_heads - 1) / 2) * pitch
            if h == 0:
                equals = (end + SIGN / 2, 0.0) if not narrow else (x - SIGN / 2, y)
                write(axes, equals, "=", size=LARGE)
            else:
                write(axes, (x - SIGN / 2, y), "+", size=LARGE)
            term = _product(axes, (x, y), [colour], own, columns=own * num_heads)
            head_name(axes, (x, y - piece / 2 - 12), f"head {h}", colour)
            if across or h == num_heads - 1:
                _note(axes, term, "(D_head,)", "(D_head, D)")

    cut = "of 1 head" if num_heads == 1 else f"of {num_heads} heads"
    return both(
        draw,
        f"An equation. Left: the joined outputs {cut}, D numbers, times w_o, (D, D); its rows have "
        "the colours of the heads whose numbers they meet, D_head rows each. Right: the sum, with "
        "one term for each head: its own D_head numbers times its own block of rows, (D_head, D).",
    )


def _product(
    axes: Axes,
    at: Point,
    colours: list[str],
    own: int,
    names: tuple[str, str] = ("", ""),
    columns: int = 0,
) -> tuple[Block, Block]:
    """Draw a row of numbers times a matrix whose rows have the colours of these numbers.

    Parameters
    ----------
    at : the left end of the row, and the height of its middle
    own : int, how many numbers, and how many rows, have the same colour
    names : what the row and the matrix are called
    columns : int, of the matrix; without it the matrix is square
    """
    (x, y), rows = at, own * len(colours)
    row = tensor(axes, (x, y - CELL / 2), (1, rows), colour=colours, cell=CELL, label=names[0])
    write(axes, (row.right + TIMES / 2, y), "@", size=TITLE, colour=NOTE)
    matrix = tensor(
        axes,
        (row.right + TIMES, y - rows * CELL / 2),
        (rows, columns or rows),
        colour=colours,
        along=-2,
        cell=CELL,
        label=names[1],
    )
    return row, matrix


def _note(axes: Axes, product: tuple[Block, Block], numbers: str, shape: str) -> None:
    """Write under a product how large its two parts are."""
    for block, text in zip(product, (numbers, shape), strict=True):
        write(axes, (block.south[0], block.bottom + 12), text, colour=NOTE)
