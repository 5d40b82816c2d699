"""A small picture for each chapter of the landing page, drawn from what the chapter is about.

Blue and orange are head 0 and head 1. A chapter is known by its file's name without the number, and
has a plain picture until a function and a line in ``PICTURES`` give it its own.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable

from tools.page import hero

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


def cuts() -> str:
    """Draw one square cut into one, two and four heads: the area stays."""
    return "".join(
        box(10 + 50 * n + 40 / heads * h, 16, 40 / heads - 1.5, 40, "ab"[h % 2], 1, 1)
        for n, heads in enumerate((1, 2, 4))
        for h in range(heads)
    )


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


def widths() -> str:
    """Draw four heads that share the width, beside two that have all of it each."""
    narrow = "".join(box(12 + 13 * h, 14, 11, 44, "ab"[h % 2], 1, 1) for h in range(4))
    wide = box(90, 10, 58, 23, "a", 1, 1) + box(90, 39, 58, 23, "b", 1, 1)
    return narrow + path("M77 8V64", "ink", 1.5, 0.6) + wide


def cheaper() -> str:
    """Draw the time of a step, falling from change to change (logarithmic, as in the chapter)."""
    times = (1179, 308, 28, 12, 9)
    tall = [math.log(t / 5) / math.log(1179 / 5) for t in times]
    return "".join(
        box(18 + 26 * i, 66 - 60 * h, 20, 60 * h, "b" if i == 0 else "a", 1 - 0.1 * (i == 1))
        for i, h in enumerate(tall)
    )


def tiles() -> str:
    """Draw a matrix of weights that is read tile by tile and never held."""
    cells = "".join(
        box(46 + 11.5 * k, 2 + 11.5 * q, 10, 10, "a" if (q, k) == (2, 3) else "line", 1, 1)
        for q in range(6)
        for k in range(6)
    )
    keys = "".join(box(120, 2 + 11.5 * i, 6, 10, "b", 1 if i == 3 else 0.3, 1) for i in range(6))
    rows = "".join(box(34, 2 + 11.5 * i, 6, 10, "a", 1 if i == 2 else 0.3, 1) for i in range(6))
    return cells + keys + rows


def growing_cache() -> str:
    """Draw a cache that grows by one column a token, and the newest token that asks it."""
    rows = "".join(
        box(30 + 14 * j, 6 + 15 * i, 12, 10, "a" if j == i + 2 else "b", 1 if j == i + 2 else 0.55)
        for i in range(4)
        for j in range(i + 3)
    )
    return rows + "".join(dot(14, 11 + 15 * i, 4, "ink") for i in range(4))


def shared_heads() -> str:
    """Draw two processes with two heads each, and the one bar where their parts are added."""
    frames = box(14, 4, 60, 38, "line", round=4) + box(86, 4, 60, 38, "line", round=4)
    heads = "".join(
        box(x, 11, 20, 24, kind, strength)
        for x, kind, strength in ((21, "a", 1), (47, "a", 0.55), (93, "b", 1), (119, "b", 0.55))
    )
    down = "".join(path(f"M{x} 42V58", "ink") for x in (44, 116))
    return frames + heads + down + box(14, 58, 132, 10, "ink")


def real_heads() -> str:
    """Draw 72 heads: how much each gives to the next word (blue) and the one before (orange)."""
    return "".join(
        dot(14 + 12 * h, 6 + 12 * block, 1.6 + 4.2 * math.sqrt(max(ahead, back)), kind, faint)
        for block, heads in enumerate(hero.read()["neighbours"])
        for h, (ahead, back) in enumerate(heads)
        for kind, faint in [("a" if ahead > back else "b", min(1, 0.25 + 1.5 * max(ahead, back)))]
    )


def crossing() -> str:
    """Draw two curves over a growing number of labels; the one that starts lower ends higher."""
    pretrained = path("M12 44C40 20 70 15 148 13", "a", 3)
    counted = path("M12 62C44 20 74 11 148 6", "b", 3)
    labels = "".join(
        box(x, 66, w, 4, "ink", 1, 1) for x, w in ((12, 3), (38, 8), (72, 18), (116, 32))
    )
    return pretrained + counted + dot(12, 44, 4, "a") + dot(12, 62, 4, "b") + labels


def two_towers() -> str:
    """Draw an encoder and a decoder, and the lines by which one asks the other."""
    sides = "".join(box(22, y, 36, 14, "a") + box(102, y, 36, 14, "b") for y in (8, 29, 50))
    return "".join(path(f"M102 {y}C84 {y} 78 15 60 15", "b", 2, 0.7) for y in (15, 36, 57)) + sides


def next_token() -> str:
    """Draw a line of tokens that grows, and the bars of the next one, of which one is drawn."""
    text = "".join(box(8 + 17 * i, 54, 13, 10, "a", 0.4 + 0.12 * i) for i in range(5))
    chances = (0.35, 1.0, 0.55, 0.2)
    rows = "".join(
        box(100, 6 + 12 * i, 52 * p, 9, "b" if i == 2 else "ink", 1 if i == 2 else 0.45)
        for i, p in enumerate(chances)
    )
    return text + rows + path("M97 34C88 34 99 59 97 59", "b", 2) + box(93, 54, 13, 10, "b")


def four_alike() -> str:
    """Draw one small matrix four times, with a sign that they are equal."""
    one = (0.9, 0.3, 0.5, 0.2, 0.8, 0.4, 0.6, 0.3, 1.0)
    drawn = "".join(
        box(8 + 40 * n + 8.5 * (i % 3), 24 + 8.5 * (i // 3), 7.5, 7.5, "ab"[n % 2], w, 1)
        for n in range(4)
        for i, w in enumerate(one)
    )
    return drawn + "".join(
        path(f"M{35.5 + 40 * n} 33H{44 + 40 * n}m-8.5 6h8.5", "ink", 2) for n in range(3)
    )


def hills() -> str:
    """Draw a straight line, highest at its end, and a hill with its top in the middle."""
    straight = path("M10 60L70 14", "a", 3) + dot(70, 14, 5, "a")
    hill = path("M90 60C108 60 106 14 120 14S132 60 150 60", "b", 3) + dot(120, 14, 5, "b")
    return straight + hill


def shuffled() -> str:
    """Draw words in their order, and below them the same words in another."""
    places = (2, 0, 4, 1, 3)
    top = "".join(box(10 + 29 * i, 8, 22, 12, "a", 1 - 0.17 * i) for i in range(5))
    below = "".join(box(10 + 29 * p, 52, 22, 12, "b", 1 - 0.17 * i) for i, p in enumerate(places))
    lines = "".join(
        path(f"M{21 + 29 * i} 22L{21 + 29 * p} 50", "ink") for i, p in enumerate(places)
    )
    return lines + top + below


def cut_out() -> str:
    """Draw eight heads of which four are cut out, and the four that stay, side by side."""
    kept = {1, 4, 5, 7}
    above = "".join(
        box(18 + 16 * h, 6, 12, 26, "ab"[h % 2] if h in kept else "line", 1, 1) for h in range(8)
    )
    below = "".join(box(50 + 16 * i, 42, 12, 26, "ab"[h % 2]) for i, h in enumerate(sorted(kept)))
    return above + below


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
    "what-heads-cost": (cuts, "A square cut into one, two and four heads: the area stays"),
    "positional-encoding": (waves, "A slow wave and a fast one over numbered places"),
    "bbc-news-classifier": (article, "An article with marked words, and bars for five subjects"),
    "reading-attention": (reading, "A heat map of weights under a lens"),
    "how-wide-is-a-head": (widths, "Four narrow heads side by side, and two wide ones"),
    "fast-attention": (cheaper, "Five bars: the time of a step falls with each change"),
    "long-sequences": (tiles, "A matrix of weights of which one tile is computed"),
    "decoding": (growing_cache, "Four steps; each reads one column more and adds its own"),
    "many-processes": (shared_heads, "Two processes with two heads each, and one sum below"),
    "real-weights": (real_heads, "72 heads as dots: larger where more goes to a neighbour"),
    "what-is-pretraining-worth": (
        crossing,
        "Two curves that cross: the one that starts lower wins",
    ),
    "encoder-decoder": (two_towers, "Three blocks that read, and three that ask them and write"),
    "a-model-that-writes": (next_token, "A row of tokens, and four bars, one of which comes next"),
    "four-libraries": (four_alike, "One small matrix four times, with signs of equality"),
    "other-ways-to-score": (hills, "A straight line, highest at its end, beside a hill"),
    "order-and-the-news": (shuffled, "Five words in order, and the same five in another"),
    "which-heads-can-go": (cut_out, "Eight heads, four of them cut out, and the four that stay"),
}
PLAIN: tuple[Draw, str] = (plain, "Two heads over five tokens")


def picture(docname: str, name: str) -> str:
    """Draw the picture of a chapter, named by its file without suffix, as SVG with this id."""
    draw, alt = PICTURES.get(re.sub(r"^.*/(A?\d+-)?", "", docname), PLAIN)
    return (
        f'<svg id="{name}" viewBox="0 0 {WIDTH} {HEIGHT}" role="img" aria-label="{alt}">'
        f"{draw()}</svg>"
    )
