"""How the matrices of the heads become one, and one product the heads again."""

from __future__ import annotations

from matplotlib.axes import Axes

from utils.figures.drawings.canvas import TEXT, Block, Picture, both, canvas
from utils.figures.drawings.primitives import arrow, colours_of_heads, write
from utils.figures.drawings.tensors import tensor
from utils.figures.palette import NOTE

CELL, BATCH, TOKENS = 8.0, 2, 4  # side of a cell, and what is drawn of B and T
# What each stage is called, its axes, what leads to the next, and the room for that in points.
STAGES = [
    ("H matrices", ("H", "D", "D_head"), "join", 58.0),
    ("one matrix W", ("D", "D"), "x @ W", 48.0),
    ("product", ("B", "T", "D"), "view", 60.0),
    ("cut", ("B", "T", "H", "D_head"), "transpose", 88.0),
    ("heads", ("B", "H", "T", "D_head"), "", 0.0),
]


def draw_folding(num_heads: int = 2) -> Picture:
    """Draw the way from one matrix a head to one product, and to a tensor (B, H, T, D_head).

    Parameters
    ----------
    num_heads : int, 1 to 6

    Raises
    ------
    ValueError
        if there are not as many colours
    """
    colours = colours_of_heads(num_heads)

    def draw(axes: Axes, narrow: bool) -> None:
        x, y = 0.0, 0.0
        beside = max(_extent(n, num_heads)[1] for n in range(len(STAGES))) / 2 + 24
        for n, (name, names, step, room) in enumerate(STAGES):
            high, wide = _extent(n, num_heads)
            at = (-wide / 2, y) if narrow else (x, -high / 2)
            block = _stage(axes, n, at, colours)
            shape = f"({', '.join(names)})"
            if narrow:
                write(axes, (beside, block.east[1] - 8), name, size=TEXT, bold=True, align="left")
                write(axes, (beside, block.east[1] + 9), shape, colour=NOTE, align="left")
                if step:
                    arrow(axes, (0, block.bottom + 3), (0, block.bottom + 35), step)
                y = block.bottom + 39
            else:
                write(axes, (block.south[0], -58), name, size=TEXT, bold=True)
                write(axes, (block.south[0], 58), shape, colour=NOTE)
                if step:
                    arrow(axes, (block.right + 3, 0), (block.right + room - 3, 0), step)
                x = block.right + room

    return both(
        draw,
        f"Five tensors, cut in the colours of {num_heads} heads: a stack of one matrix (D, D_head) "
        "a head; the same side by side as one matrix (D, D); the product of the input with it, "
        "(B, T, D); its columns cut by view into (B, T, H, D_head); and after transpose one grid "
        "a head, (B, H, T, D_head).",
    )


def _sizes(stage: int, num_heads: int) -> tuple[int, ...]:
    """The cells that are drawn along each axis of a stage."""
    own = {1: 4, 2: 3, 3: 2, 4: 2}.get(num_heads, 1)
    whole = own * num_heads
    return [
        (num_heads, whole, own),
        (whole, whole),
        (BATCH, TOKENS, whole),
        (BATCH, TOKENS, whole),
        (BATCH, num_heads, TOKENS, own),
    ][stage]


def _extent(stage: int, num_heads: int) -> tuple[float, float]:
    """Height and width of a stage, in points."""
    block = _stage(canvas(1), stage, (0, 0), colours_of_heads(num_heads))
    return block.bottom - block.top, block.right - block.left


def _stage(axes: Axes, stage: int, at: tuple[float, float], colours: list[str]) -> Block:
    return tensor(
        axes,
        at,
        _sizes(stage, len(colours)),
        colour=colours,
        along=-3 if stage in (0, 4) else -1,
        cell=CELL,
        apart=4.0 if stage == 3 else 0.0,
    )
