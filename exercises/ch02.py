"""Checks of chapter 2. Shapes: B sequences, H heads, T queries, S keys."""

from typing import Any

import torch
from torch import Tensor
from torch.utils._python_dispatch import TorchDispatchMode

from exercises.exercise import Case, Cases, FaultError, Wrong, exercise, hint, normal
from exercises.mistakes import soft, wrong_attention

MISFITS = "RuntimeError", "IndexError", "ValueError"
LOST_AXIS = "(A maximum or a sum along dim loses that axis, and then no longer fits the scores; keep it, by keepdim=True.)"
PAIR = "(scores.max(dim, keepdim=True) gives a pair, the maxima and their places; take its .values, or use amax)."
OTHER_AXES = "(If it is the product of query and key: only the last two axes of the key change places, "
OTHER_AXES += "key.transpose(-2, -1), however many there are in front.)"


class _Softmaxes(TorchDispatchMode):
    """Notes whether a softmax of PyTorch's is called."""

    called = False

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        """Call the function as it is."""
        self.called |= "softmax" in str(func)
        return func(*args, **(kwargs or {}))


def _naive(scores: Tensor, dim: int | tuple[int, ...] = -1) -> Tensor:
    return scores.exp() / scores.exp().sum(dim, keepdim=True)


@exercise
def softmax() -> Cases:
    """Check ``function(scores, dim)``: floats of any shape and an axis to weights of this shape.

    They sum to one along the axis and do not overflow; ``scores`` stay as they are, and no softmax of PyTorch's is called.
    """
    scores = normal(0)(2, 3, 4)
    with hint(PAIR, "return_types.max"), hint(LOST_AXIS, *MISFITS):
        for dim in (-1, 1, 0):
            apart = (scores - scores.amax(dim, keepdim=True)).exp()
            wrong = {
                f"dim is {dim}, but the weights sum to one along axis {axis}.": scores.softmax(axis) for axis in range(3) if axis != dim % 3
            } | {
                "the exponentials are not divided by their sum.": scores.exp(),
                "the sum is over the whole tensor; sum along dim.": _naive(scores, (0, 1, 2)),
                "each maximum is along dim, but the sum is over the whole tensor; sum along dim too.": apart / apart.sum(),
            }
            kept = "it changed the scores it was given; make a new tensor instead."
            yield Case((scores, dim), scores.softmax(dim), wrong, f"the softmax along dim {dim}", kept=kept)
        large = torch.tensor([[1000.0, 999.0], [-1000.0, -1002.0]])
        wrong = {
            "it overflows: exp(1000) is inf, and inf / inf is NaN. Subtract a maximum.": _naive(large),
            "a row far below the one maximum becomes 0 / 0; take each row's maximum.": _naive(large - large.max()),
        }
        right = large.softmax(-1)
        with _Softmaxes() as watched:
            yield Case((large, -1), right, wrong, "the softmax of large scores")
        if watched.called:
            raise FaultError("the weights are right, but PyTorch's softmax made them; write it with exp and sum.")
        apart = torch.tensor([[0.0, 200.0], [300.0, 0.0], [0.0, 120.0]])
        said = "it subtracts {} of each row, and a score far above that still overflows; subtract the row's maximum."
        taken = {"the mean": apart.mean(-1, True), "the minimum": apart.amin(-1, True), "the first entry": apart[:, :1]}
        wrong = {said.format(name): _naive(apart - less) for name, less in taken.items()}
        yield Case((apart, -1), apart.softmax(-1), wrong, "the softmax of scores far apart")


@exercise
def scaled_dot_product() -> Cases:
    """Check ``function(query, key, value)``: (..., T, D_head), (..., S, D_head), (..., S, D_value) to a pair.

    It is the output, (..., T, D_value), and the weights, (..., T, S); any number of axes stands in front.
    """
    query, key, value = (normal(i)(2, 3, *shape) for i, shape in enumerate([(4, 6), (5, 6), (5, 7)]))  # (B, H, ...)
    weights = soft(scores := (dots := query @ key.mT) / 6**0.5)
    of_weights = wrong_attention(query, key) | {
        "it takes the root of D_value; take that of D_head.": soft(dots / 7**0.5),
        "it takes the root of S, how many keys there are; take that of D_head.": soft(dots / 5**0.5),
        "it takes the root of T, how many queries there are; take that of D_head.": soft(dots / 2),
        "it takes the root of an axis in front; the size of a query is its last, shape[-1].": soft(dots / 3**0.5),
        "it takes the root of len(query), the first axis; the size of a query is its last.": soft(dots / 2**0.5),
        "it multiplies by the root of D_head; divide by it.": soft(dots * 6**0.5),
        "it divides by 8, the root of 64; here a query has 6 numbers: take the root of its last axis.": soft(dots / 8),
    }
    first: Wrong = {said: (None, wrong) for said, wrong in of_weights.items()}
    first["the output comes first, then the weights."] = weights, weights @ value
    large = {"it overflows for large scores; use a stable softmax.": (None, _naive(1000 * scores))}
    for of, q, k, v, wrong in (
        ("", query, key, value, first),
        (" of 3-d tensors", query[0], key[0], value[0], {}),
        (" of 2-d tensors", query[0, 0], key[0, 0], value[0, 0], {}),
        (" of large queries", 1000 * query, key, value, large),
    ):
        right = soft(q @ k.mT / 6**0.5)
        what, parts = (f"the output{of}", f"the tensor of weights{of}"), "two tensors: the output and the weights"
        with hint(OTHER_AXES, *MISFITS):
            yield Case((q, k, v), (right @ v, right), wrong, what, parts, order=(1, 0))


@exercise
def twin_by_adam() -> Cases:
    """Check ``function(D_head)``: by how much a layer with the root, the twin of one without it, starts larger and learns faster.

    Both learn by Adam, whose steps do not grow with the gradient; their scores are to be the same after every step.
    """
    for D_head in (64, 100, 16):
        root = D_head**0.5
        wrong = {
            "8 is the root of 64 alone; the function is given D_head, and has to take its root.": (8.0, 8.0),
            "8 and 64 are the factors of plain gradient descent, and of 64 numbers alone. Use D_head, and think of Adam's steps: "
            "they do not grow with the gradient.": (8.0, 64.0),
            "the start is the same, so the twin's first scores are too small: it divides them by the root.": (1.0, None),
            "the start is larger by D_head; the twin divides its scores by the root alone.": (float(D_head), None),
            "the start is divided by the root; the twin divides its scores already, so it must start larger.": (1 / root, None),
            "the rate grows by D_head. That is gradient descent, where the root counts twice: in the gradient, and in what a step has "
            "to do. Adam takes no notice of the gradient's size.": (None, float(D_head)),
            "the rate is the same, and so is the length of a step; but the twin's matrix is larger by the root, "
            "and has to change by so much more.": (None, 1.0),
            "the rate is divided by the root; the twin's matrix is larger, so its steps have to be longer.": (None, 1 / root),
            "the rate is divided by D_head; the twin's matrix is larger, so its steps have to be longer.": (None, 1 / D_head),
        }
        what = "the factor of the start", "the factor of the rate"
        yield Case((D_head,), (root, root), wrong, what, "two numbers: the factor of the start and that of the rate", atol=1e-6)
