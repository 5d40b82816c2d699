"""The checks of chapter 12, first half, accept what is right and name what is wrong."""

import math

import numpy as np
import pytest
import torch

from utils.checks import tiling


def step(top, total, scores, rescale=True):
    higher = torch.maximum(top, scores.amax(dim=-1, keepdim=True))
    if rescale:
        total = total * (top - higher).exp()
    return higher, total + (scores - higher).exp().sum(dim=-1, keepdim=True)


def step_by_log_sum_exp(top, total, scores):
    higher = torch.cat([top, scores], dim=-1).amax(dim=-1, keepdim=True)
    logs = torch.cat([top + total.log(), scores], dim=-1)
    return higher, (logs.logsumexp(dim=-1, keepdim=True) - higher).exp()


def step_by_scores(top, total, scores):
    top, total = top.clone(), total.clone()
    for score in scores.unbind(dim=-1):
        score = score.unsqueeze(-1)
        higher = torch.where(score > top, score, top)
        total = total * torch.exp(top - higher) + torch.exp(score - higher)
        top = higher
    return [top, total]


def step_in_place(top, total, scores):
    old = top.clone()
    top.clamp_(min=scores.max(dim=-1, keepdim=True).values)
    total.mul_(torch.exp(old - top)).add_(torch.exp(scores - top).sum(-1, keepdim=True))
    return top, total


def own_step(top, total, scores):
    largest = scores.amax(dim=-1, keepdim=True)
    own = (scores - largest.clamp(min=tiling.LOWEST)).exp().sum(dim=-1, keepdim=True)
    return torch.maximum(top, largest), total * (top - torch.maximum(top, largest)).exp() + own


def change_total(function):
    """A step whose new total is ``function(total, new, down)``."""

    def changed(top, total, scores):
        higher, _ = step(top, total, scores)
        new = (scores - higher).exp().sum(dim=-1, keepdim=True)
        return higher, function(total, new, (top - higher).exp())

    return changed


def read(state, q, k, v, mask):
    top, total, mixed = state
    scores = (q @ k.T / math.sqrt(q.shape[-1])).masked_fill(~mask, -math.inf)
    higher = torch.maximum(top, scores.amax(dim=-1, keepdim=True))
    down, weights = (top - higher).exp(), (scores - higher).exp()
    return higher, total * down + weights.sum(dim=-1, keepdim=True), mixed * down + weights @ v


def read_by_keys(state, q, k, v, mask):
    top, total, mixed = (x.clone() for x in state)
    for j in range(len(k)):
        for row in range(len(q)):
            if mask[row, j]:
                score = torch.dot(q[row], k[j]) / len(k[j]) ** 0.5
                higher = torch.maximum(top[row], score)
                down, weight = (top[row] - higher).exp(), (score - higher).exp()
                total[row] = total[row] * down + weight
                mixed[row] = mixed[row] * down + weight * v[j]
                top[row] = higher
    return top, total, mixed


def read_with_ones(state, q, k, v, mask):
    """The total is mixed like a value that is always one."""
    top, total, mixed = state
    bias = torch.zeros(mask.shape).masked_fill(~mask, -math.inf)
    scores = torch.einsum("td,sd->ts", q, k) * q.shape[-1] ** -0.5 + bias
    higher = torch.maximum(top, scores.amax(dim=-1, keepdim=True))
    both = torch.cat([total, mixed], dim=-1) * torch.exp(top - higher)
    both = both + torch.exp(scores - higher) @ torch.cat([torch.ones(len(v), 1), v], dim=-1)
    return [higher, both[:, :1], both[:, 1:]]


def change_mixed(function):
    """A tile whose new mixed is ``function(mixed, added, down, total)``."""

    def changed(state, *args):
        top, total, mixed = read(state, *args)
        down = (state[0] - top).exp()
        return top, total, function(state[2], mixed - state[2] * down, down, total)

    return changed


def visited(T, window, tile):
    starts = range(0, T, tile)
    return sum(i - max(0, start - window + 1) // tile + 1 for i, start in enumerate(starts))


def mask_of(T, window):
    back = np.subtract.outer(np.arange(T), np.arange(T))
    return (back >= 0) & (back < window)


def tiles_of(mask, tile):
    return len({(t // tile, s // tile) for t, s in zip(*mask.nonzero(), strict=True)})


def visited_by_pairs(T, window, tile):
    pairs = {(t // tile, s // tile) for t in range(T) for s in range(max(0, t - window + 1), t + 1)}
    return len(pairs)


def everything(T, window, tile):
    return math.ceil(T / tile) ** 2


def to_both_sides(T, window, tile):
    mask = mask_of(T, window)
    return tiles_of(mask | mask.T, tile)


def raises(*_):
    raise RuntimeError("the sizes do not fit")


RIGHT = {
    "online_step": [step, step_by_log_sum_exp, step_by_scores, step_in_place],
    "one_tile": [read, read_by_keys, read_with_ones],
    "tiles_visited": [
        visited,
        visited_by_pairs,
        lambda T, w, tile: tiles_of(mask_of(T, w), tile),
        lambda T, w, tile: np.int64(visited(T, w, tile)),
    ],
}

WRONG = [
    ("online_step", lambda top, total, scores: (top, total), "top is the old one"),
    ("online_step", lambda t, n, s: (s.amax(-1, keepdim=True), n), "the tile alone"),
    ("online_step", lambda t, n, s: (torch.maximum(t, s.max()), n), "of all rows"),
    ("online_step", lambda t, n, s: [x.squeeze(-1) for x in step(t, n, s)], "keepdim=True"),
    ("online_step", lambda t, n, s: step(t, n, s, rescale=False), "is not rescaled"),
    ("online_step", change_total(lambda n, new, down: n / down + new), "wrong way round"),
    ("online_step", change_total(lambda n, new, down: new), "the old total is missing"),
    ("online_step", own_step, "from their own largest"),
    ("online_step", change_total(lambda n, new, down: n * down + new / down), "from the old top"),
    ("online_step", change_total(lambda n, new, down: (n + new) * down), "is rescaled too"),
    ("online_step", change_total(lambda n, new, down: n * down + new.sum()), "over all queries"),
    ("online_step", lambda t, n, s: step(t, n, s)[1], "should return two tensors"),
    ("online_step", lambda t, n, s: (0.0, n), "should be a tensor; got float"),
    ("online_step", raises, "raised RuntimeError: the sizes do not fit"),
    ("one_tile", lambda state, *_: state, "the state is the old one"),
    ("one_tile", lambda s, q, k, v, m: read(s, q, k, v, m | True), "the mask is not used"),
    ("one_tile", lambda s, q, k, v, m: read(s, q, k, v, ~m), "the wrong way round"),
    ("one_tile", lambda s, q, k, v, m: read(s, 2 * q, k, v, m), "by the root of D_head"),
    ("one_tile", lambda s, q, k, v, m: read(s, q / 2, k, v, m), "divided by D_head; divide"),
    ("one_tile", change_mixed(lambda u, new, down, n: u + new), "mixed before is not rescaled"),
    ("one_tile", change_mixed(lambda u, new, down, n: new), "mixed before is missing"),
    ("one_tile", change_mixed(lambda u, new, down, n: (u * down + new) / n), "comes last"),
    ("one_tile", change_mixed(lambda u, new, down, n: new.T), "has shape (2, 3); expected (3, 2)"),
    ("one_tile", lambda s, *a: read(s, *a)[:2], "should return three tensors"),
    ("one_tile", raises, "raised RuntimeError"),
    ("tiles_visited", everything, "the tiles of all pairs"),
    ("tiles_visited", lambda T, w, tile: visited(T, T, tile), "all causal tiles"),
    ("tiles_visited", to_both_sides, "look to both sides"),
    ("tiles_visited", lambda T, w, tile: visited(T, w + 1, tile), "one too wide"),
    ("tiles_visited", lambda T, w, tile: tiles_of(mask_of(T, w - 1), tile), "one too narrow"),
    ("tiles_visited", lambda T, w, tile: int(mask_of(T, w).sum()), "these are pairs"),
    ("tiles_visited", lambda T, w, tile: visited(T, w, tile) + 99, "it is 9"),
    ("tiles_visited", lambda T, w, tile: visited(T, w, tile) / 1, "should be an int; got float"),
    ("tiles_visited", raises, "raised RuntimeError"),
]


@pytest.mark.parametrize(
    ("name", "function"), [(name, f) for name, functions in RIGHT.items() for f in functions]
)
def test_what_is_right_is_accepted(name, function):
    assert getattr(tiling, name)(function) == "Right."


@pytest.mark.parametrize(("name", "function", "reason"), WRONG)
def test_what_is_wrong_is_named(name, function, reason):
    answer = getattr(tiling, name)(function)
    assert answer.startswith("Not yet:")
    assert reason in answer
