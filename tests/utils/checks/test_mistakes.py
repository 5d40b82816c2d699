"""A mistake that chapters share gives another result than what is right, and one of its own."""

import itertools

import pytest
import torch
import torch.nn.functional as F

from utils.checks import mistakes

q, k, v = torch.randn(3, 2, 3, 5, 4, generator=torch.Generator().manual_seed(0))
allowed = torch.ones(5, 5).tril().bool()
x, w, b = q.flatten(2), torch.randn(20, 20), torch.randn(20)
scores = q @ k.mT / 2
blocked = torch.arange(5) >= torch.tensor([[4], [3]])
FAMILIES = {
    "weights": (
        mistakes.wrong_attention(q, k, None, allowed, width=12),
        (scores - 1e9 * ~allowed).softmax(-1),
    ),
    "output": (
        mistakes.wrong_attention(q, k, v, allowed, "allowed", 12),
        F.scaled_dot_product_attention(q, k, v, allowed),
    ),
    "orders": (mistakes.wrong_orders(q, 1), q),
    "projections": (mistakes.wrong_projections(x, w, b), x @ w + b),
    "splits": (
        {said: cut(x, 4) for said, cut in mistakes.WRONG_SPLITS.items()},
        mistakes.split(x, 4),
    ),
    "padding": (
        mistakes.wrong_padding(scores, blocked),
        scores.masked_fill(blocked[:, None, None], -torch.inf).softmax(-1),
    ),
    "joins": (
        {"unswapped": mistakes.unswapped_join(q), "the other way": mistakes.join(q.flip(1))},
        q.transpose(1, 2).flatten(2),
    ),
    "means": (
        mistakes.wrong_means(q, q > 0, "blocked", dim=2),
        (q * (q > 0)).sum(2) / (q > 0).sum(2),
    ),
}


@pytest.mark.parametrize("family", FAMILIES)
def test_all_results_differ(family):
    wrong, right = FAMILIES[family]
    results = {"right": right, **wrong}
    assert len(results) >= 3
    for (first, a), (second, c) in itertools.combinations(results.items(), 2):
        same = a.shape == c.shape and torch.allclose(a, c, atol=1e-4, equal_nan=True)
        assert not same, f"{first} and {second}"
