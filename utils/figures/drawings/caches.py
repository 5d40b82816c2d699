"""What is kept while a text is written: a cache that grows, and the heads that share one."""

from __future__ import annotations

from collections.abc import Sequence

from matplotlib.axes import Axes
from matplotlib.patches import Circle

from utils.figures.drawings.canvas import (
    TEXT,
    THIN,
    Block,
    Picture,
    both,
    shorten,
)
from utils.figures.drawings.primitives import arrow, box, colours_of_heads, line, write
from utils.figures.palette import INK, NEUTRAL, NOTE, PALETTE

ROW = 15.0  # height of a key, and of a value
KINDS = ("multi-head", "grouped-query", "multi-query", "latent")


def draw_cache(prompt: Sequence[str], written: Sequence[str]) -> Picture:
    """Draw a prompt that is read in one pass, then a pass for each token that is written.

    Each pass reads all weights and every column of the cache, and adds the columns of its tokens.

    Parameters
    ----------
    prompt : the tokens that are known
    written : the tokens that the passes give, one each

    Raises
    ------
    ValueError
        if there is no prompt, nothing is written, or there are more than 6 tokens together
    """
    if not prompt or not written or len(prompt) + len(written) > 6:
        raise ValueError(
            f"{len(prompt)} tokens of a prompt and {len(written)} written ones cannot be drawn; "
            "give at least one of each, and at most 6 together."
        )
    tokens = [*prompt, *written]
    longest = len(tokens) - 1  # the last token is written, and not read any more

    def draw(axes: Axes, narrow: bool) -> None:
        left, weights = (0.0, 76.0) if narrow else (78.0, 110.0)
        right = 331.0 if narrow else 619.0
        start = left + weights + 10
        wide = min(58.0, (right - 70 - start) / longest)
        y = 0.0
        for step in range(len(written)):
            known, new = len(prompt) + step, len(prompt) if step == 0 else 1
            name = "decode" if step else "prefill"
            at = (left, y) if narrow else (0.0, y + 20 + ROW)
            write(axes, at, name, size=TEXT, bold=True, align="left")
            y += 16 if narrow else 0
            for column, token in enumerate(tokens[:known]):
                place = start + column * wide
                fresh = column >= known - new
                colour = INK if fresh else NOTE
                text = shorten(token, wide - 4, bold=fresh)
                write(axes, (place + wide / 2, y + 8), text, bold=fresh, colour=colour)
                _column(axes, place, y + 20, wide, new=fresh)
            box(
                axes,
                Block(left, y + 20, left + weights, y + 20 + 2 * ROW),
                "all weights",
                colour=PALETTE[4],
                kind="weights",
            )
            end = start + known * wide
            arrow(axes, (end + 2, y + 20 + ROW), (end + 24, y + 20 + ROW))
            text = shorten(tokens[known], right - end - 34, bold=True)
            write(axes, (end + 28, y + 20 + ROW), text, bold=True, align="left")
            y += 70
        y += 2
        for text, shift, new in (("key and value, read", 0, False), ("written", 140, True)):
            spot = Block(left + shift, y - 5, left + shift + 10, y + 5)
            _cell(axes, spot, new=new, kind="spot")
            write(axes, (left + shift + 16, y), text, colour=NOTE, align="left")

    return both(
        draw,
        f"In the prefill one pass reads all weights, writes the keys and values of "
        f"{len(prompt)} tokens, {', '.join(prompt)}, and gives the token {written[0]}. Each pass "
        f"of decoding reads all weights again, and all columns of the cache, adds the one of the "
        f"newest token and gives one token more: {', '.join(written[1:]) or 'none here'}.",
    )


def _cell(axes: Axes, place: Block, *, new: bool, kind: str = "") -> None:
    shade, alpha = (INK, 0.75) if new else (NEUTRAL, 0.4)
    kind = kind or ("new" if new else "kept")
    box(axes, place, colour=shade, alpha=alpha, radius=2, kind=kind)


def _column(axes: Axes, left: float, top: float, wide: float, *, new: bool) -> None:
    """The key of a token, and below it its value."""
    for row in (0, 1):
        y = top + ROW * row
        _cell(axes, Block(left + 1, y + 1, left + wide - 1, y + ROW - 1), new=new)


def draw_sharing(num_heads: int = 4, num_groups: int = 2) -> Picture:
    """Draw what the heads of a layer read: caches of their own, shared ones, one, latent vectors.

    Parameters
    ----------
    num_heads : int, 1 to 6
    num_groups : int, how many caches the heads share in equal parts where they are grouped

    Raises
    ------
    ValueError
        if the groups do not share out the heads in equal parts
    """
    colours = colours_of_heads(num_heads)
    if num_groups < 1 or num_heads % num_groups:
        raise ValueError(f"{num_groups} groups do not share out {num_heads} heads in equal parts.")
    caches = (num_heads, num_groups, 1, 1)

    def draw(axes: Axes, narrow: bool) -> None:
        for n, (kind, count) in enumerate(zip(KINDS, caches, strict=True)):
            left, top = (172.0 * (n % 2), 172.0 * (n // 2)) if narrow else (158.0 * n, 0.0)
            _reading(axes, left, top, colours, count, kind)

    return both(
        draw,
        f"Four layers of {num_heads} heads. Multi-head: {num_heads} caches of keys and values, one "
        f"for each head. Grouped-query: {num_groups}, each read by {num_heads // num_groups}. "
        "Multi-query: one, read by all. Latent: one row of vectors, read by all, with no keys and "
        "values apart.",
    )


def _reading(
    axes: Axes, left: float, top: float, colours: list[str], count: int, kind: str
) -> None:
    """The heads in a line, and below them the caches that they read."""
    H, room, columns = len(colours), 144.0, 3
    pitch, part = room / H, room / count
    wide = min(13.0, (part - 6) / columns)
    write(axes, (left + room / 2, top), kind, size=TEXT, bold=True)
    for group in range(count):
        start = left + part * (group + 0.5) - wide * columns / 2
        for column in range(columns):
            x, new = start + column * wide, column == columns - 1
            if kind == "latent":
                _cell(axes, Block(x + 1, top + 99, x + wide - 1, top + 119), new=new)
            else:
                _column(axes, x, top + 94, wide, new=new)
    for head, colour in enumerate(colours):
        x = left + pitch * (head + 0.5)
        middle = left + part * (head * count // H + 0.5)
        line(axes, [(x, top + 42), (middle, top + 91)], width=2.5, colour=colour)
        fill = {"fc": (colour, 0.3), "ec": colour, "lw": THIN, "label": "head"}
        axes.add_patch(Circle((x, top + 30), 12, clip_on=False, **fill))
        write(axes, (x, top + 30), str(head), size=TEXT)
    said = "latent vectors" if kind == "latent" else f"key head{'s' * (count > 1)}"
    text = said if kind == "latent" else f"{count} {said}"
    write(axes, (left + room / 2, top + 138), text, colour=NOTE)
