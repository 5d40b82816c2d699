"""What heads do: whom each token attends to, and what one head or two can carry."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from matplotlib.axes import Axes
from torch import Tensor

from utils.figures.drawings.canvas import (
    NARROW,
    TEXT,
    TITLE,
    WIDE,
    Picture,
    Point,
    both,
    shorten,
    text_width,
)
from utils.figures.drawings.primitives import colours_of_heads, head_name, link, write

FAINT = 0.05  # links of less than this share of the largest weight are not drawn
LARGEST = 22.0  # size of a token, where there is room


def draw_heads(tokens: Sequence[str], weights: Tensor, names: Sequence[str] = ()) -> Picture:
    """Draw whom each token attends to: arrows from query to key in the colours of the heads.

    The even heads run above the tokens, the odd ones below, two heads a line. Where the tokens do
    not fit beside each other they stand below each other, with the heads left and right of them.

    Parameters
    ----------
    tokens : T names
    weights : Tensor of shape (H, T, T), none negative
    names : what each head is called; without them "head 0", "head 1", ...

    Raises
    ------
    ValueError
        if the weights or the names do not fit, or there are more heads than colours
    """
    H, T = weights.shape[0], len(tokens)
    if weights.shape[1:] != (T, T) or not T:
        raise ValueError(
            f"weights of shape {tuple(weights.shape)} do not fit {T} tokens; "
            f"expected (H, {T}, {T})."
        )
    if (weights < 0).any() or not weights.isfinite().all():
        raise ValueError("the weights must be finite and none negative.")
    colours = colours_of_heads(H)
    titles = list(names) or [f"head {h}" for h in range(H)]
    if len(titles) != H:
        raise ValueError(f"{len(titles)} names do not fit {H} heads.")
    shown = weights.detach().double() / max(weights.max().item(), 1e-12)

    def draw(axes: Axes, narrow: bool) -> None:
        size, gap = _size(tokens, NARROW if narrow else WIDE, narrow)
        at = 0.0
        for first in range(0, H, 2):
            pair = range(first, min(first + 2, H))
            lines = [(shown[h].tolist(), colours[h], titles[h]) for h in pair]
            if size:
                at = _row(axes, at, tokens, lines, size, gap)
            else:
                at = _column(axes, at, tokens, lines, NARROW if narrow else WIDE)

    return both(draw, _say_heads(tokens, weights, titles))


_Lines = list[tuple[list[list[float]], str, str]]  # of each head: weights, colour, name


def _size(tokens: Sequence[str], room: float, narrow: bool) -> Point:
    """The size of the tokens in a row and the gap between them, or 0 where they do not fit."""
    for size in (LARGEST, 18.0, 15.0, TITLE):
        least = (40.0 if narrow else 56.0) * size / LARGEST
        gap = min((room - sum(text_width(t, size, True) for t in tokens) - 30) / len(tokens), 90.0)
        if gap >= least:
            return size, gap
    return 0.0, 0.0


def _row(
    axes: Axes, top: float, tokens: Sequence[str], lines: _Lines, size: float, gap: float
) -> float:
    """Tokens beside each other, one head above them and one below; gives where it ends."""
    wide = [text_width(token, size, True) for token in tokens]
    xs = [sum(wide[:i]) + gap * i + wide[i] / 2 for i in range(len(tokens))]
    reach = [_reach(xs, weights) for weights, _, _ in lines]
    y = top + 26 + reach[0]
    for x, token in zip(xs, tokens, strict=True):
        write(axes, (x, y), token, size=size, bold=True)
    for n, (weights, colour, name) in enumerate(lines):
        side = -1 if n == 0 else 1
        start = y + side * (0.62 * size + 3)

        def place(along: float, out: float, start: float = start, side: int = side) -> Point:
            return along, start + side * out

        _links(axes, xs, weights, colour, place)
        head_name(axes, (xs[0] - wide[0] / 2, start + side * (reach[n] + 4)), name, colour)
    return y + (reach[1] if len(lines) > 1 else 0) + 0.62 * size + 40


def _column(axes: Axes, top: float, tokens: Sequence[str], lines: _Lines, room: float) -> float:
    """Tokens below each other, one head left of them and one right; gives where it ends."""
    names = [shorten(token, 130, TEXT, True) for token in tokens]
    half = max(text_width(name, TEXT, True) for name in names) / 2 + 8
    ys = [top + 36 + 30 * i for i in range(len(tokens))]
    for y, name in zip(ys, names, strict=True):
        write(axes, (0, y), name, size=TEXT, bold=True)
    most = room / 2 - half - 12
    for n, (weights, colour, name) in enumerate(lines):
        side = -1 if n == 0 else 1
        squeeze = min(1.0, most / max(_reach(ys, weights), 1.0))

        def place(along: float, out: float, side: int = side, by: float = squeeze) -> Point:
            return side * (half + by * out), along

        _links(axes, ys, weights, colour, place)
        x = -half - 60 if n == 0 else half + 8
        head_name(axes, (x, top + 8), name, colour)
    return ys[-1] + 30


def _pairs(weights: list[list[float]]) -> list[tuple[float, int, int]]:
    """The pairs whose link is drawn, the weakest first."""
    return sorted(
        (weight, i, j)
        for i, row in enumerate(weights)
        for j, weight in enumerate(row)
        if weight >= FAINT
    )


def _ports(places: Sequence[float], i: int, j: int) -> tuple[float, float, float]:
    """Where the link from i to j starts and ends, and how far its arms reach out.

    Forwards runs outside backwards, so that both are seen; a token's link to itself is a loop.
    """
    if i == j:
        return places[i] - 9, places[i] + 9, 40.0
    side, inset = (1, 3.0) if j > i else (-1, 12.0)
    start, end = places[i] + side * inset, places[j] - side * inset
    return start, end, 22 + 0.42 * abs(end - start)


def _reach(places: Sequence[float], weights: list[list[float]]) -> float:
    """How far the links of a head reach away from the tokens."""
    outs = [_ports(places, i, j)[2] for _, i, j in _pairs(weights)]
    return max((0.75 * out + 10 for out in outs), default=0.0)


def _links(
    axes: Axes,
    places: Sequence[float],
    weights: list[list[float]],
    colour: str,
    place: Callable[[float, float], Point],
) -> None:
    """Draw the links of a head; `place` gives the point so far along the tokens and away."""
    for weight, i, j in _pairs(weights):
        start, end, out = _ports(places, i, j)
        lean = 10.0 if i == j else 0.0
        a, b = place(start, 0), place(end, 0)
        far_a, far_b = place(start - lean, out), place(end + lean, out)
        steps = [(far_a[0] - a[0], far_a[1] - a[1]), (far_b[0] - b[0], far_b[1] - b[1])]
        link(axes, a, b, steps, weight, colour)


def _say_heads(tokens: Sequence[str], weights: Tensor, titles: Sequence[str]) -> str:
    again = len(set(tokens)) < len(tokens)
    words = [f"{token} ({i + 1})" if again else token for i, token in enumerate(tokens)]
    heads = []
    for title, head in zip(titles, weights, strict=True):
        best = head.argmax(dim=-1).tolist()
        pairs = [f"{words[i]} to {words[j]} {head[i, j]:.2f}" for i, j in enumerate(best)]
        heads.append(f"{title}: {', '.join(pairs)}")
    return f"The largest weight of each token in {len(titles)} heads. {'; '.join(heads)}."
