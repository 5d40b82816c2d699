"""Checks of chapter 11: tiles, and parts that are merged.

Shapes: rows queries and n keys in a tile; n parts, T queries.
"""

import math
from functools import partial
from typing import Any

import torch
from torch import Tensor

from exercises.exercise import Case, Cases, Code, FaultError, Wrong, call, equal, exercise, normal, require_parts
from exercises.mistakes import NO_MASK, turned, wrong_scales

State = tuple[Tensor, Tensor, Tensor]  # top, total and mixed
LOWEST = torch.finfo(torch.float32).min  # the largest score before any was read
FILLED = (
    "where a whole tile is blocked, the total should not grow: a large negative number is then its "
    "own maximum, and each blocked key counts as one. Fill with -inf."
)
TURNED = "rescaled the wrong way round; the factor is exp(old top - new top), at most 1."
OVERFLOW = "with log-sums of about 200 the exponential overflows; measure from the largest."


@exercise
def one_tile() -> Cases:
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
        products, read = q @ k.T, partial(_tile, (top, total, mixed), v, mask=mask)
        right, early = read(products / 2), read(products / 2, ranked=products / 2)
        down, up = (top - right[0]).exp(), (right[0] - top).exp()
        counted, added = right[1] - total * down, right[2] - mixed * down
        scores = (products / 2).masked_fill(~mask, -math.inf)
        largest = scores.amax(dim=-1, keepdim=True)
        wrong: Wrong = wrong_scales(products, 4, read) | {
            NO_MASK: read(products / 2, mask=mask | True),
            turned("allowed"): read(products / 2, mask=~mask),
            "the largest score is taken before the mask; a blocked score may be the largest. Block first.": early,
            "top is the old one; the tile may hold a larger score.": (top, None, None),
            "the old top is forgotten; keep it where it is larger than the tile's.": (largest, None, None),
            "one largest score serves all; each query needs its own.": (top.maximum(scores.max()), None, None),
            "the total so far is not rescaled to the new top.": (None, total + counted, None),
            "the total so far is missing.": (None, counted, None),
            f"the total so far is {TURNED}": (None, total * up + counted, None),
            "what was mixed before is not rescaled to the new top.": (None, None, mixed + added),
            "what was mixed before is missing.": (None, None, added),
            f"what was mixed before is {TURNED}": (None, None, mixed * up + added),
            "mixed is divided by the total already; that comes last.": (None, None, right[2] / right[1]),
        }
        given, what = ((top, total, mixed), q, k, v, mask), ("the new top", "the new total", "the new mixed")
        yield Case(given, right, wrong, what, ask=_new_state)


def _new_state(function: Code, state: State, q: Tensor, k: Tensor, *rest: Tensor) -> Any:
    """Name the fill that shows itself only where the first query sees nothing of its first tile."""
    at_start = state[0][0].item() == LOWEST
    result = call(function, state, q, k, *rest)
    require_parts(result, 3, "three tensors: top, total and mixed")
    if at_start and all(isinstance(x, Tensor) and x.shape[:1] == (3,) for x in result):
        top, total = (x[0].flatten()[0].item() for x in result[:2])
        if top < -1000 and abs(total - len(k)) < 1e-3:
            raise FaultError(FILLED)
    return result


@exercise
def merged_parts() -> Cases:
    """Check ``function(outputs, log_sums)``: attention in n parts becomes the attention over all.

    ``outputs``: (n, T, D_value); ``log_sums``: (n, T, 1), -inf where a query saw nothing in a part,
    not in all. The result is the output, (T, D_value), and the log-sum-exp, (T, 1).
    """
    for n, shift in [(2, 0.0), (3, 0.0), (4, 200.0)]:
        draw = normal(n)
        outputs, log_sums = draw(n, 5, 3), draw(n, 5, 1) + shift
        log_sums[0, 1] = -math.inf
        whole, mix = log_sums.logsumexp(dim=0), partial(_mix, outputs)
        measured, first = (log_sums - log_sums.amax(dim=0)).exp(), log_sums[:2].softmax(dim=0)
        at_once = log_sums.flatten().softmax(dim=0).view_as(log_sums)
        by_axis = [mix(log_sums.softmax(dim=i)) for i in range(3)]
        of_output = {
            "this is the plain mean of the parts; a part counts by its sum.": outputs.mean(dim=0),
            "the parts are added as they are; each counts by its share of the sum.": outputs.sum(0),
            "weighed by the exponentials, but not divided by their sum.": mix(log_sums.exp()),
            "the shares are those of the queries; they sum to one over the parts.": by_axis[1],
            "the softmax is over the last axis, of one entry; the parts are axis 0.": by_axis[2],
            "measured from the largest, but not divided by their sum.": mix(measured),
            "one softmax runs over parts and queries; each query has its own.": mix(at_once),
            "the shares sum to one already; add the parts, with no mean.": by_axis[0] / n,
            "only the first two parts are merged.": _mix(outputs[:2], first),
            "only the part with the largest sum is left.": mix((measured == 1).float()),
        }
        of_log_sum = {
            "the log-sums are added; their exponentials add up.": log_sums.sum(dim=0),
            "this is the largest log-sum; the other parts count as well.": log_sums.amax(dim=0),
            "this is the sum; its logarithm is missing.": whole.exp(),
            "the largest log-sum was taken off and is not added back.": whole - log_sums.amax(0),
            "the log-sum-exp has lost its last dimension: (T, 1).": whole.squeeze(-1),
        }
        wrong: Wrong = {said: (made, None) for said, made in of_output.items()}
        wrong |= {said: (None, made) for said, made in of_log_sum.items()}
        yield Case((outputs, log_sums), (by_axis[0], whole), wrong, ("the output", "the log-sum-exp"), ask=_merged)


def _merged(function: Code, outputs: Tensor, log_sums: Tensor) -> Any:
    mix, largest = partial(_mix, outputs.clone()), log_sums.max()
    of_logs = [mix(share) for share in (log_sums / log_sums.sum(dim=0), log_sums, log_sums.log_softmax(dim=0))]
    result = call(function, outputs, log_sums)
    require_parts(result, 2, "two tensors: the output and its log-sum-exp")
    if largest > 100 and not all(isinstance(x, Tensor) and x.isfinite().all() for x in result):
        raise FaultError(OVERFLOW)
    if any(equal(result[0], wrong) for wrong in of_logs):
        raise FaultError("the shares are those of the log-sums; take their exponentials.")
    return result


def _mix(outputs: Tensor, shares: Tensor) -> Tensor:
    return (shares * outputs).sum(dim=0)


def _read_so_far(scores: Tensor, start: bool) -> tuple[Tensor, Tensor]:
    """Give top and total of three queries: at the start, or below and above the scores to come."""
    if start:
        return torch.full((3, 1), LOWEST), torch.zeros(3, 1)
    above = torch.tensor([[-0.5], [-2.0], [1.5]])
    return scores.amax(dim=-1, keepdim=True) + above, torch.tensor([[1.3], [1.7], [1.1]])


def _tile(state: State, v: Tensor, scores: Tensor, mask: Tensor, ranked: Tensor | None = None) -> State:
    top, total, mixed = state
    scores = scores.masked_fill(~mask, -math.inf)
    largest = (scores if ranked is None else ranked).amax(dim=-1, keepdim=True)
    right = torch.maximum(top, largest)
    down, weights = (top - right).exp(), (scores - right).exp()
    return right, total * down + weights.sum(dim=-1, keepdim=True), mixed * down + weights @ v
