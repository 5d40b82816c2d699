"""Fetching: a dictionary that opens one door or several, and couriers that bring guests' cards."""

from __future__ import annotations

from collections.abc import Sequence

from matplotlib.axes import Axes
from matplotlib.patches import Circle
from torch import Tensor

from utils.figures.drawings.canvas import TEXT, THIN, Block, Picture, both, shorten, text_width
from utils.figures.drawings.primitives import box, link, paper, write
from utils.figures.palette import HEAD_COLOURS, NEUTRAL, NOTE, PAPER


def draw_couriers(guests: Sequence[str] = "ABCDEF", asked: Sequence[str] = ("A", "D")) -> Picture:
    """Draw two guests' cards carried by one courier, mixed, and by two, apart.

    Parameters
    ----------
    guests : names, one or two letters each
    asked : the two guests whose cards are wanted

    Raises
    ------
    ValueError
        if `asked` is not two different guests
    """
    first, second = (*asked, "", "")[:2]
    if len(asked) != 2 or first == second or not {first, second} <= set(guests):
        raise ValueError(f"asked must be two different ones of the guests, not {tuple(asked)}.")
    places = [list(guests).index(name) for name in (first, second)]

    def draw(axes: Axes, narrow: bool) -> None:
        pitch = min(44.0, 270.0 / max(len(guests) - 1, 1))
        for heads in (1, 2):
            left = 0.0 if narrow or heads == 1 else 330.0
            top = 0.0 if not narrow or heads == 1 else 216.0
            _couriers(axes, left, top, guests, places, heads, pitch)

    return both(
        draw,
        f"Of the guests {', '.join(guests)}, the cards of {first} and {second} are wanted. One "
        f"head brings one bag with half of {first}'s card and half of {second}'s, mixed; two heads "
        f"bring two bags, {first}'s card and {second}'s, apart.",
    )


def _couriers(
    axes: Axes,
    left: float,
    top: float,
    guests: Sequence[str],
    places: Sequence[int],
    heads: int,
    pitch: float,
) -> None:
    """One half of the picture: the guests, and one courier or two."""
    middle = left + pitch * (len(guests) - 1) / 2
    title = "One head: one courier" if heads == 1 else "Two heads: two couriers"
    write(axes, (middle, top), title, size=TEXT, bold=True)
    y, radius = top + 34, min(15.0, 0.42 * pitch)
    for n, name in enumerate(guests):
        x = left + n * pitch
        colour = HEAD_COLOURS[places.index(n)] if n in places else NEUTRAL
        fill = {"fc": (colour, 0.3), "ec": colour, "lw": THIN, "label": "guest"}
        axes.add_patch(Circle((x, y), radius, clip_on=False, **fill))
        write(axes, (x, y), name, size=TEXT, bold=n in places)
    bag, down = 96.0, top + 128
    for h, place in enumerate(places):
        x = left + place * pitch
        # One bag takes both: its two strings come in side by side.
        aim = middle + (12.0 if heads == 1 else (bag + 8) / 2) * (2 * h - 1)
        link(axes, (x, y + radius + 3), (aim, down - 2), ((0, 40), (0, -34)), 0.75, HEAD_COLOURS[h])
    if heads == 1:
        _mixed(axes, Block(middle - bag / 2, down, middle + bag / 2, down + 28))
        says = f"½ {guests[places[0]]} + ½ {guests[places[1]]}: nobody can take them apart"
    else:
        for h, place in enumerate(places):
            start = middle + (-bag - 4 if h == 0 else 4)
            at = Block(start, down, start + bag, down + 28)
            box(axes, at, f"card of {guests[place]}", colour=HEAD_COLOURS[h], alpha=0.3)
            box(axes, at, colour=PAPER, alpha=0, edge=HEAD_COLOURS[h], kind="bag")
        says = f"{guests[places[0]]}'s card, then {guests[places[1]]}'s"
    write(axes, (middle, down + 46), says, colour=NOTE)


def _mixed(axes: Axes, at: Block) -> None:
    """A bag in which two colours lie over each other."""
    for colour in HEAD_COLOURS[:2]:
        box(axes, at, colour=colour, alpha=0.3)
    box(axes, at, "mixed", colour=PAPER, alpha=0, edge=NEUTRAL, kind="bag")


def draw_lookup(
    query: str,
    keys: Sequence[str],
    values: Sequence[str],
    weights: Tensor,
    *,
    exact: str = "",
    answer: str = "",
    titles: tuple[str, str] = ("A dictionary", "Attention"),
) -> Picture:
    """Draw a dictionary that gives one value, beside one that gives a weighted average.

    Parameters
    ----------
    keys, values : S names each
    weights : Tensor of shape (S,), none negative: what a softmax gives the keys
    exact : str, the key that the dictionary is asked for; without it `query`, whose best key it
        is then said to follow
    answer : str, the weighted average; with it both halves show how much of each value is taken,
        and what comes out

    Raises
    ------
    ValueError
        if there are not as many keys, values and weights, or `exact` is none of the keys
    """
    S = len(keys)
    if not S or len(values) != S or tuple(weights.shape) != (S,):
        raise ValueError(
            f"{S} keys, {len(values)} values and weights of shape {tuple(weights.shape)} do not "
            f"fit; give one of each a key."
        )
    if exact and exact not in keys:
        raise ValueError(f"a dictionary with the keys {', '.join(keys)} has no {exact}.")
    shares = [float(weight) for weight in weights]
    best = list(keys).index(exact) if exact else max(range(S), key=shares.__getitem__)
    rows = [[float(n == best) for n in range(S)], shares]
    asked, answers = (exact or query, query), (values[best], answer) if answer else ("", "")

    def draw(axes: Axes, narrow: bool) -> None:
        for n, row in enumerate(rows):
            left = 0.0 if narrow or n == 0 else 326.0
            top = 0.0 if not narrow or n == 0 else 40.0 * S + (74 if answer else 46)
            _lookup(axes, left, top, (titles[n], asked[n], answers[n]), keys, values, row)

    words = [f"{key} {share:.2f}" for key, share in zip(keys, shares, strict=True)]
    return both(
        draw,
        f"A dictionary asked for {asked[0]} follows one arrow, to {keys[best]}, and gives "
        f"{values[best]}; attention{f', asked for {query},' if exact else ''} follows {S} arrows, "
        f"with the weights {', '.join(words)}, and gives the average of the values"
        f"{f', {answer}' if answer else ''}.",
    )


def _lookup(
    axes: Axes,
    left: float,
    top: float,
    words: tuple[str, str, str],
    keys: Sequence[str],
    values: Sequence[str],
    weights: Sequence[float],
) -> None:
    """One half of the picture: a query, arrows to the keys, and their values."""
    title, query, answer = words
    write(axes, (left + 145, top), title, size=TEXT, bold=True)
    middle = top + 22 + 20 * len(keys)
    wide = min(max(text_width(query) + 18, 50.0), 84.0)
    asks = Block(left, middle - 15, left + wide, middle + 15)
    box(axes, asks, shorten(query, wide - 8), colour=HEAD_COLOURS[0], edge=HEAD_COLOURS[0])
    for n, weight in enumerate(weights):
        y = top + 42 + 40 * n
        key = Block(left + 150, y - 15, left + 212, y + 15)
        paper(axes, key)
        box(axes, key, shorten(keys[n], 56), colour=NEUTRAL, alpha=0.2)
        value = Block(left + 216, y - 15, left + 290, y + 15)
        box(axes, value, colour=HEAD_COLOURS[0], alpha=0.04 + 0.5 * weight)
        share = f"{weight:.2f}".removesuffix(".00")
        text = f"{share} · {values[n]}" if answer else values[n]
        write(axes, (left + 253, y), shorten(text, 70))
        if weight >= 0.005:
            x = left + wide + 3
            arms = ((34.0, 0.0), (-30.0, 0.0))
            link(axes, (x, middle), (left + 146, y), arms, weight, HEAD_COLOURS[0])
    if answer:
        low = top + 42 + 40 * len(keys)
        write(axes, (left + 253, low - 6), f"= {answer}", size=TEXT, bold=True)
