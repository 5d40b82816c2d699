"""What every drawing is made of: words, boxes, arrows, lines, links."""

from __future__ import annotations

from collections.abc import Sequence

from matplotlib.axes import Axes
from matplotlib.patches import FancyArrowPatch, FancyBboxPatch, PathPatch, Polygon
from matplotlib.path import Path

from utils.figures.drawings.canvas import SMALL, THIN, TINT, Block, Point
from utils.figures.palette import HEAD_COLOURS, INK, NOTE, PALE, PAPER


def write(
    axes: Axes,
    at: Point,
    text: str,
    *,
    size: float = SMALL,
    bold: bool = False,
    colour: str = INK,
    align: str = "center",
    up: bool = False,
) -> None:
    """Write one line, its middle at the height of `at`.

    Parameters
    ----------
    at : the middle of the line, or its end where `align` is "left" or "right"
    up : bool, whether the line runs from below to above
    """
    x, y = at
    shift = 0.36 * size  # from the middle of a capital letter down to its foot
    axes.text(
        x + shift * up,
        y + shift * (not up),
        text,
        size=size,
        weight="bold" if bold else "normal",
        color=colour,
        ha="center" if up else align,
        va="center" if up else "baseline",
        rotation=90 if up else 0,
        family="DejaVu Sans",
    )


def box(
    axes: Axes,
    block: Block,
    text: str = "",
    *,
    colour: str = PALE,
    alpha: float = TINT,
    edge: str | None = None,
    size: float = SMALL,
    bold: bool = False,
    radius: float = 5.0,
    kind: str = "box",
) -> Block:
    """Draw a box with round corners and a line of text in its middle.

    Parameters
    ----------
    colour, alpha : of what fills it
    edge : colour of its outline; without one it has none
    kind : str, what the box is, for whoever looks through the drawing's patches (``get_label``)
    """
    left, top, right, bottom = block
    axes.add_patch(
        FancyBboxPatch(
            (left, top),
            right - left,
            bottom - top,
            boxstyle=f"round,pad=0,rounding_size={radius}",
            facecolor=(colour, alpha),
            edgecolor=edge or "none",
            linewidth=THIN if edge else 0,
            label=kind,
            clip_on=False,
        )
    )
    if text:
        write(axes, ((left + right) / 2, (top + bottom) / 2), text, size=size, bold=bold)
    return block


def arrow(
    axes: Axes, start: Point, end: Point, text: str = "", *, colour: str = NOTE, bend: float = 0.0
) -> None:
    """Draw a thin arrow; its text stands above it, or to the right of one that runs downwards."""
    axes.add_patch(
        FancyArrowPatch(
            start,
            end,
            arrowstyle="-|>,head_length=0.4,head_width=0.2",
            connectionstyle=f"arc3,rad={bend}",
            mutation_scale=12,
            shrinkA=2,
            shrinkB=2,
            linewidth=1.2,
            color=colour,
            label="arrow",
            clip_on=False,
        )
    )
    x, y = (start[0] + end[0]) / 2, (start[1] + end[1]) / 2
    if text and abs(end[0] - start[0]) >= abs(end[1] - start[1]):
        write(axes, (x, y - 11), text, colour=NOTE)
    elif text:
        write(axes, (x + 9, y), text, colour=NOTE, align="left")


def line(axes: Axes, points: Sequence[Point], *, width: float = THIN, colour: str = NOTE) -> None:
    """Draw a line through points."""
    patch = PathPatch(Path(points), fc="none", ec=colour, lw=width, label="line", clip_on=False)
    axes.add_patch(patch)


def flow(axes: Axes, start: Point, end: Point, colour: str = NOTE, *, down: bool = False) -> None:
    """A soft curve from one side of the flow to a place further on, and an arrow at its end."""
    (x0, y0), (x1, y1) = start, end
    if down:
        middle = (y0 + y1) / 2
        path = [(x0, y0), (x0, middle), (x1, middle), (x1, y1 - 5)]
    else:
        middle = (x0 + x1) / 2
        path = [(x0, y0), (middle, y0), (middle, y1), (x1 - 5, y1)]
    codes = [Path.MOVETO, Path.CURVE4, Path.CURVE4, Path.CURVE4]
    curve = Path(path, codes)
    axes.add_patch(PathPatch(curve, fc="none", ec=colour, lw=1.2, label="flow", clip_on=False))
    back = (x1, y1 - 9) if down else (x1 - 9, y1)
    arrow(axes, back, (x1, y1 + 1) if down else (x1 + 1, y1), colour=colour)


def link(
    axes: Axes, start: Point, end: Point, away: Sequence[Point], weight: float, colour: str
) -> None:
    """Draw a curved arrow that is the wider and stronger the larger its weight.

    Parameters
    ----------
    away : two steps, by which the curve leaves its start and comes to its end
    weight : float from 0 to 1
    """
    width = 1 + 6 * weight
    long, (dx, dy) = 5 + 1.3 * width, away[1]
    length = (dx * dx + dy * dy) ** 0.5 or 1.0
    ux, uy = dx / length, dy / length  # from the tip of the arrow backwards
    foot = end[0] + ux * long, end[1] + uy * long
    bends = [(start[0] + away[0][0], start[1] + away[0][1]), (foot[0] + dx, foot[1] + dy)]
    curve = Path([start, *bends, foot], [Path.MOVETO, Path.CURVE4, Path.CURVE4, Path.CURVE4])
    alpha, half = 0.3 + 0.65 * weight, 2.4 + 0.8 * width
    axes.add_patch(
        PathPatch(curve, fc="none", ec=colour, lw=width, alpha=alpha, label="link", clip_on=False)
    )
    tip = [end, (foot[0] - uy * half, foot[1] + ux * half)]
    tip.append((foot[0] + uy * half, foot[1] - ux * half))
    axes.add_patch(
        Polygon(tip, fc=colour, ec="none", lw=0, alpha=alpha, label="tip", clip_on=False)
    )


def head_name(axes: Axes, at: Point, text: str, colour: str) -> None:
    """Write the name of a head, with a spot of its colour before it."""
    x, y = at
    box(axes, Block(x, y - 5, x + 10, y + 5), colour=colour, alpha=1, radius=3, kind="spot")
    write(axes, (x + 15, y), text, align="left")


def paper(axes: Axes, block: Block) -> None:
    """Cover what lies behind a block."""
    box(axes, block, colour=PAPER, alpha=1, radius=2, kind="paper")


def colours_of_heads(num_heads: int) -> list[str]:
    """The colours of the heads, one each.

    Raises
    ------
    ValueError
        if there is no head, or there are more heads than colours
    """
    if not 1 <= num_heads <= len(HEAD_COLOURS):
        raise ValueError(f"there are colours for 1 to {len(HEAD_COLOURS)} heads, not {num_heads}.")
    return HEAD_COLOURS[:num_heads]
