"""Checks of chapter 1: soft lookup, kernel weights, self-attention, and queries by hand."""

import torch
from torch import Tensor

from utils.checks.comparing import Code, FaultError, call, check, compare, normal, require_parts
from utils.checks.mistakes import TRANSPOSED, soft, wrong_softmax

__all__ = ["kernel_weights", "queries_by_hand", "self_attention", "soft_lookup"]

SCALED = "the scores are divided by the root of the number of features; leave that to chapter 2."


def _draw(*shapes: tuple[int, ...]) -> list[Tensor]:
    draw = normal(3)
    return [draw(*shape) for shape in shapes]


@check
def soft_lookup(function: Code) -> None:
    """Check ``function(query, keys, values)``, the lookup of one query by dot product and softmax.

    It takes a query (D,), keys (S, D) and values (S, D_value), and returns the output (D_value,).
    """
    query, keys, values = _draw((3,), (5, 3), (5, 2))
    scores = torch.stack([(key * query).sum() for key in keys])  # (S,)
    total = scores.exp().sum()
    expected = torch.stack([scores[s].exp() / total * values[s] for s in range(5)]).sum(dim=0)
    no_exp = "the scores are divided by their sum; the softmax takes their exponentials first."
    mistakes = {
        "the scores weigh the values as they are; make them weights by a softmax.": scores @ values,
        no_exp: scores @ values / scores.sum(),
        "the exponentials are not divided by their sum.": scores.exp() @ values,
        SCALED: soft(scores / 3**0.5) @ values,
        "it is the value of the best key alone; mix all by their weights.": values[scores.argmax()],
        "these are the weights; go on to the weighted sum of the values.": soft(scores),
        "all values have the same weight; let the scores decide.": values.mean(dim=0),
        "these are the scores; make them weights by a softmax, and mix the values.": scores,
        "the sign is wrong: a larger score should give a larger weight.": soft(-scores) @ values,
        "the keys are mixed; mix the values.": soft(scores) @ keys,
    }
    compare(call(function, query, keys, values), expected, "the output", mistakes)


@check
def kernel_weights(function: Code) -> None:
    """Check ``function(queries, keys, width)``, the softmax of -||q - k||^2 / (2 width^2).

    It takes queries (T, D), keys (S, D) and a number, and returns weights (T, S), rows of sum one.
    """
    (queries, keys), width = _draw((4, 3), (5, 3)), 0.7
    squared = torch.tensor([[float(((q - k) ** 2).sum()) for k in keys] for q in queries])  # (T, S)
    kernel = (-squared / (2 * width**2)).exp()
    expected = kernel / kernel.sum(dim=1, keepdim=True)
    mistakes = {
        "the width is not used.": soft(-squared / 2),
        "the width is not squared.": soft(-squared / (2 * width)),
        "a factor is missing: divide by 2 * width**2.": soft(-squared / width**2),
        "/ 2 * width**2 divides by 2, then multiplies; write / (2 * width**2).": soft(
            -squared / 2 * width**2
        ),
        "the sign is wrong: far keys get more weight than near.": soft(squared / (2 * width**2)),
        "the distances are not squared.": soft(-squared.sqrt() / (2 * width**2)),
        "the squared differences are averaged over the numbers; add them up.": soft(
            -squared / 3 / (2 * width**2)
        ),
        "use squared distances, not products.": soft(queries @ keys.T / (2 * width**2)),
    } | wrong_softmax(-squared / (2 * width**2))
    compare(call(function, queries, keys, width), expected, "the matrix of weights", mistakes)
    far = torch.full((1, 3), 100.0)
    nearest = torch.cdist(far, keys).argmin(dim=-1)  # (1,)
    mistakes = {"far from all keys, 0/0 is NaN; use torch.softmax.": torch.full((1, 5), torch.nan)}
    got = call(function, far, keys, width)
    compare(got, torch.eye(5)[nearest], "far from all keys, the row", mistakes)


@check
def self_attention(function: Code) -> None:
    """Check ``function(x, w_q, w_k, w_v)``, self-attention without a scale.

    It takes x (T, D), w_q and w_k (D, D_head) and w_v (D, D_value), and returns two tensors: the
    output (T, D_value) and the weights (T, T), rows of sum one.
    """
    x, w_q, w_k, w_v = _draw((5, 4), (4, 3), (4, 3), (4, 2))
    q, k, v = x @ w_q, x @ w_k, x @ w_v
    scores = torch.tensor([[float(query.dot(key)) for key in k] for query in q])  # (T, T)
    weights = torch.stack([row.exp() / row.exp().sum() for row in scores])
    output = torch.stack([(row.unsqueeze(1) * v).sum(dim=0) for row in weights])  # (T, D_value)
    got = call(function, x, w_q, w_k, w_v)
    require_parts(got, 2, "two things: the output and the weights")
    if [getattr(part, "shape", None) for part in got] == [weights.shape, output.shape]:
        raise FaultError("the output comes first, then the weights.")
    mistakes = wrong_softmax(scores) | {
        "the queries and keys are x itself; project them with w_q and w_k.": soft(x @ x.T),
        SCALED: soft(scores / 3**0.5),
        "the scores are divided by a root; leave that to chapter 2.": soft(scores / 2),
        "the keys are made with w_q; make them with w_k.": soft(q @ q.T),
        "the queries are made with w_k; make them with w_q.": soft(k @ k.T),
        "all weights are equal; let the scores decide.": torch.full((5, 5), 0.2),
    }
    compare(got[1], weights, "the matrix of weights", mistakes)
    mistakes = {
        "the output is a sum of rows of x; project them with w_v first.": weights @ x,
        TRANSPOSED: weights.T @ v,
        "these are the values; weigh them and add them up.": v,
    }
    compare(got[0], output, "the output", mistakes)


@check
def queries_by_hand(function: Code) -> None:
    """Check ``function()``, a matrix w_q (3, 2) that is set by hand.

    Its rows are what an action, a person and a thing look for; a query has two numbers, which meet
    "is it an action?" and "is it a person?" of the keys. "can" and "that" should give "you" at
    least 0.8 of their attention, and "you" should give each of the four words the same.
    """
    got = call(function)
    try:
        w_q = torch.as_tensor(got).detach().float()
    except (TypeError, ValueError, RuntimeError):
        raise FaultError(f"w_q should be a tensor (3, 2); got {type(got).__name__}.") from None
    if w_q.shape == (2, 3):
        raise FaultError("w_q is (2, 3); a row for each of action, person, thing makes it (3, 2).")
    if w_q.shape != (3, 2):
        raise FaultError(f"w_q has shape {tuple(w_q.shape)}; expected (3, 2).")
    if not w_q.isfinite().all():
        raise FaultError("w_q has numbers that are not finite; 3 or 4 is large enough.")
    x = torch.eye(3)[[0, 1, 0, 2]]  # can you can that, (T, D)
    w_k = torch.tensor([[1.0, 0.0], [0.0, 1.0], [0.0, 0.0]])  # (D, D_head)
    weights = soft(x @ w_q @ (x @ w_k).T)  # (T, T)
    for t, word in ((0, "can"), (3, "that")):
        on_you, on_can = weights[t, 1].item(), weights[t, 0].item()
        if on_you < 0.8:
            said = f'"{word}" gives "you" only {on_you:.3f}; '
            looks = w_q[0 if t == 0 else 2]
            if looks[1] < 0:
                raise FaultError(f"{said}a negative number turns it away. What finds a person?")
            if looks[1] == 0 and looks[0] < 0:
                raise FaultError(
                    f"{said}turning away from actions still leaves two words. What finds a person?"
                )
            if on_can > max(on_you, 0.26):
                raise FaultError(f"{said}it looks for an action: the second number finds a person.")
            if on_you < 0.26:
                row = "an action" if t == 0 else "a thing"
                raise FaultError(f"{said}it has no preference. Its row is that of {row}.")
            raise FaultError(f"{said}make its number larger, so that the softmax decides.")
    if (weights[1] - 0.25).abs().max() > 0.01:
        raise FaultError(
            f'"you" gives the words {", ".join(f"{w:.2f}" for w in weights[1].tolist())}; it gives '
            "all the same, 0.25, where its query fits no key better than another."
        )
