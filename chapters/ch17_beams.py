"""A beam search as a tree: what was kept at each step, what was dropped, what has ended."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from matplotlib.axes import Axes

from utils.figures import NARROW, WIDE, DescribedFigure, box, draw_twice, text_width, write
from utils.palette import INK, NEUTRAL, NOTE, PALE, PALETTE

STEP = 46.0  # from one token of a text down to the next
LOOKS = {"kept": PALETTE[0], "dropped": NEUTRAL, "ended": PALETTE[0], "best": PALETTE[1]}

Text = tuple[str, ...]


def draw_beams(beginnings: Mapping[Text, tuple[float, str]], caption: str) -> DescribedFigure:
    """Draw every beginning that a beam search had in hand, each below the one it goes on from.

    Parameters
    ----------
    beginnings : from the tokens of a beginning to its probability and what became of it: "kept",
        "dropped", "ended", or "best" for the text that is the answer

    Raises
    ------
    ValueError
        if there is none, a fate has another name, or what a beginning goes on from is missing
    """
    if not beginnings or {fate for _, fate in beginnings.values()} - {*LOOKS}:
        raise ValueError(f"each beginning needs a probability and one of {sorted(LOOKS)}.")
    if any(text[:-1] and text[:-1] not in beginnings for text in beginnings):
        raise ValueError("what a beginning goes on from is missing.")
    columns = _columns(beginnings)
    count = max(columns.values()) + 1
    answer: Sequence[str] = next((t for t, (_, fate) in beginnings.items() if fate == "best"), ())

    def draw(axes: Axes, narrow: bool) -> None:
        room = 72 * (NARROW if narrow else WIDE)
        apart = min((room - 90) / max(count - 1, 1), 130.0)
        at = {text: (column * apart, STEP * len(text)) for text, column in columns.items()}
        at[()] = (sum(x for x, _ in at.values()) / len(at), 0.0)
        for text in beginnings:
            (x0, y0), (x1, y1) = at[text[:-1]], at[text]
            best = tuple(answer[: len(text)]) == text
            colour, width = (PALETTE[1], 2.6) if best else (NOTE, 1.2)
            ends = [x0, x1], [y0 + 17, y1 - 13]
            axes.plot(*ends, color=colour, lw=width, clip_on=False, zorder=0.5)
        write(axes, at[()], "begin", colour=NOTE)
        for text, (probability, fate) in beginnings.items():
            x, y = at[text]
            half = max(text_width(text[-1]), 28.0) / 2 + 6
            colour = LOOKS["best" if tuple(answer[: len(text)]) == text else fate]
            place = (x - half, y - 13, x + half, y + 17)
            lost = fate == "dropped"
            fill, edge = (PALE, "none") if lost else (colour, colour)
            box(axes, place, colour=fill, edge=edge)
            write(axes, (x, y - 4), text[-1], bold=not lost, colour=NOTE if lost else INK)
            write(axes, (x, y + 9), f"{probability:.2f}", colour=NOTE if lost else INK)

    told = [f"{' '.join(t)}: {p:.2f}, {fate}" for t, (p, fate) in beginnings.items()]
    alt = f"A tree of beginnings with their probabilities. {'; '.join(told)}."
    return draw_twice(draw, alt, caption)


def _columns(beginnings: Mapping[Text, tuple[float, str]]) -> dict[Text, float]:
    """A column for each leaf, from left to right; a parent stands in the middle of its children."""
    columns: dict[Text, float] = {}

    def place(text: Text, free: float) -> float:
        children = [t for t in beginnings if len(t) == len(text) + 1 and t[:-1] == text]
        if not children:
            columns[text] = free
            return free + 1
        for child in children:
            free = place(child, free)
        if text:
            columns[text] = (columns[children[0]] + columns[children[-1]]) / 2
        return free

    place((), 0.0)
    return columns
