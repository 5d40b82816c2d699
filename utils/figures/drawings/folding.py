"""How the matrices of the heads become one, and one product the heads again."""

from __future__ import annotations

from matplotlib.axes import Axes

from utils.figures.drawings.canvas import TEXT, Block, Picture, Point, both, canvas
from utils.figures.drawings.primitives import arrow, colours_of_heads, write
from utils.figures.drawings.tensors import tensor
from utils.figures.palette import NOTE

CELL, TOKENS, APART = 14.0, 4, 8.0  # side of a cell; what is drawn of T; between blocks
# What each stage is called, its axes, what leads to the next, and the room for that in points.
STAGES = [
    ("H matrices", ("H", "D", "D_head"), "join", 50.0),
    ("one matrix W", ("D", "D"), "x @ W", 58.0),
    ("product", ("T", "D"), "view", 72.0),
    ("cut per token", ("T", "H", "D_head"), "transpose", 84.0),
    ("cut per head", ("H", "T", "D_head"), "", 0.0),
]


def draw_folding(num_heads: int = 2) -> Picture:
    """Draw the way from one matrix a head to one product, and to a tensor (H, T, D_head).

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
        sizes = [_extent(n, colours) for n in range(len(STAGES))]
        beside = max(wide for _, wide in sizes) / 2 + 34
        top = max(high for high, _ in sizes) / 2 + 22
        for n, (name, names, step, room) in enumerate(STAGES):
            high, wide = sizes[n]
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
                write(axes, (block.south[0], -top), name, size=TEXT, bold=True)
                write(axes, (block.south[0], top), shape, colour=NOTE)
                if step:
                    arrow(axes, (block.right + 3, 0), (block.right + room - 3, 0), step)
                x = block.right + room

    return both(
        draw,
        f"Five tensors, cut in the colours of {num_heads} heads: one matrix (D, D_head) a head; "
        "the same side by side as one matrix (D, D); the product of the input with it, (T, D), a "
        f"row a token; by view, {TOKENS} blocks (H, D_head), one per token, each with a row of "
        f"every head; and by transpose, {num_heads} blocks (T, D_head), one per head, each with a "
        "row of every token.",
    )


def _extent(stage: int, colours: list[str]) -> tuple[float, float]:
    """Height and width of a stage, in points."""
    block = _stage(canvas(1), stage, (0, 0), colours)
    return block.bottom - block.top, block.right - block.left


def _stage(axes: Axes, stage: int, at: Point, colours: list[str]) -> Block:
    """Draw a stage; blocks along its first axis, if it has three, lie apart."""
    H = len(colours)
    own = {1: 4, 2: 2, 3: 2}.get(H, 1)
    left, top = at
    if stage in (1, 2):
        rows = own * H if stage == 1 else TOKENS
        return tensor(axes, at, (rows, own * H), colour=colours, cell=CELL)
    blocks = []
    for n in range(TOKENS if stage == 3 else H):
        shape = [(own * H, own), (), (), (H, own), (TOKENS, own)][stage]
        shades = colours if stage == 3 else [colours[n]]
        block = tensor(axes, (left, top), shape, colour=shades, along=-2, cell=CELL)
        blocks.append(block)
        if stage == 0:
            left = block.right + APART
        else:
            top = block.bottom + APART
    return Block(*at, blocks[-1].right, blocks[-1].bottom)
