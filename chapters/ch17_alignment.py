"""Two texts, and lines from each token that is written to what it reads in the other."""

from __future__ import annotations

from collections.abc import Sequence

from matplotlib.axes import Axes
from torch import Tensor

from chapters.arcs import link, name_head
from utils.figures import NARROW, WIDE, DescribedFigure, draw_twice, text_width, write
from utils.palette import HEAD_COLOURS, NOTE

TEXT = 12.0  # size of a token

APART = 190.0  # between the two texts
MARGIN = 4.0  # fonts differ: a token may be a little wider than was reckoned


def draw_alignment(
    source: Sequence[str],
    written: Sequence[str],
    weights: Tensor,
    caption: str,
    least: float = 0.5,
) -> DescribedFigure:
    """Draw where each token that is written looks in the source, in the colours of the heads.

    One head alone has no name: its lines may stand for anything. The source stands above. Where
    two texts of words do not fit beside each other's tokens, they stand as two columns, the source
    on the right.

    Parameters
    ----------
    source, written : S and T tokens
    weights : Tensor of shape (H, T, S), none negative
    least : smaller weights are not drawn

    Raises
    ------
    ValueError
        if the weights do not fit the tokens, or there are more heads than colours
    """
    H = len(weights)
    if weights.dim() != 3 or weights.shape[1:] != (len(written), len(source)):
        raise ValueError(
            f"weights of shape {tuple(weights.shape)} do not fit {len(written)} written and "
            f"{len(source)} source tokens; expected (H, {len(written)}, {len(source)})."
        )
    colours = HEAD_COLOURS[:H]
    drawn = [
        (head[t, j].item(), t, j, colour)
        for head, colour in zip(weights, colours, strict=True)
        for t, j in (head >= least).nonzero().tolist()
    ]

    def draw(axes: Axes, narrow: bool) -> None:
        room = 72 * (NARROW if narrow else WIDE)
        names = [f"head {h}" for h in range(H)] if H > 1 else []
        for h, name in enumerate(names):
            name_head(axes, (h * (78 if narrow else 90), 0), name, colours[h])
        steps = [_steps(tokens, room) for tokens in (source, written)]
        if min(steps) > 0:
            _rows(axes, source, written, drawn, steps, room)
        else:
            _columns(axes, source, written, drawn, room)

    most = [
        (f"head {h}: " if H > 1 else "")
        + ", ".join(f"{written[t]} to {source[j]}" for _, t, j, c in drawn if c == colours[h])
        for h in range(H)
    ]
    alt = f"Lines from the tokens written to the source, for {least} or more. "
    return draw_twice(draw, alt + "; ".join(most) + ".", caption)


_Drawn = list[tuple[float, int, int, str]]  # weight, query, key, colour


def _steps(tokens: Sequence[str], room: float) -> float:
    """The gap between the tokens of a row, or 0 where they do not fit."""
    gap = (room - 2 * MARGIN - sum(text_width(t, TEXT) for t in tokens)) / max(len(tokens) - 1, 1)
    letters = max(map(len, tokens)) == 1
    return min(gap, 60.0) if gap >= (1.5 if letters else 12.0) else 0.0


def _places(tokens: Sequence[str], gap: float, room: float) -> list[float]:
    """The middles of the tokens of a row, centred."""
    wide = [text_width(token, TEXT) for token in tokens]
    start = (room - sum(wide) - gap * (len(tokens) - 1)) / 2
    return [start + sum(wide[:i]) + gap * i + w / 2 for i, w in enumerate(wide)]


def _rows(
    axes: Axes,
    source: Sequence[str],
    written: Sequence[str],
    drawn: _Drawn,
    steps: Sequence[float],
    room: float,
) -> None:
    top = 40.0
    above, below = (
        _places(tokens, gap, room) for tokens, gap in zip((source, written), steps, strict=True)
    )
    for xs, tokens, y in ((above, source, top), (below, written, top + APART)):
        for x, token in zip(xs, tokens, strict=True):
            write(axes, (x, y), token, size=TEXT, bold=True)
    bend = (0.0, -0.4 * APART), (0.0, 0.4 * APART)
    for weight, t, j, colour in drawn:
        link(axes, (below[t], top + APART - 11), (above[j], top + 11), bend, weight / 2, colour)


def _columns(
    axes: Axes, source: Sequence[str], written: Sequence[str], drawn: _Drawn, room: float
) -> None:
    left = MARGIN + max(text_width(token, TEXT) for token in written)
    right = room - MARGIN - max(text_width(token, TEXT) for token in source)
    rows = max(len(source), len(written))
    ys = [[58 + 30 * (i + (rows - len(tokens)) / 2) for i in range(len(tokens))]
          for tokens in (source, written)]  # fmt: skip
    write(axes, (left, 30), "written", colour=NOTE, align="right")
    write(axes, (right, 30), "source", colour=NOTE, align="left")
    for y, token in zip(ys[0], source, strict=True):
        write(axes, (right, y), token, size=TEXT, bold=True, align="left")
    for y, token in zip(ys[1], written, strict=True):
        write(axes, (left, y), token, size=TEXT, bold=True, align="right")
    bend = (0.4 * (right - left), 0.0), (-0.4 * (right - left), 0.0)
    for weight, t, j, colour in drawn:
        link(axes, (left + 6, ys[1][t]), (right - 6, ys[0][j]), bend, weight / 2, colour)
