"""Checks of chapter 2: softmax, scaled dot-product attention, a batched product, additive scores.

Shapes: B sequences, H heads, T queries, S keys, A numbers in additive attention's hidden layer.
"""

from typing import Any

import torch
from torch import Tensor

from utils.checks.comparing import Code, FaultError, call, check, compare, normal, require_parts
from utils.checks.mistakes import TRANSPOSED, VALUES_0, wrong_attention, wrong_orders

__all__ = ["additive_scores", "batched_product", "scaled_dot_product", "softmax"]


@check
def softmax(function: Code) -> None:
    """Check a softmax along any axis that does not overflow.

    ``function(scores, dim)`` takes a Tensor of floats of any shape and the axis along which the
    weights sum to one, and returns the weights, of the same shape. It leaves ``scores`` as it is.
    """
    scores = normal(0)(2, 3, 4)
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
def scaled_dot_product(function: Code) -> None:
    """Check scaled dot-product attention without a mask.

    ``function(query, key, value)`` takes Tensors of shape (..., T, D_head), (..., S, D_head) and
    (..., S, D_value), with any number of axes in front, and returns a pair: the output, of shape
    (..., T, D_value), and the weights, of shape (..., T, S).
    """
    shapes = [(2, 3, 4, 8), (2, 3, 5, 8), (2, 3, 5, 6)]  # (B, H, T or S, D_head or D_value)
    query, key, value = (normal(seed)(*shape) for seed, shape in enumerate(shapes))
    dots = torch.einsum("bhtd,bhsd->bhts", query, key)
    scores = dots / 8**0.5
    weights = scores.softmax(-1)
    mistakes = wrong_attention(query, key) | {
        "it takes the root of D_value; take that of D_head.": (dots / 6**0.5).softmax(-1),
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
def batched_product(function: Code) -> None:
    """Check the product of weights and values for each sequence and each head.

    ``function(weights, value)`` takes Tensors of shape (B, H, T, S) and (B, H, S, D_value) and
    returns the output, of shape (B, H, T, D_value).
    """
    for T, S, D_value in ((4, 4, 4), (2, 5, 3)):
        weights = normal(0)(2, 3, T, S).softmax(-1)
        value = normal(1)(2, 3, S, D_value)
        output = torch.einsum("bhts,bhsd->bhtd", weights, value)
        mistakes = {VALUES_0: weights @ value[:, :1]}
        mistakes |= {said: wrong @ value for said, wrong in wrong_orders(weights, 1).items()}
        if T == S == D_value:
            mistakes[TRANSPOSED] = weights.mT @ value
            mistakes["the values are transposed: sum over the keys."] = weights @ value.mT
        compare(call(function, weights, value), output, "the output", mistakes)


@check
def additive_scores(function: Code) -> None:
    """Check the scores of additive attention, for a batch.

    ``function(query, key, w_query, w_key, w)`` takes Tensors of shape (B, T, D_query),
    (B, S, D_key), (D_query, A), (D_key, A) and (A,), and returns the scores, before any softmax,
    of shape (B, T, S).
    """
    for T, S, D_query, D_key, A in ((4, 4, 5, 5, 6), (2, 3, 4, 5, 3)):
        query, key = normal(0)(2, T, D_query), normal(1)(2, S, D_key)
        w_query, w_key = normal(2)(D_query, A), normal(3)(D_key, A)
        w = normal(4)(A)
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


def _naive(scores: Tensor, dim: int | tuple[int, ...] = -1) -> Tensor:
    return scores.exp() / scores.exp().sum(dim, keepdim=True)


def _compare_pair(
    got: Any, weights: Tensor, value: Tensor, of_what: str, mistakes: dict[str, Tensor]
) -> None:
    """Compare a pair (output, weights); the mistakes are in the weights."""
    require_parts(got, 2, "two tensors: the output and the weights")
    compare(got[1], weights, f"the tensor of weights{of_what}", mistakes)
    compare(got[0], weights @ value, f"the output{of_what}")
