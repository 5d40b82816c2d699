"""Whom each token attends to: arrows from query to key, in the colours of the heads."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from matplotlib.axes import Axes
from matplotlib.patches import PathPatch, Polygon
from matplotlib.path import Path
from torch import Tensor

from utils.figures import NARROW, WIDE, DescribedFigure, box, draw_twice, text_width, write
from utils.palette import HEAD_COLOURS

FAINT = 0.05  # arrows of less than this share of the largest weight are not drawn

Point = tuple[float, float]


def draw_heads(
    tokens: Sequence[str], weights: Tensor, caption: str, names: Sequence[str] = (), alt: str = ""
) -> DescribedFigure:
    """Draw the heads above and below the tokens, two heads a line.

    Parameters
    ----------
    tokens : T names
    weights : Tensor of shape (H, T, T), none negative
    names : what each head is called; without them "head 0", "head 1", ...
    alt : the text alternative; without it the largest weight of each token in each head

    Raises
    ------
    ValueError
        if the weights or the names do not fit, or there are more heads than colours
    """
    H, T = len(weights), len(tokens)
    titles = list(names) or [f"head {h}" for h in range(H)]
    if weights.shape[1:] != (T, T) or len(titles) != H or not 1 <= H <= len(HEAD_COLOURS):
        raise ValueError(
            f"weights of shape {tuple(weights.shape)} do not fit {T} tokens and {len(titles)} "
            f"names; expected (H, {T}, {T}), for 1 to {len(HEAD_COLOURS)} heads."
        )
    shown = (weights.double() / weights.max()).tolist()

    def draw(axes: Axes, narrow: bool) -> None:
        sizes = (22.0, 18.0, 15.0, 13.0)
        size, gap = next(
            fit for fit in map(fits(narrow), sizes) if fit[1] > 1.8 * fit[0] or fit[0] == 13
        )
        wide = [text_width(token, size) for token in tokens]
        xs = [sum(wide[:i]) + gap * i + wide[i] / 2 for i in range(T)]
        y = 0.0
        for h, (head, colour, title) in enumerate(zip(shown, HEAD_COLOURS, titles, strict=False)):
            ways = sorted((w, *_way(xs, i, j)) for i, row in enumerate(head)
                          for j, w in enumerate(row) if w >= FAINT)  # fmt: skip
            far = max((0.75 * out + 10 for *_, out in ways), default=0.0)
            side = h % 2 * 2 - 1
            if side < 0:  # above its tokens
                y += far + 26
                for x, token in zip(xs, tokens, strict=True):
                    write(axes, (x, y), token, size, bold=True)
            foot = y + side * (0.62 * size + 3)
            for weight, start, end, lean, out in ways:
                arms = (-lean, side * out), (lean, side * out)
                link(axes, (start, foot), (end, foot), arms, weight, colour)
            name_head(axes, (0, foot + side * (far + 4)), title, colour)
            y += (far + 0.62 * size + 40) * (side > 0)

    def fits(narrow: bool):  # type: ignore[no-untyped-def]
        room = 72 * (NARROW if narrow else WIDE) - 30
        return lambda size: (size, min((room - sum(text_width(t, size) for t in tokens)) / T, 90))

    return draw_twice(draw, alt or _told(tokens, weights, titles), caption)


def _way(xs: Sequence[float], i: int, j: int) -> tuple[float, float, float, float]:
    """From where to where the arrow runs, how far its arms lean outwards and reach away.

    Forwards runs outside backwards, so that both are seen; a token's arrow to itself is a loop.
    """
    if i == j:
        return xs[i] - 9, xs[i] + 9, 10.0, 40.0
    side, inset = (1, 3.0) if j > i else (-1, 12.0)
    start, end = xs[i] + side * inset, xs[j] - side * inset
    return start, end, 0.0, 22 + 0.42 * abs(end - start)


def _told(tokens: Sequence[str], weights: Tensor, titles: Sequence[str]) -> str:
    again = len(set(tokens)) < len(tokens)
    words = [f"{token} ({i + 1})" if again else token for i, token in enumerate(tokens)]
    heads = []
    for title, head in zip(titles, weights, strict=True):
        best = head.argmax(dim=-1).tolist()
        pairs = [f"{words[i]} to {words[j]} {head[i, j]:.2f}" for i, j in enumerate(best)]
        heads.append(f"{title}: {', '.join(pairs)}")
    return f"The largest weight of each token in {len(titles)} heads. {'; '.join(heads)}."


def link(
    axes: Axes, start: Point, end: Point, away: Sequence[Point], weight: float, colour: str
) -> None:
    """Draw a curved arrow that is the wider and stronger the larger its weight, from 0 to 1.

    ``away`` are two steps, by which the curve leaves its start and comes to its end.
    """
    width = 1 + 6 * weight
    long, (dx, dy) = 5 + 1.3 * width, away[1]
    length = (dx * dx + dy * dy) ** 0.5 or 1.0
    ux, uy = dx / length, dy / length  # from the tip of the arrow backwards
    foot = end[0] + ux * long, end[1] + uy * long
    bends = [(start[0] + away[0][0], start[1] + away[0][1]), (foot[0] + dx, foot[1] + dy)]
    curve = Path([start, *bends, foot], [Path.MOVETO, Path.CURVE4, Path.CURVE4, Path.CURVE4])
    half = 2.4 + 0.8 * width
    sides = [(foot[0] - by * uy * half, foot[1] + by * ux * half) for by in (1, -1)]
    look: dict[str, Any] = {"alpha": 0.3 + 0.65 * weight, "clip_on": False}
    axes.add_patch(PathPatch(curve, fc="none", ec=colour, lw=width, **look))
    axes.add_patch(Polygon([end, *sides], fc=colour, ec="none", lw=0, **look))


def name_head(axes: Axes, at: Point, text: str, colour: str) -> None:
    """Write the name of a head, with a spot of its colour before it."""
    x, y = at
    box(axes, (x, y - 5, x + 10, y + 5), colour=colour, alpha=1, radius=3)
    write(axes, (x + 15, y), text, align="left")
