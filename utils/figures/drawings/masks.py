"""Masks in both conventions, and the way from scores through a mask to weights."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from matplotlib.axes import Axes
from torch import Tensor

from utils.figures.drawings.canvas import Block, Picture, Point, both, text_width
from utils.figures.drawings.primitives import arrow, box, write
from utils.figures.drawings.tensors import grid
from utils.figures.palette import HEAD_COLOURS, INK, NEUTRAL, NOTE

STAMPS = ("True = may attend", "True = blocked")
USERS = ("scaled_dot_product_attention", "nn.MultiheadAttention")


def draw_mask(
    allowed: Tensor, queries: Sequence[str], keys: Sequence[str], colour: str = HEAD_COLOURS[0]
) -> Picture:
    """Draw one mask twice, as each of PyTorch's two conventions writes it.

    Parameters
    ----------
    allowed : bool Tensor of shape (T, S), True where a query may attend to a key
    queries, keys : T and S names

    Raises
    ------
    ValueError
        if the names do not fit the shape of the mask, it is not one of bools, or it has more than
        12 rows or columns
    """
    _check("mask", allowed, queries, keys)
    if allowed.dtype != torch.bool:
        raise ValueError(f"the mask must be of bools, not {allowed.dtype}.")
    if max(allowed.shape) > 12:
        raise ValueError(f"a mask of {tuple(allowed.shape)} is too large to be read; 12 by 12 fit.")

    def draw(axes: Axes, narrow: bool) -> None:
        margin, room = _margin(queries), 275 if not narrow else 300
        cell = _cell(room - margin, len(keys))
        words = ("True", "False") if cell[0] >= 34 else ("T", "F")
        below, left = 0.0, 0.0
        for convention, (stamp, user) in enumerate(zip(STAMPS, USERS, strict=True)):
            wide = text_width(stamp, 12, True) + 24
            box(axes, Block(left, below, left + wide, below + 24), edge=INK, colour=NEUTRAL)
            write(axes, (left + wide / 2, below + 12), stamp, size=12, bold=True)
            write(axes, (left, below + 38), user, colour=NOTE, align="left")
            shown = allowed if convention == 0 else ~allowed
            block = grid(
                axes,
                (left, below + 50),
                [[words[0] if is_true else words[1] for is_true in row] for row in shown.tolist()],
                (0.5 * allowed.double()).tolist(),
                rows=queries,
                columns=keys,
                colour=colour,
                cell=cell,
                margin=margin,
                blocked=(~allowed).tolist(),
            )
            if narrow:
                below = block.bottom + 24
            else:
                left = max(block.right, left + wide, left + text_width(user)) + 40

    pairs = int(allowed.sum())
    return both(
        draw,
        f"A mask of {len(queries)} queries by {len(keys)} keys that lets through {pairs} of "
        f"{allowed.numel()} pairs, written twice: where {USERS[0]} has True for a pair that may "
        f"attend, {USERS[1]} has True for a pair that is blocked.",
    )


def draw_scores_to_weights(
    scores: Tensor,
    allowed: Tensor,
    queries: Sequence[str],
    keys: Sequence[str],
    colour: str = HEAD_COLOURS[0],
) -> Picture:
    """Draw scores, the same with minus infinity where the mask forbids, and their softmax.

    A row in which nothing is allowed has the weights that a softmax gives it: NaN.

    Parameters
    ----------
    scores : Tensor of shape (T, S)
    allowed : bool Tensor of shape (T, S), True where a query may attend to a key
    queries, keys : T and S names

    Raises
    ------
    ValueError
        if the names or the mask do not fit the shape of the scores
    """
    _check("scores", scores, queries, keys)
    _check("mask", allowed, queries, keys)
    scores = scores.detach().double()
    masked = scores.masked_fill(~allowed, -torch.inf)
    weights = masked.softmax(dim=-1)
    span = (scores.max() - scores.min()).clamp(min=1e-12)
    tints = ((scores - scores.min()) / span).masked_fill(~scores.isfinite(), 0)
    stages = [("scores", scores, tints), ("masked scores", masked, tints)]
    stages.append(("weights", weights, weights.nan_to_num(0)))

    def draw(axes: Axes, narrow: bool) -> None:
        margin = _margin(queries)
        first = 300 - margin if narrow else (619 - 2 * 64 - margin) / 3 - 4
        cell = _cell(first, len(keys))
        at: Point = (0.0, 0.0)
        for n, (label, numbers, strengths) in enumerate(stages):
            wide_rows = narrow or n == 0  # beside each other, the rows are named once
            block = grid(
                axes,
                at,
                _numbers(numbers.tolist(), cell[0]),
                strengths.tolist(),
                rows=queries if wide_rows else [""] * len(queries),
                columns=keys,
                colour=colour,
                cell=cell,
                margin=margin if wide_rows else 0,
                label=label,
                blocked=None if n == 0 else (~allowed).tolist(),
            )
            step = ("mask", "softmax", "")[n]
            if narrow and step:
                x, y = block.south
                arrow(axes, (x, y + 6), (x, y + 40), step)
                at = (0.0, y + 44)
            elif step:
                x, y = block.east
                arrow(axes, (x + 5, y), (x + 59, y), step)
                at = (x + 64, 0.0)

    rows = [
        f"{query} attends to {_largest(row, keys)}"
        for query, row in zip(queries, weights.tolist(), strict=True)
    ]
    return both(
        draw,
        f"Three grids of {len(queries)} queries by {len(keys)} keys: scores, the scores with minus "
        f"infinity at the {int((~allowed).sum())} blocked pairs, and the weights that a softmax "
        f"over each row makes of them: {'; '.join(rows)}.",
    )


def _check(what: str, given: Tensor, queries: Sequence[str], keys: Sequence[str]) -> None:
    if tuple(given.shape) != (len(queries), len(keys)) or not given.numel():
        raise ValueError(
            f"the {what} of shape {tuple(given.shape)} do not fit {len(queries)} queries and "
            f"{len(keys)} keys; expected ({len(queries)}, {len(keys)}), with at least one of each."
        )


def _margin(queries: Sequence[str]) -> float:
    """The place for the names of the rows."""
    return min(max(map(text_width, queries)), 80) + 10


def _cell(room: float, columns: int) -> Point:
    """Width and height of a cell, so that the columns fit into the room."""
    wide = min(room / columns, 44)
    return wide, min(max(wide, 12), 28)


def _numbers(rows: Sequence[Sequence[float]], room: float) -> list[list[str]]:
    """Numbers with as many digits, the same for all, as fit into their cells; or none."""
    for digits in (2, 1, 0):
        texts = [[_number(number, digits) for number in row] for row in rows]
        if max(text_width(text) for row in texts for text in row) <= room - 7:
            return texts
    return [[""] * len(row) for row in rows]


def _number(number: float, digits: int) -> str:
    if number != number:
        return "NaN"
    if number in (torch.inf, -torch.inf):
        return "−∞" if number < 0 else "∞"
    return f"{number:.{digits}f}".replace("-", "−")


def _largest(row: Sequence[float], keys: Sequence[str]) -> str:
    """The key of the largest weight, in words."""
    if any(weight != weight for weight in row):
        return "nothing, its weights are NaN"
    best = max(range(len(row)), key=row.__getitem__)
    return f"{keys[best]} with {row[best]:.2f}"
