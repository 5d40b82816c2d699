"""The layer with its shapes: projections, heads, the heads joined, the projection out."""

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

CELL, TOKENS = 8.0, 4  # side of a cell in the picture of the layer, and its rows


def draw_layer(num_heads: int = 2, *, embed_dim: str = "D", head_dim: str = "D_head") -> Picture:
    """Draw a multi-head attention layer: projections, heads, the heads joined, the projection out.

    Parameters
    ----------
    num_heads : int, 1 to 6
    embed_dim, head_dim : names, or numbers, to be written for the two sizes

    Raises
    ------
    ValueError
        if there are not as many colours
    """
    colours = colours_of_heads(num_heads)
    widths = f"(T, {embed_dim})", f"(T, {head_dim})"

    def draw(axes: Axes, narrow: bool) -> None:
        (_layer_down if narrow else _layer_across)(axes, colours, *widths)

    heads = "1 head" if num_heads == 1 else f"{num_heads} heads"
    return both(
        draw,
        f"A layer with {heads}: x of shape {widths[0]} is projected to q, k and v, {widths[0]} "
        f"each; each head takes its own {head_dim} columns of all three, makes weights of shape "
        f"(T, T) from q and k, and an average of v of shape {widths[1]}; the heads are joined to "
        f"{widths[0]} and projected to the output, {widths[0]}.",
    )


def _columns(colours: list[str]) -> int:
    """Cells of D in the picture: four to six, and as many for each head."""
    return 4 if len(colours) == 1 else len(colours) * (6 // len(colours))


def _projection(axes: Axes, centre: Point, name: str, wide: float = 52.0) -> Block:
    x, y = centre
    at = Block(x - wide / 2, y - 11, x + wide / 2, y + 11)
    return box(axes, at, name, colour=NEUTRAL, alpha=0.15, edge=NEUTRAL, kind="projection")


def _layer_across(axes: Axes, colours: list[str], whole: str, part: str) -> None:
    H, columns = len(colours), _columns(colours)
    high, wide = TOKENS * CELL, columns * CELL
    pitch = high + 22
    tall = max(3 * (high + 32), H * pitch)
    middle = tall / 2
    x = tensor(axes, (0, middle - high / 2), (TOKENS, columns), label="x", cell=CELL)
    write(axes, (x.south[0], x.bottom + 12), whole, colour=NOTE)
    left = x.right + 98
    for n, name in enumerate("qkv"):
        y = middle + (n - 1) * (high + 32)
        made = tensor(
            axes,
            (left, y - high / 2),
            (TOKENS, columns),
            colour=colours,
            label=name,
            cell=CELL,
        )
        projection = _projection(axes, (x.right + 58, y), f"{name}_proj", 50)
        flow(axes, (x.right + 3, middle), (projection.left, y))
        arrow(axes, projection.east, (left, y))
    write(axes, (made.south[0], made.bottom + 12), f"{whole} each", colour=NOTE)
    maps, bracket = made.right + 74, made.right + 9
    line(axes, [(bracket, middle - high * 1.5 - 32), (bracket, middle + high * 1.5 + 32)])
    join = maps + high + 34 + wide / H + 46
    joined = Block(join, middle - high / 2, join + wide, middle + high / 2)
    for h, colour in enumerate(colours):
        y = middle + (h - (H - 1) / 2) * pitch
        flow(axes, (bracket, middle), (maps - 3, y), colour)
        seen = tensor(axes, (maps, y - high / 2), (TOKENS, TOKENS), colour=colour, cell=CELL)
        own = (TOKENS, columns // H)
        got = tensor(axes, (maps + high + 34, y - high / 2), own, colour=colour, cell=CELL)
        arrow(axes, seen.east, got.west, "· v")
        entry = middle + (h - (H - 1) / 2) * high / H
        flow(axes, (got.right + 3, y), (join - 3, entry), colour)
        head_name(axes, (maps - 12, y - high / 2 - 9), f"head {h}", colour)
        if h == H - 1:
            for n, (word, shape) in enumerate([("weights", "(T, T)"), ("average", part)]):
                x0 = (seen, got)[n].south[0] + (-4, 6)[n]
                write(axes, (x0, seen.bottom + 12), word, colour=NOTE)
                write(axes, (x0, seen.bottom + 27), shape, colour=NOTE)
    tensor(axes, joined[:2], (TOKENS, columns), colour=colours, label="joined", cell=CELL)
    write(axes, (joined.south[0], joined.bottom + 12), whole, colour=NOTE)
    out = _projection(axes, (joined.right + 50, middle), "out_proj", 62)
    arrow(axes, joined.east, out.west)
    given = tensor(axes, (out.right + 20, joined.top), (TOKENS, columns), label="output", cell=CELL)
    arrow(axes, out.east, given.west)
    write(axes, (given.south[0], given.bottom + 12), whole, colour=NOTE)


def _layer_down(axes: Axes, colours: list[str], whole: str, part: str) -> None:
    H, columns = len(colours), _columns(colours)
    high, wide = TOKENS * CELL, columns * CELL
    x = tensor(axes, (-wide / 2, 0), (TOKENS, columns), cell=CELL)
    _beside(axes, x, "x", whole)
    for n, name in enumerate("qkv"):
        centre = (n - 1) * 96.0
        projection = _projection(axes, (centre, high + 42), f"{name}_proj")
        flow(axes, (0, high + 2), (centre, projection.top), down=True)
        made = tensor(
            axes,
            (centre - wide / 2, projection.bottom + 20),
            (TOKENS, columns),
            colour=colours,
            cell=CELL,
        )
        arrow(axes, projection.south, made.north)
        write(axes, (made.right + 9, made.east[1]), name, size=TEXT, bold=True)
    write(axes, (0, made.bottom + 12), f"{whole} each", colour=NOTE)
    top = made.bottom + 74
    pitch = min(104.0, 312.0 / H)
    join = top + high + 34 + high + 66
    for h, colour in enumerate(colours):
        centre = (h - (H - 1) / 2) * pitch
        name = f"head {h}" if pitch > 70 else str(h)
        flow(axes, (0, made.bottom + 22), (centre, top - 20), colour, down=True)
        head_name(axes, (centre - (26 if pitch > 70 else 12), top - 10), name, colour)
        seen = tensor(axes, (centre - high / 2, top), (TOKENS, TOKENS), colour=colour, cell=CELL)
        own = columns // H
        at = (centre - own * CELL / 2, seen.bottom + 34)
        got = tensor(axes, at, (TOKENS, own), colour=colour, cell=CELL)
        arrow(axes, seen.south, got.north, "· v")
        flow(
            axes,
            (centre, got.bottom + 18),
            (-wide / 2 + (h + 0.5) * wide / H, join - 2),
            colour,
            down=True,
        )
        if pitch > 70:
            write(
                axes, (centre + high / 2 + 5, seen.bottom - 6), "(T, T)", colour=NOTE, align="left"
            )
            write(axes, (centre, got.bottom + 10), part, colour=NOTE)
    joined = tensor(axes, (-wide / 2, join), (TOKENS, columns), colour=colours, cell=CELL)
    _beside(axes, joined, "joined", whole)
    out = _projection(axes, (0, joined.bottom + 32), "out_proj", 66)
    arrow(axes, joined.south, out.north)
    given = tensor(axes, (-wide / 2, out.bottom + 20), (TOKENS, columns), cell=CELL)
    arrow(axes, out.south, given.north)
    _beside(axes, given, "output", whole)


def _beside(axes: Axes, block: Block, name: str, shape: str) -> None:
    x, y = block.east
    write(axes, (x + 12, y - 8), name, size=TEXT, bold=True, align="left")
    write(axes, (x + 12, y + 9), shape, colour=NOTE, align="left")
