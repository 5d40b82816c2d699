"""Checks of chapter 2: softmax, attention, learning without the root.

Shapes: B sequences, H heads, T queries, S keys.
"""

from typing import Any

import torch
from torch import Tensor
from torch.utils._python_dispatch import TorchDispatchMode

from utils.checks.comparing import (
    Code,
    FaultError,
    call,
    check,
    compare,
    compare_numbers,
    normal,
    require_parts,
)
from utils.checks.mistakes import soft, wrong_attention

__all__ = ["same_without_root", "scaled_dot_product", "softmax"]

_LOST_AXIS = (
    "A maximum or a sum along dim loses that axis, and then no longer fits the scores; keep it, by "
    "keepdim=True."
)
_PAIR = (
    "scores.max(dim, keepdim=True) gives a pair, the maxima and their places; take its .values, or "
    "use amax."
)
_OTHER_AXES = (
    "If it is the product of query and key: only the last two axes of the key change places, "
    "key.transpose(-2, -1), however many there are in front."
)


@check
def softmax(function: Code) -> None:
    """Check a softmax along any axis that does not overflow.

    ``function(scores, dim)`` takes a Tensor of floats of any shape and the axis along which the
    weights sum to one, and returns the weights, of the same shape. It leaves ``scores`` as it is,
    and calls no softmax of PyTorch's.
    """
    scores = normal(0)(2, 3, 4)
    for dim in (-1, 1, 0):
        mistakes = {
            f"dim is {dim}, but the weights sum to one along axis {axis}.": scores.softmax(axis)
            for axis in range(3)
        }
        mistakes["the exponentials are not divided by their sum."] = scores.exp()
        mistakes["the sum is over the whole tensor; sum along dim."] = _naive(scores, (0, 1, 2))
        apart = (scores - scores.amax(dim, keepdim=True)).exp()
        said = "each maximum is along dim, but the sum is over the whole tensor; sum along dim too."
        mistakes[said] = apart / apart.sum()
        given = scores.clone()
        got = _call(function, _LOST_AXIS, given, dim)
        compare(got, scores.softmax(dim), f"the softmax along dim {dim}", mistakes)
        if not given.equal(scores):
            raise FaultError("it changed the scores it was given; make a new tensor instead.")
    large = torch.tensor([[1000.0, 999.0], [-1000.0, -1002.0]])
    one_maximum = _naive(large - large.max())
    mistakes = {
        "it overflows: exp(1000) is inf, and inf / inf is NaN. Subtract a maximum.": _naive(large),
        "a row far below the one maximum becomes 0 / 0; take each row's maximum.": one_maximum,
    }
    with _Softmaxes() as watched:
        got = _call(function, _LOST_AXIS, large, -1)
    compare(got, large.softmax(-1), "the softmax of large scores", mistakes)
    if watched.called:
        raise FaultError(
            "the weights are right, but PyTorch's softmax made them; write it with exp and sum."
        )


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
        "it takes the root of D_value; take that of D_head.": soft(dots / 6**0.5),
        "it takes the root of S, how many keys there are; take that of D_head.": soft(
            dots / 5**0.5
        ),
        "it takes the root of T, how many queries there are; take that of D_head.": soft(dots / 2),
        "it takes the root of an axis in front; the size of a query is its last, shape[-1].": soft(
            dots / 3**0.5
        ),
        "it takes the root of len(query), the first axis; the size of a query is its last.": soft(
            dots / 2**0.5
        ),
        "it multiplies by the root of D_head; divide by it.": soft(dots * 8**0.5),
        "the output comes first, then the weights.": weights @ value,
    }
    got = _call(function, _OTHER_AXES, query, key, value)
    _compare_pair(got, weights, value, "", mistakes)
    for axes, i in (("3-d", 0), ("2-d", (0, 0))):
        got = _call(function, _OTHER_AXES, query[i], key[i], value[i])
        _compare_pair(got, weights[i], value[i], f" of {axes} tensors", {})
    overflow = {"it overflows for large scores; use a stable softmax.": _naive(1000 * scores)}
    got = call(function, 1000 * query, key, value)
    _compare_pair(got, (1000 * scores).softmax(-1), value, " of large queries", overflow)


@check
def same_without_root(function: Code) -> None:
    """Check how a layer without the root can learn as the one with it does.

    ``function(w_q, rate)`` takes the matrix from which a layer with the root starts, a column for
    each of the D numbers of a query, and its learning rate. It returns the start and the rate with
    which the same layer, but without the root, has the same scores before and after every step of
    gradient descent.
    """
    w_q, rate = normal(0)(6, 4), 0.5  # a square matrix would hide which size is taken
    D_in, D = w_q.shape
    result = call(function, w_q.clone(), rate)
    require_parts(result, 2, "two things: the matrix to start from and the rate")
    start, faster = result
    mistakes = {
        "the start is the same, so the first scores are larger by the root of D.": w_q,
        "the start is divided by D; divide by its root.": w_q / D,
        "the start is multiplied; without the root it should be smaller.": w_q * D**0.5,
        "D is what a query has, the columns of w_q; you took the rows.": w_q / D_in**0.5,
    }
    compare(start, w_q / D**0.5, "the matrix to start from", mistakes)
    rates = {
        "the rate is the same; the gradient is not.": rate,
        "the rate is divided by the root of D. The gradient grows by this root, and so does what a "
        "step does to the scores: it counts twice.": rate / D**0.5,
        "the rate is divided by D and by the root of D; D alone holds both: the root for the "
        "gradient, and the root for the step.": rate / D**1.5,
        "the rate is divided by D twice; once is enough.": rate / D**2,
        "the rate is multiplied; without the root, steps should be smaller.": rate * D,
        "the rate is multiplied; without the root, steps should be smaller, by D.": rate * D**0.5,
        "D is what a query has, the columns of w_q; you took the rows.": rate / D_in,
    }
    compare_numbers([(faster, rate / D, "the rate", rates)], atol=1e-6)


class _Softmaxes(TorchDispatchMode):
    """Notes whether a softmax of PyTorch's is called."""

    called = False

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        """Call the function as it is."""
        self.called |= "softmax" in str(func)
        return func(*args, **(kwargs or {}))


def _call(function: Code, hint: str, *args: Any) -> Any:
    """Call what the reader wrote; where sizes do not fit, say what is likely the cause."""
    try:
        return call(function, *args)
    except FaultError as fault:
        if "return_types.max" in str(fault):
            raise FaultError(_PAIR) from fault
        fits_not = isinstance(fault.__cause__, RuntimeError | IndexError | ValueError)
        if not fits_not:
            raise
        raise FaultError(f"{fault} {hint}") from fault


def _naive(scores: Tensor, dim: int | tuple[int, ...] = -1) -> Tensor:
    return scores.exp() / scores.exp().sum(dim, keepdim=True)


def _compare_pair(
    got: Any, weights: Tensor, value: Tensor, of_what: str, mistakes: dict[str, Tensor]
) -> None:
    """Compare a pair (output, weights); the mistakes are in the weights."""
    require_parts(got, 2, "two tensors: the output and the weights")
    compare(got[1], weights, f"the tensor of weights{of_what}", mistakes)
    compare(got[0], weights @ value, f"the output{of_what}")
