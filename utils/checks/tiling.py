"""Checks of chapter 12, first half: the online softmax, one tile of attention, tiles to visit.

Shapes: rows queries and n keys in a tile.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from utils.checks.comparing import FaultError, as_number, call, check, compare, require_parts

LOWEST = torch.finfo(torch.float32).min  # the largest score before any was read


@check
def online_step(function: Callable[..., Any]) -> None:
    """Check ``function(top, total, scores)``: one step of the online softmax.

    ``top`` and ``total`` are (rows, 1), ``scores`` is (rows, n) and may hold -inf. The result is
    the new ``top`` and the new ``total``, both (rows, 1).
    """
    for n, start in [(5, True), (4, False), (3, False), (1, False)]:
        scores = 2 * torch.randn(3, n, generator=torch.Generator().manual_seed(n))
        if start:  # a query may see nothing in the first tile
            scores[0], scores[1, 0] = -math.inf, -math.inf
        top, total = _read_so_far(scores, start)
        result = call(function, top.clone(), total.clone(), scores.clone())
        require_parts(result, 2, "two tensors: top and total")
        largest = scores.amax(dim=-1, keepdim=True)
        right = torch.maximum(top, largest)
        mistakes = {
            "top is the old one; the tile may hold a larger score.": top,
            "top is the largest score of the tile alone; the old top counts as well.": largest,
            "top is the largest of all rows; each row has its own.": right.max().expand(3, 1),
            "top has lost its last dimension; keepdim=True keeps it.": right.squeeze(-1),
        }
        compare(result[0], right, "the new top", mistakes)
        new = (scores - right).exp().sum(dim=-1, keepdim=True)
        down = (top - right).exp()
        own = (scores - largest.clamp(min=LOWEST)).exp().sum(dim=-1, keepdim=True)
        mistakes = {
            "the old total is not rescaled to the new top.": total + new,
            "the old total is rescaled the wrong way round.": total / down + new,
            "the old total is missing.": new,
            "the scores of the tile are measured from their own largest one.": total * down + own,
            "the scores of the tile are measured from the old top.": total * down + new / down,
            "the new part is rescaled too; it is measured from the new top.": (total + new) * down,
            "the sum runs over all queries; sum over the keys of each.": total * down + new.sum(),
        }
        compare(result[1], total * down + new, "the new total", mistakes)


@check
def one_tile(function: Callable[..., Any]) -> None:
    """Check ``function(state, q, k, v, mask)``: some queries read one tile of keys and values.

    ``state`` is (top, total, mixed), of shapes (rows, 1), (rows, 1) and (rows, D_value); q is
    (rows, D_head), k (n, D_head), v (n, D_value) and mask (rows, n), True = allowed. The result is
    the new state: three tensors of the same shapes.
    """
    for n, start in [(5, True), (4, False), (3, False)]:
        generator = torch.Generator().manual_seed(n)
        q, k, v = (torch.randn(s, generator=generator) for s in [(3, 4), (n, 4), (n, 2)])
        top, total = _read_so_far(q @ k.T / 2, start)
        mixed = torch.zeros(3, 2) if start else torch.randn(3, 2, generator=generator)
        mask = torch.rand(3, n, generator=generator) < 0.6
        mask[0], mask[1] = False, True  # one query sees nothing in this tile, one sees all
        result = call(function, (top.clone(), total.clone(), mixed.clone()), q, k, v, mask)
        require_parts(result, 3, "three tensors: top, total and mixed")
        right = _tile(top, total, mixed, q / 2, k, v, mask)
        others = {
            "the mask is not used.": (q / 2, mask | True),
            "the mask is the wrong way round; True means allowed.": (q / 2, ~mask),
            "the scores are not divided by the root of D_head.": (q, mask),
            "the scores are divided by D_head; divide by its root.": (q / 4, mask),
        }
        faults = {s: _tile(top, total, mixed, q, k, v, m) for s, (q, m) in others.items()}
        for i, name in enumerate(["top", "total", "mixed"]):
            mistakes = {said: wrong[i] for said, wrong in faults.items()}
            if name == "top":
                mistakes["the state is the old one; the tile may hold a larger score."] = top
            if name == "mixed":
                added = right[2] - mixed * (top - right[0]).exp()
                mistakes |= {
                    "what was mixed before is not rescaled to the new top.": mixed + added,
                    "what was mixed before is missing.": added,
                    "mixed is divided by the total already; that comes last.": right[2] / right[1],
                }
            compare(result[i], right[i], f"the new {name}", mistakes)


@check
def tiles_visited(function: Callable[..., Any]) -> None:
    """Check ``function(T, window, tile)``: how many tiles of a causal window are computed.

    T queries and as many keys are cut into tiles of ``tile``; query t sees the keys t - window + 1
    to t. The result is an int: the tiles in which a query sees a key.
    """
    cases = [(8, 4, 2), (8, 1, 2), (12, 3, 4), (16, 5, 4), (16, 6, 4), (10, 4, 4), (9, 20, 2)]
    for T, window, tile in cases:
        back = torch.arange(T).unsqueeze(1) - torch.arange(T)
        n = math.ceil(T / tile)
        seen = (back >= 0) & (back < window)
        right = _count(seen, tile)
        wider, narrower = (back >= 0) & (back <= window), (back >= 0) & (back < window - 1)
        mistakes = {
            "these are the tiles of all pairs; most are never seen.": n * n,
            "these are all causal tiles; the window leaves out more.": n * (n + 1) // 2,
            "these look to both sides; a query sees no later key.": _count(seen | seen.T, tile),
            "the window is one too wide; a query is in its own window.": _count(wider, tile),
            "the window is one too narrow; it holds `window` keys.": _count(narrower, tile),
            "these are pairs; count tiles.": int(seen.sum()),
        }
        got = as_number(call(function, T, window, tile), "the count", whole=True)
        if got != right:
            named = [said for said, wrong in mistakes.items() if got == wrong]
            sizes = f"for T = {T}, window = {window}, tile = {tile}"
            why = named[0] if len(named) == 1 else f"it is {right}."
            raise FaultError(f"{sizes} you count {got} tiles: {why}")


def _read_so_far(scores: Tensor, start: bool) -> tuple[Tensor, Tensor]:
    """Give top and total of three queries: at the start, or below and above the scores to come."""
    if start:
        return torch.full((3, 1), LOWEST), torch.zeros(3, 1)
    above = torch.tensor([[-0.5], [-2.0], [1.5]])
    return scores.amax(dim=-1, keepdim=True) + above, torch.tensor([[1.3], [1.7], [1.1]])


def _tile(
    top: Tensor, total: Tensor, mixed: Tensor, q: Tensor, k: Tensor, v: Tensor, mask: Tensor
) -> tuple[Tensor, Tensor, Tensor]:
    scores = (q @ k.mT).masked_fill(~mask, -math.inf)
    right = torch.maximum(top, scores.amax(dim=-1, keepdim=True))
    down, weights = (top - right).exp(), (scores - right).exp()
    return right, total * down + weights.sum(dim=-1, keepdim=True), mixed * down + weights @ v


def _count(mask: Tensor, tile: int) -> int:
    return sum(int(part.any()) for rows in mask.split(tile) for part in rows.split(tile, dim=-1))
