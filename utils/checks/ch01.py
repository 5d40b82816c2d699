"""Checks of chapter 1: soft lookup, similarity, kernel weights, self-attention, temperature."""

import torch
from torch import Tensor

from utils.checks.comparing import Code, FaultError, call, check, compare, normal, require_parts
from utils.checks.mistakes import TRANSPOSED, soft, wrong_softmax

__all__ = ["cosine_similarities", "kernel_weights", "self_attention", "soft_lookup", "softmax_at"]

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
    }
    compare(call(function, query, keys, values), expected, "the output", mistakes)


@check
def cosine_similarities(function: Code) -> None:
    """Check ``function(queries, keys)``, the cosine similarity of every query with every key.

    It takes queries (T, D) and keys (S, D), and returns a matrix (T, S).
    """
    queries, keys = _draw((4, 3), (5, 3))
    expected = torch.tensor([[q.dot(k) / (q.norm() * k.norm()) for k in keys] for q in queries])
    product = queries @ keys.T  # (T, S)
    of_query, of_key = queries.norm(dim=-1, keepdim=True), keys.norm(dim=-1)  # (T, 1), (S,)
    mistakes = {
        "the dot products are not divided by the lengths of the vectors.": product,
        "divide by the lengths of the keys as well as of the queries.": product / of_query,
        "divide by the lengths of the queries as well as of the keys.": product / of_key,
        "divide by the lengths, not by their squares.": product / (of_query * of_key) ** 2,
        "rows and columns are exchanged: a row for each query, a column for a key.": expected.T,
    }
    compare(call(function, queries, keys), expected, "the matrix", mistakes)


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
        "the sign is wrong: far keys get more weight than near.": soft(squared / (2 * width**2)),
        "the distances are not squared.": soft(-squared.sqrt() / (2 * width**2)),
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
    }
    compare(got[1], weights, "the matrix of weights", mistakes)
    mistakes = {
        "the output is a sum of rows of x; project them with w_v first.": weights @ x,
        TRANSPOSED: weights.T @ v,
        "these are the values; weigh them and add them up.": v,
    }
    compare(got[0], output, "the output", mistakes)


@check
def softmax_at(function: Code) -> None:
    """Check ``function(scores, temperature)``, the softmax of the scores over the temperature.

    It takes scores (T, S) and a positive number, and returns weights (T, S), rows of sum one.
    """
    (scores,), temperature = _draw((4, 5)), 2.5
    powers = torch.tensor([[float((s / temperature).exp()) for s in row] for row in scores])
    expected = powers / powers.sum(dim=1, keepdim=True)
    mistakes = {
        "the temperature is not used.": soft(scores),
        "the scores are multiplied by the temperature; divide.": soft(scores * temperature),
        "divide the scores before the softmax, not the weights.": soft(scores) / temperature,
    } | wrong_softmax(scores / temperature)
    compare(call(function, scores, temperature), expected, "the matrix of weights", mistakes)
    got = call(function, scores, 1e-3)
    if isinstance(got, Tensor) and got.isnan().any():
        raise FaultError("at temperature 0.001 the exponentials overflow; torch.softmax does not.")
    compare(got, torch.eye(5)[scores.argmax(dim=-1)], "at temperature 0.001, the matrix")
