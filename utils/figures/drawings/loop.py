"""Multi-head attention as a loop over heads, each with three small matrices of its own."""

from __future__ import annotations

from matplotlib.axes import Axes

from utils.figures.drawings.canvas import TEXT, Block, Picture, Point, both
from utils.figures.drawings.primitives import (
    arrow,
    box,
    colours_of_heads,
    flow,
    head_name,
    line,
    write,
)
from utils.figures.drawings.tensors import tensor
from utils.figures.palette import NEUTRAL, NOTE

TOKENS = 3  # rows of x in the picture
PANEL, ENTRY, EXIT = 296.0, 36.0, 28.0  # width of what one head has, and room at its sides
WHOLE, PART, SQUARE = "(T, D)", "(T, D_head)", "(D, D)"


def draw_loop(num_heads: int = 2) -> Picture:
    """Draw multi-head attention as a loop: three small matrices of its own for each head.

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
        (_loop_down if narrow else _loop_across)(axes, colours)

    heads = "1 head, which has" if num_heads == 1 else f"{num_heads} heads, each of which has"
    return both(
        draw,
        f"A loop over {heads} three small matrices of its own, w_q, w_k and w_v, (D, D_head) each. "
        "They turn x, (T, D), into q, k and v of the head, (T, D_head) each. From q and k come its "
        "weights, (T, T); weights and v give its output, (T, D_head). The outputs of all heads "
        "side by side are joined, (T, D); one last matrix w_o, (D, D), makes the output, (T, D).",
    )


def _sizes(num_heads: int) -> tuple[int, int, float]:
    """What is drawn of D and of D_head, and the side of a cell."""
    own = {1: 4, 2: 2, 3: 2}.get(num_heads, 1)
    return own * num_heads, own, 9.0 if num_heads < 3 else 7.0


def _put(
    axes: Axes,
    left: float,
    middle: float,
    shape: Point,
    cell: float,
    *,
    colour: str | list[str] = NEUTRAL,
    label: str = "",
) -> Block:
    """Draw a matrix whose left side is at `left` and whose middle is at the height `middle`."""
    rows, columns = int(shape[0]), int(shape[1])
    at = (left, middle - rows * cell / 2)
    return tensor(axes, at, (rows, columns), colour=colour, label=label, cell=cell)


def _height(num_heads: int) -> float:
    """How high the panel of one head is."""
    columns, _, cell = _sizes(num_heads)
    return 3 * (columns * cell + 25) + 33


def _panel(axes: Axes, at: Point, colours: list[str], h: int) -> Block:
    """Draw all that belongs to head `h`; the last head has the shapes written to it."""
    colour, last = colours[h], h == len(colours) - 1
    columns, own, cell = _sizes(len(colours))
    left, top = at
    block = Block(left, top, left + PANEL, top + _height(len(colours)))
    box(axes, block, colour=colour, alpha=0.07, radius=8, kind="panel")
    head_name(axes, (left + 10, top + 13), f"head {h}", colour)
    wide, pitch = own * cell, columns * cell + 25
    gap = (PANEL - ENTRY - EXIT - 3 * wide - TOKENS * cell) / 3
    rows = [top + 25 + 20 + columns * cell / 2 + n * pitch for n in range(3)]
    entry = (left, rows[1])
    made = []
    for name, y in zip("qkv", rows, strict=True):
        own_w = _put(axes, left + ENTRY, y, (columns, own), cell, colour=colour, label=f"w_{name}")
        flow(axes, entry, (own_w.left - 2, y), colour)
        got = (TOKENS, own)
        made.append(_put(axes, own_w.right + gap, y, got, cell, colour=colour, label=name))
        arrow(axes, own_w.east, made[-1].west, colour=colour)
    q, k, v = made
    x, y = q.right + gap, (rows[0] + rows[1]) / 2
    weights = _put(axes, x, y, (TOKENS, TOKENS), cell, colour=colour, label="weights")
    for source, shift in ((q, -5), (k, 5)):
        flow(axes, (source.right + 2, source.east[1]), (weights.left - 2, y + shift), colour)
    x = weights.right + gap
    output = _put(axes, x, rows[1], (TOKENS, own), cell, colour=colour, label="output")
    for source, shift in ((weights, -5), (v, 5)):
        flow(axes, (source.right + 2, source.east[1]), (output.left - 2, rows[1] + shift), colour)
    line(axes, [(output.right + 3, rows[1]), (block.right, rows[1])], width=1.2, colour=colour)
    if last:
        write(axes, (weights.south[0], weights.bottom + 12), "(T, T)", colour=NOTE)
        write(axes, (output.south[0], output.bottom + 12), PART, colour=NOTE)
        for of, shape in ((own_w, "(D, D_head)"), (v, PART)):
            for n, word in enumerate((shape, "each")):
                write(axes, (of.south[0], block.bottom + 12 + 15 * n), word, colour=NOTE)
    return Block(left, rows[1], block.right, rows[1])  # where it is entered and left


def _loop_across(axes: Axes, colours: list[str]) -> None:
    columns, _, cell = _sizes(len(colours))
    wide, step = columns * cell, _height(len(colours)) + 14
    tall, start = len(colours) * step - 14, wide + 36
    middle = tall / 2
    x = _put(axes, 0, middle, (TOKENS, columns), cell, label="x")
    write(axes, (x.south[0], x.bottom + 12), WHOLE, colour=NOTE)
    join = start + PANEL + 48
    high = TOKENS * cell
    for h, colour in enumerate(colours):
        head = _panel(axes, (start, h * step), colours, h)
        flow(axes, (x.right + 3, middle), (start - 1, head.west[1]), colour)
        entry = middle + ((h + 0.5) / len(colours) - 0.5) * high
        flow(axes, head.east, (join - 3, entry), colour)
    row = (TOKENS, columns)
    joined = _put(axes, join, middle, row, cell, colour=colours, label="joined")
    w_o = _put(axes, joined.right + 32, middle, (columns, columns), cell, label="w_o")
    output = _put(axes, w_o.right + 32, middle, row, cell, label="output")
    arrow(axes, joined.east, w_o.west)
    arrow(axes, w_o.east, output.west)
    for block, shape in ((joined, WHOLE), (w_o, SQUARE), (output, WHOLE)):
        write(axes, (block.south[0], block.bottom + 12), shape, colour=NOTE)


def _loop_down(axes: Axes, colours: list[str]) -> None:
    columns, _, cell = _sizes(len(colours))
    wide, step = columns * cell, _height(len(colours)) + 12
    x = _put(axes, -wide / 2, 0, (TOKENS, columns), cell)
    _beside(axes, x, "x", WHOLE)
    spine, top = (cell - wide) / 2, x.bottom + 14
    left = spine + 14
    out, middle = left + PANEL + 8, left + PANEL / 2
    heads = [_panel(axes, (left, top + h * step), colours, h) for h in range(len(colours))]
    line(axes, [(spine, x.bottom + 3), (spine, heads[-1].west[1])], width=1.2)
    for head, colour in zip(heads, colours, strict=True):
        arrow(axes, (spine - 2, head.west[1]), (left + 1, head.west[1]))
        line(axes, [head.east, (out, head.east[1])], colour=colour, width=1.2)
    below = top + len(colours) * step + 32
    line(axes, [(out, heads[0].east[1]), (out, below), (middle, below)], width=1.2)
    high = TOKENS * cell
    row = (TOKENS, columns)
    joined = _put(axes, middle - wide / 2, below + 24 + high / 2, row, cell, colour=colours)
    arrow(axes, (middle, below - 2), joined.north)
    y = joined.bottom + 26 + wide / 2
    w_o = _put(axes, middle - wide / 2, y, (columns, columns), cell)
    output = _put(axes, middle - wide / 2, w_o.bottom + 26 + high / 2, row, cell)
    arrow(axes, joined.south, w_o.north)
    arrow(axes, w_o.south, output.north)
    _beside(axes, joined, "joined", WHOLE)
    _beside(axes, w_o, "w_o", SQUARE)
    _beside(axes, output, "output", WHOLE)


def _beside(axes: Axes, block: Block, name: str, shape: str) -> None:
    x, y = block.east
    write(axes, (x + 12, y - 8), name, size=TEXT, bold=True, align="left")
    write(axes, (x + 12, y + 9), shape, colour=NOTE, align="left")
