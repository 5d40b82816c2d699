"""A block with its residual stream, normalised before its layers and after them."""

from __future__ import annotations

from matplotlib.axes import Axes
from matplotlib.patches import Circle, PathPatch
from matplotlib.path import Path

from utils.figures.drawings.canvas import TEXT, TINT, Block, Picture, both
from utils.figures.drawings.primitives import arrow, box, colours_of_heads, flow, line, write
from utils.figures.palette import INK, NEUTRAL, NOTE, PAPER


def draw_block() -> Picture:
    """Draw a block with its residual stream twice: normalised before each layer, and after."""

    def draw(axes: Axes, narrow: bool) -> None:
        _stream(axes, 0, pre_norm=True)
        _stream(axes, 170 if narrow else 300, pre_norm=False)

    return both(
        draw,
        "Two blocks beside each other, each with a residual stream from x to its output. Pre-norm: "
        "a branch is normalised, passes through attention, and is added; a second "
        "is normalised, passes through the feed-forward network, and is added; nothing lies on the "
        "stream itself. Post-norm: the branches are not normalised, and a normalisation lies on "
        "the stream after each sum.",
    )


def _stream(axes: Axes, left: float, *, pre_norm: bool) -> None:
    """One block: its stream runs down, its branches lie to the right of it."""
    write(axes, (left + 62, 0), "pre-norm" if pre_norm else "post-norm", size=TEXT, bold=True)
    write(axes, (left, 26), "x", size=TEXT, bold=True)
    y = 36.0
    for layer, colour in (("attention", 0), ("feed-forward", 1)):
        branch, boxes = y + 14, [(layer, colour)]
        if pre_norm:
            boxes = [("norm", -1), *boxes]
        centre, at = left + 84, branch + 12
        flow(axes, (left, branch - 8), (centre, at + 4), down=True)
        for name, kind in boxes:
            place = Block(centre - 44, at + 4, centre + 44, at + 30)
            _part(axes, place, name, kind)
            if (name, kind) != boxes[-1]:
                arrow(axes, (centre, place.bottom), (centre, place.bottom + 18))
            at += 44
        plus = at + 10
        bottom = place.bottom
        turn = Path(
            [(centre, bottom), (centre, plus), (centre, plus), (left + 14, plus)],
            [Path.MOVETO, Path.CURVE4, Path.CURVE4, Path.CURVE4],
        )
        axes.add_patch(PathPatch(turn, fc="none", ec=NOTE, lw=1.2, label="flow", clip_on=False))
        arrow(axes, (left + 20, plus), (left + 7, plus))
        _wire(axes, left, y, plus - 9)
        axes.add_patch(
            Circle((left, plus), 9, fc=PAPER, ec=INK, lw=1.4, label="sum", clip_on=False)
        )
        write(axes, (left, plus), "+", size=TEXT, bold=True)
        y = plus + 9
        if not pre_norm:
            _wire(axes, left, y, y + 16)
            _part(axes, Block(left - 26, y + 16, left + 26, y + 40), "norm", -1)
            y += 40
    _wire(axes, left, y, y + 22, tip=True)
    write(axes, (left, y + 36), "output", size=TEXT, bold=True)


def _part(axes: Axes, place: Block, name: str, kind: int) -> None:
    """A layer in the block: a normalisation is grey, the others have colours."""
    colour = NEUTRAL if kind < 0 else colours_of_heads(3)[2 * kind]
    box(axes, place, name, colour=colour, alpha=TINT, edge=colour, kind="part")


def _wire(axes: Axes, x: float, top: float, bottom: float, *, tip: bool = False) -> None:
    """A piece of the residual stream."""
    line(axes, [(x, top), (x, bottom)], width=3, colour=INK)
    if tip:
        arrow(axes, (x, bottom - 6), (x, bottom + 8), colour=INK)
