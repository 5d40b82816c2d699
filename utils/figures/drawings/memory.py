"""What attention carries along from tile to tile: three numbers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from matplotlib.axes import Axes
from torch import Tensor

from utils.figures.drawings.canvas import (
    Block,
    Picture,
    both,
)
from utils.figures.drawings.primitives import arrow, box, write
from utils.figures.palette import HEAD_COLOURS, NEUTRAL, NOTE

CARD, HIGH = 108.0, 24.0  # width of a card, height of a line of cells


class _Carried(NamedTuple):
    """What is known after a tile, and by how much what was known before has shrunk."""

    maximum: float
    total: float
    average: float
    shrunk: float


def draw_tiles(scores: Tensor, values: Tensor, tile: int) -> Picture:
    """Draw one query's walk over its keys, tile by tile, with all that it carries along.

    Parameters
    ----------
    scores, values : Tensors of shape (S,), S at most 12
    tile : int, how many keys are read at once

    Raises
    ------
    ValueError
        if the two are not equally long, there are none or too many, or the tile is empty
    """
    S = len(scores)
    if scores.shape != values.shape or scores.dim() != 1 or not 1 <= S <= 12:
        raise ValueError(
            f"scores of shape {tuple(scores.shape)} and values of shape {tuple(values.shape)} "
            "cannot be drawn; give one score and one value for each of 1 to 12 keys."
        )
    if tile < 1:
        raise ValueError(f"a tile holds at least one key, not {tile}.")
    parts = [slice(start, min(start + tile, S)) for start in range(0, S, tile)]
    carried = _walk(scores.double(), values.double(), parts)

    def draw(axes: Axes, narrow: bool) -> None:
        cell = min(38.0, (331 - CARD - 90) / tile) if narrow else min(38.0, (619 - 60) / S - 3)
        x, y, before = 0.0, 0.0, Block(0, 0, 0, 0)
        for n, (part, known) in enumerate(zip(parts, carried, strict=True)):
            wide = (part.stop - part.start) * cell
            rows = (scores[part].tolist(), values[part].tolist())
            for row, (name, numbers) in enumerate(zip(("scores", "values"), rows, strict=True)):
                if n == 0 or narrow:
                    write(axes, (x - 8, y + (row + 0.5) * HIGH), name, colour=NOTE, align="right")
                for j, number in enumerate(numbers):
                    left, top = x + j * cell, y + row * HIGH
                    place = Block(left + 1, top + 1, left + cell - 1, top + HIGH - 1)
                    shade, alpha = (HEAD_COLOURS[0], 0.3) if row == 0 else (NEUTRAL, 0.2)
                    text = f"{number:.1f}".replace("-", "−") if cell >= 28 else ""
                    box(axes, place, text, colour=shade, alpha=alpha, radius=3, kind="cell")
            if narrow:
                card = _card(axes, x + tile * cell + 34, y - 6, known)
                arrow(axes, (x + wide + 4, y + HIGH), (card.left, y + HIGH))
                if n:
                    start = (card.south[0], card.top - 32)
                    arrow(axes, start, card.north, f"× {known.shrunk:.2f}")
                y += 92
            else:
                middle = x + max(wide, CARD) / 2 if n else x + wide / 2
                card = _card(axes, middle - CARD / 2, 2 * HIGH + 30, known)
                arrow(axes, (card.north[0], 2 * HIGH + 2), card.north)
                if n:
                    start = (before.right, card.east[1])
                    arrow(axes, start, card.west, f"× {known.shrunk:.2f}")
                before = card
                x += max(wide + 10, CARD + 54)

    last = carried[-1]
    steps = "; ".join(f"{c.maximum:.2f}, {c.total:.2f}, {c.average:.2f}" for c in carried)
    return both(
        draw,
        f"One query reads {S} keys in {len(parts)} tiles and carries three numbers along: the "
        f"maximum, the sum and the average. After each tile: {steps}. What was known before is "
        f"shrunk where the maximum rises; the last average, {last.average:.2f}, is that of a "
        "softmax over all keys.",
    )


def _walk(scores: Tensor, values: Tensor, parts: Sequence[slice]) -> list[_Carried]:
    """The online softmax of one query: maximum, sum, average after each part."""
    known = [_Carried(-float("inf"), 0.0, 0.0, 0.0)]
    for part in parts:
        before = known[-1]
        maximum = max(before.maximum, scores[part].max().item())
        shrunk = float(scores.new_tensor(before.maximum - maximum).exp())
        weights = (scores[part] - maximum).exp()
        total = before.total * shrunk + weights.sum().item()
        whole = before.average * before.total * shrunk + (weights * values[part]).sum().item()
        known.append(_Carried(maximum, total, whole / total, shrunk))
    return known[1:]


def _card(axes: Axes, left: float, top: float, known: _Carried) -> Block:
    """The three numbers that are carried from tile to tile."""
    place = Block(left, top, left + CARD, top + 60)
    box(axes, place, colour=HEAD_COLOURS[0], alpha=0.06, edge=HEAD_COLOURS[0], kind="card")
    for n, (name, number) in enumerate(zip(_Carried._fields[:3], known[:3], strict=True)):
        name = "sum" if name == "total" else name
        y = top + 13 + 17 * n
        write(axes, (left + 9, y), name, colour=NOTE, align="left")
        text = f"{number:.2f}".replace("-", "−")
        write(axes, (place.right - 9, y), text, bold=name == "average", align="right")
    return place
