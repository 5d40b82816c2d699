"""Checks of chapter 2: softmax, scaled dot-product attention, a batched product, additive scores.

Shapes: B sequences, H heads, T queries, S keys, A numbers in additive attention's hidden layer.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from utils.checks.comparing import FaultError, call, check, compare


@check
def softmax(function: Callable[..., Any]) -> None:
    """Check a softmax along any axis that does not overflow.

    ``function(scores, dim)`` takes a Tensor of floats of any shape and the axis along which the
    weights sum to one, and returns the weights, of the same shape. It leaves ``scores`` as it is.
    """
    scores = _random(2, 3, 4)
    for dim in (-1, 1, 0):
        mistakes = {
            f"dim is {dim}, but the weights sum to one along axis {axis}.": scores.softmax(axis)
            for axis in range(3)
        }
        mistakes["the exponentials are not divided by their sum."] = scores.exp()
        mistakes["the sum is over the whole tensor; sum along dim."] = _naive(scores, (0, 1, 2))
        given = scores.clone()
        got = call(function, given, dim)
        compare(got, scores.softmax(dim), f"the softmax along dim {dim}", mistakes)
        if not given.equal(scores):
            raise FaultError("it changed the scores it was given; make a new tensor instead.")
    large = torch.tensor([[1000.0, 999.0], [-1000.0, -1002.0]])
    one_maximum = _naive(large - large.max())
    mistakes = {
        "it overflows: exp(1000) is inf, and inf / inf is NaN. Subtract a maximum.": _naive(large),
        "a row far below the one maximum becomes 0 / 0; take each row's maximum.": one_maximum,
    }
    compare(call(function, large, -1), large.softmax(-1), "the softmax of large scores", mistakes)


@check
def scaled_dot_product(function: Callable[..., Any]) -> None:
    """Check scaled dot-product attention without a mask.

    ``function(query, key, value)`` takes Tensors of shape (..., T, D_head), (..., S, D_head) and
    (..., S, D_value), with any number of axes in front, and returns a pair: the output, of shape
    (..., T, D_value), and the weights, of shape (..., T, S).
    """
    shapes = [(2, 3, 4, 8), (2, 3, 5, 8), (2, 3, 5, 6)]  # (B, H, T or S, D_head or D_value)
    query, key, value = (_random(*shape, seed=seed) for seed, shape in enumerate(shapes))
    dots, root = torch.einsum("bhtd,bhsd->bhts", query, key), 8**0.5
    scores = dots / root
    weights = scores.softmax(-1)
    head_0 = query @ key[:, :1].mT / root
    reshaped = query @ key.reshape(2, 3, 8, 5) / root
    mistakes = {
        "the scale is missing: divide by the root of D_head.": dots.softmax(-1),
        "it divides by D_head; the scale is its root.": (dots / 8).softmax(-1),
        "it scales after the softmax; scale before.": dots.softmax(-1) / root,
        "it takes the root of D_value; take that of D_head.": (dots / 6**0.5).softmax(-1),
        "the softmax runs over the wrong axis, the queries.": scores.softmax(-2),
        "the softmax runs over the wrong axis, the heads.": scores.softmax(1),
        "the softmax is missing: these are the scores.": scores,
        "the key is reshaped, not transposed, so its columns are not keys.": reshaped.softmax(-1),
        "the heads are mixed up: each uses the keys of head 0.": head_0.softmax(-1),
        "the output comes first, then the weights.": weights @ value,
    }
    _compare_pair(call(function, query, key, value), weights, value, "", mistakes)
    for axes, i in (("3-d", 0), ("2-d", (0, 0))):
        got = call(function, query[i], key[i], value[i])
        _compare_pair(got, weights[i], value[i], f" of {axes} tensors", {})
    overflow = {"it overflows for large scores; use a stable softmax.": _naive(1000 * scores)}
    got = call(function, 1000 * query, key, value)
    _compare_pair(got, (1000 * scores).softmax(-1), value, " of large queries", overflow)


@check
def batched_product(function: Callable[..., Any]) -> None:
    """Check the product of weights and values for each sequence and each head.

    ``function(weights, value)`` takes Tensors of shape (B, H, T, S) and (B, H, S, D_value) and
    returns the output, of shape (B, H, T, D_value).
    """
    for T, S, D_value in ((4, 4, 4), (2, 5, 3)):
        weights = _random(2, 3, T, S).softmax(-1)
        value = _random(2, 3, S, D_value, seed=1)
        output = torch.einsum("bhts,bhsd->bhtd", weights, value)
        mistakes = {
            "the heads are mixed up: each reads the values of head 0.": weights @ value[:, :1],
            "the heads are mixed up: each uses the weights of head 0.": weights[:, :1] @ value,
        }
        if T == S == D_value:
            mistakes["the weights are transposed: a row is one query's."] = weights.mT @ value
            mistakes["the values are transposed: sum over the keys."] = weights @ value.mT
        compare(call(function, weights, value), output, "the output", mistakes)


@check
def additive_scores(function: Callable[..., Any]) -> None:
    """Check the scores of additive attention, for a batch.

    ``function(query, key, w_query, w_key, w)`` takes Tensors of shape (B, T, D_query),
    (B, S, D_key), (D_query, A), (D_key, A) and (A,), and returns the scores, before any softmax,
    of shape (B, T, S).
    """
    for T, S, D_query, D_key, A in ((4, 4, 5, 5, 6), (2, 3, 4, 5, 3)):
        query, key = _random(2, T, D_query), _random(2, S, D_key, seed=1)
        w_query, w_key = _random(D_query, A, seed=2), _random(D_key, A, seed=3)
        w = _random(A, seed=4)
        q, k = (query @ w_query).unsqueeze(2), (key @ w_key).unsqueeze(1)  # one axis more each
        scores = torch.einsum("btsa,a->bts", (q + k).tanh(), w)
        mistakes = {
            "tanh is missing.": (q + k) @ w,
            "tanh comes last; it belongs before the product with w.": ((q + k) @ w).tanh(),
            "tanh is taken of each part; add first.": (q.tanh() + k.tanh()) @ w,
            "it multiplies the two parts; add them.": (q * k).tanh() @ w,
            "w is missing: the A numbers are summed as they are.": (q + k).tanh().sum(-1),
            "these are weights; leave the softmax out.": scores.softmax(-1),
            "the scores are transposed: a row is one query's.": scores.mT,
        }
        if (T, D_query) == (S, D_key):
            paired = (query @ w_query + key @ w_key).tanh() @ w  # (B, T)
            mistakes["query t meets key t only; it should meet every key."] = paired
            swapped = (query @ w_key).unsqueeze(2) + (key @ w_query).unsqueeze(1)
            mistakes["w_query and w_key are swapped."] = swapped.tanh() @ w
        compare(call(function, query, key, w_query, w_key, w), scores, "the result", mistakes)


def _random(*shape: int, seed: int = 0) -> Tensor:
    return torch.randn(shape, generator=torch.Generator().manual_seed(seed))


def _naive(scores: Tensor, dim: int | tuple[int, ...] = -1) -> Tensor:
    return scores.exp() / scores.exp().sum(dim, keepdim=True)


def _compare_pair(
    got: Any, weights: Tensor, value: Tensor, of_what: str, mistakes: dict[str, Tensor]
) -> None:
    """Compare a pair (output, weights); the mistakes are in the weights."""
    if not isinstance(got, tuple) or len(got) != 2:
        raise FaultError("it should return two tensors: the output and the weights.")
    compare(got[1], weights, f"the tensor of weights{of_what}", mistakes)
    compare(got[0], weights @ value, f"the output{of_what}")
