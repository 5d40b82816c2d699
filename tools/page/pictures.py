"""A small picture for each chapter of the path, drawn from what the chapter is about.

Blue and orange are head 0 and head 1. A chapter is known by its file's name without the number, and
has a plain picture until a function and a line in ``PICTURES`` give it its own.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable

WIDTH, HEIGHT = 160, 72
Draw = Callable[[], str]


def box(
    x: float, y: float, w: float, h: float, kind: str, strength: float = 1, round: float = 2
) -> str:
    """Draw a rectangle. Kinds are a, b (heads 0 and 1), ink (grey) and line (an outline)."""
    faint = f' opacity="{strength:.2f}"' if strength < 1 else ""
    place = f'x="{x:.1f}" y="{y:.1f}" width="{w:.1f}" height="{h:.1f}" rx="{round}"'
    return f'<rect class="{kind}" {place}{faint}/>'


def dot(x: float, y: float, r: float, kind: str, strength: float = 1) -> str:
    """Draw a disc."""
    faint = f' opacity="{strength:.2f}"' if strength < 1 else ""
    return f'<circle class="{kind}" cx="{x:.1f}" cy="{y:.1f}" r="{r:.1f}"{faint}/>'


def path(d: str, kind: str, width: float = 2, strength: float = 1) -> str:
    """Draw a line along a path."""
    faint = f' opacity="{strength:.2f}"' if strength < 1 else ""
    return f'<path class="{kind} line" d="{d}" stroke-width="{width:.1f}"{faint}/>'


def softmax(scores: list[float]) -> list[float]:
    """Positive weights that sum to one."""
    powers = [math.exp(score) for score in scores]
    return [power / sum(powers) for power in powers]


def bars(x: float, heights: list[float], kind: str) -> str:
    """Draw bars on a common ground; heights from 0 to 1."""
    return "".join(
        box(x + 9 * i, 62 - max(2, 50 * h), 6, max(2, 50 * h), kind, round=1)
        for i, h in enumerate(heights)
    )


def lookup() -> str:
    """Draw one query, four keys, and a thicker line to the key that fits better."""
    weights = softmax([0.6, 2.0, 0.9, -0.6])
    lines = "".join(
        path(f"M38 36C80 36 80 {y} 112 {y}", "a", 1 + 13 * w, 0.3 + 0.7 * w)
        for y, w in zip((10, 27, 45, 62), weights, strict=True)
    )
    keys = "".join(box(112, y - 5, 26, 10, "ink") for y in (10, 27, 45, 62))
    return lines + keys + dot(34, 36, 8, "a")


def scale() -> str:
    """Draw the weights of the same scores, undivided and divided by a root."""
    scores = [1.0, -2.5, 6.0, 3.0, -1.0, 2.0, 4.0]
    most = max(softmax(scores))
    sharp = [w / most for w in softmax(scores)]
    calm = [w / most * 1.5 for w in softmax([s / math.sqrt(8) for s in scores])]
    return bars(12, sharp, "b") + bars(88, calm, "a")


def mask() -> str:
    """Draw a causal mask: what lies ahead is blocked."""
    return "".join(
        box(
            49 + 13 * k,
            4 + 13 * q,
            11,
            11,
            "a" if k <= q else "line",
            0.45 + 0.55 * (k + 1) / (q + 1),
        )
        for q in range(5)
        for k in range(5)
    )


def guests() -> str:
    """Draw six guests: two heads bring two cards to two places."""
    taken = {1: "a", 4: "b"}
    drawn = [dot(20 + 24 * i, 14, 8, taken.get(i, "line")) for i in range(6)]
    drawn += [path("M44 24C44 40 64 36 64 50", "a", 3), path("M116 24C116 40 96 36 96 50", "b", 3)]
    return "".join([*drawn, box(51, 50, 26, 16, "a"), box(83, 50, 26, 16, "b")])


def stacked() -> str:
    """Draw two small products that become one wide one."""
    small = box(12, 8, 22, 22, "a") + box(12, 42, 22, 22, "b")
    arrow = path("M46 36H72M66 30L72 36L66 42", "ink", 2)
    wide = "".join(
        box(86 + 11 * i, 12, 10, 48, "a" if i < 3 else "b", 0.55 + 0.15 * (i % 3 + 1), 1)
        for i in range(6)
    )
    return small + arrow + wide


def waves() -> str:
    """Draw the sinusoids of two pairs of dimensions, and the places that they number."""

    def wave(kind: str, period: float) -> str:
        points = (
            f"{x} {34 - 22 * math.sin(2 * math.pi * x / period):.1f}" for x in range(8, 153, 3)
        )
        return path("M" + "L".join(points), kind, 2.5)

    places = "".join(dot(14 + 19 * i, 66, 2, "ink") for i in range(8))
    return wave("b", 144) + wave("a", 48) + places


def article() -> str:
    """Draw an article of which some words count, and the five subjects."""
    ends = (54, 46, 52, 40)
    lines = [box(14, 10 + 14 * i, w, 5, "ink", 0.45) for i, w in enumerate(ends)]
    words = [box(28, 10, 16, 5, "a"), box(14, 38, 22, 5, "a"), box(44, 24, 12, 5, "a")]
    bars = [
        box(98, 9 + 11.5 * i, 6 + 44 * p, 8, "a" if i == 1 else "ink", 1 if i == 1 else 0.45)
        for i, p in enumerate((0.1, 0.96, 0.2, 0.05, 0.14))
    ]
    return "".join([*lines, *words, path("M74 36H88M83 31L88 36L83 41", "ink", 2), *bars])


def reading() -> str:
    """Draw a heat map, and a lens over one cell that asks whether it means anything."""
    rows = [[0.9, 0.2, 0.1, 0.3], [0.1, 0.5, 0.8, 0.1], [0.3, 0.1, 0.4, 0.6], [0.7, 0.2, 0.1, 0.3]]
    cells = "".join(
        box(36 + 15 * k, 6 + 15 * q, 13, 13, "a", 0.12 + 0.8 * w)
        for q, row in enumerate(rows)
        for k, w in enumerate(row)
    )
    lens = '<circle class="b line" cx="87" cy="34" r="17" stroke-width="3.5"/>'
    return cells + lens + path("M99 46L116 63", "b", 5)


def plain() -> str:
    """Draw two heads over five tokens, for a chapter without a picture of its own."""
    tokens = "".join(dot(20 + 30 * i, 36, 4, "ink") for i in range(5))
    arcs = path("M20 28C20 6 80 6 80 28", "a", 5) + path("M80 28C80 12 110 12 110 28", "a", 2)
    return arcs + path("M140 44C140 68 50 68 50 44", "b", 4) + tokens


PICTURES: dict[str, tuple[Draw, str]] = {
    "attention-as-lookup": (lookup, "A query, and a thicker line to the key that fits best"),
    "scaled-dot-product": (scale, "One set of scores: weights without the root and with it"),
    "masks": (mask, "A causal mask: half of the cells are blocked"),
    "naive-multi-head": (guests, "Six guests; two heads bring the cards of two of them"),
    "efficient-multi-head": (stacked, "Two small matrices become one wide matrix"),
    "positional-encoding": (waves, "A slow wave and a fast one over numbered places"),
    "bbc-news-classifier": (article, "An article with marked words, and bars for five subjects"),
    "reading-attention": (reading, "A heat map of weights under a lens"),
}
PLAIN: tuple[Draw, str] = (plain, "Two heads over five tokens")


def picture(docname: str, name: str) -> str:
    """Draw the picture of a chapter, named by its file without suffix, as SVG with this id."""
    draw, alt = PICTURES.get(re.sub(r"^.*/(A?\d+-)?", "", docname), PLAIN)
    return (
        f'<svg id="{name}" viewBox="0 0 {WIDTH} {HEIGHT}" role="img" aria-label="{alt}">'
        f"{draw()}</svg>"
    )
