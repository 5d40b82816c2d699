"""The Transformer: the encoder's block, the decoder's, and the way from one to the other."""

from __future__ import annotations

from matplotlib.axes import Axes
from matplotlib.patches import Circle, PathPatch
from matplotlib.path import Path

from utils.figures.drawings.canvas import NARROW, SMALL, TEXT, TINT, WIDE, Block, Picture, both
from utils.figures.drawings.primitives import arrow, box, flow, line, write
from utils.figures.palette import INK, NEUTRAL, NOTE, PALETTE, PAPER

WIDTH = 92.0  # of a part
ASIDE = 26.0  # from the stream to a part
ENCODER: list[tuple[tuple[str, ...], str]] = [
    (("self-attention",), PALETTE[0]),
    (("feed-forward",), PALETTE[2]),
]
DECODER: list[tuple[tuple[str, ...], str]] = [
    (("causal", "self-attention"), PALETTE[0]),
    (("cross-attention",), PALETTE[1]),
    (("feed-forward",), PALETTE[2]),
]


def draw_transformer() -> Picture:
    """Draw encoder and decoder of a pre-norm Transformer with residual streams and norms."""

    def draw(axes: Axes, narrow: bool) -> None:
        room = NARROW if narrow else 440.0
        start = 0.0 if narrow else (WIDE - room) / 2
        left, right = start + 32, start + room - 32
        memory, _ = _stack(axes, left, 1, "source", ENCODER)
        bottom, crossed = _stack(axes, right, -1, "target so far", DECODER)
        end = memory + 18
        box(axes, Block(left - 22, end, left + 96, end + 26), "norm: memory X′",
            colour=NEUTRAL, edge=NEUTRAL, kind="part")  # fmt: skip
        reach = right - ASIDE - WIDTH
        middle = (left + 96 + reach) / 2
        way = [(left + 96, end + 13), (middle, end + 13), (middle, crossed), (reach - 6, crossed)]
        curve = Path(way, [Path.MOVETO, Path.CURVE4, Path.CURVE4, Path.CURVE4])
        axes.add_patch(PathPatch(curve, fc="none", ec=PALETTE[1], lw=2.5, label="memory"))
        arrow(axes, (reach - 14, crossed), (reach + 2, crossed), colour=PALETTE[1])
        write(axes, (left + 38, end + 44), "keys and values", colour=NOTE)
        y = bottom + 18
        for text, colour in (("norm", NEUTRAL), ("times the embedding", PALETTE[4])):
            box(axes, Block(right - 120, y, right + 22, y + 26), text,
                colour=colour, edge=colour, kind="part")  # fmt: skip
            y += 26
            arrow(axes, (right, y), (right, y + 18))
            y += 18
        write(axes, (right + 22, y + 10), "logits of the next token", bold=True, align="right")

    return both(
        draw,
        "Two stacks beside each other. The encoder, left: source, embedding and positions, then L "
        "times a block of self-attention and feed-forward, each behind a norm and added to the "
        "residual stream; a norm gives the memory X′. The decoder, right: target so far, embedding "
        "and positions, then L times a block of causal self-attention, cross-attention, which "
        "takes its keys and values from the memory, and feed-forward, each behind a norm and "
        "added; then a norm and the product with the embedding give the logits of the next token.",
    )


def _stack(
    axes: Axes, x: float, side: int, title: str, parts: list[tuple[tuple[str, ...], str]]
) -> tuple[float, float]:
    """A stream that runs down, its parts beside it; gives its end, and the middle of part 1."""
    edge = x - 22 * side
    align = "left" if side > 0 else "right"
    write(axes, (edge, 0), title, size=TEXT, bold=True, align=align)
    far = edge + 142 * side
    arrow(axes, (x, 8), (x, 24))
    box(axes, Block(min(edge, far), 24, max(edge, far), 50), "embedding + positions",
        colour=PALETTE[4], edge=PALETTE[4], kind="part")  # fmt: skip
    y, middle = 50.0, 0.0
    top = y + 8
    for n, (names, colour) in enumerate(parts):
        y, at = _branch(axes, x, side, y, names, colour)
        middle = at if n == 1 else middle
    outside = x - 15 * side
    bracket = [(outside + 5 * side, top), (outside, top), (outside, y + 6)]
    line(axes, [*bracket, (outside + 5 * side, y + 6)], width=1.4)
    write(axes, (outside - 11 * side, (top + y) / 2), "× L", size=SMALL, bold=True, up=True)
    _wire(axes, x, y, y + 14)
    arrow(axes, (x, y + 4), (x, y + 18), colour=INK)
    return y, middle


def _branch(
    axes: Axes, x: float, side: int, top: float, names: tuple[str, ...], colour: str
) -> tuple[float, float]:
    """A part behind its norm, added to the stream; gives where that ends, and its middle."""
    near, far = x + ASIDE * side, x + (ASIDE + WIDTH) * side
    left, right = min(near, far), max(near, far)
    centre = (left + right) / 2
    flow(axes, (x, top + 6), (centre, top + 26), down=True)
    box(axes, Block(left, top + 26, right, top + 48), "norm", colour=NEUTRAL, edge=NEUTRAL,
        kind="part")  # fmt: skip
    arrow(axes, (centre, top + 47), (centre, top + 63))
    high = 12 + 14 * len(names)
    box(axes, Block(left, top + 62, right, top + 62 + high), colour=colour, alpha=TINT,
        edge=colour, kind="part")  # fmt: skip
    for i, name in enumerate(names):
        write(axes, (centre, top + 62 + 13 + 14 * i), name)
    end = top + 62 + high
    plus = end + 20
    turn = [(centre, end), (centre, plus), (centre, plus), (x + 14 * side, plus)]
    codes = [Path.MOVETO, Path.CURVE4, Path.CURVE4, Path.CURVE4]
    axes.add_patch(PathPatch(Path(turn, codes), fc="none", ec=NOTE, lw=1.2, clip_on=False))
    arrow(axes, (x + 20 * side, plus), (x + 7 * side, plus))
    _wire(axes, x, top, plus - 9)
    axes.add_patch(Circle((x, plus), 9, fc=PAPER, ec=INK, lw=1.4, label="sum", clip_on=False))
    write(axes, (x, plus), "+", size=TEXT, bold=True)
    return plus + 9, top + 62 + high / 2


def _wire(axes: Axes, x: float, top: float, bottom: float) -> None:
    line(axes, [(x, top), (x, bottom)], width=3, colour=INK)
