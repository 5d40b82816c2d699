"""Checks of chapter 1. Shapes: T queries, S keys of D numbers each, values of D_value numbers."""

import torch

from exercises.exercise import Case, Cases, Code, FaultError, call, check, exercise, normal
from exercises.mistakes import TRANSPOSED, soft, wrong_softmax

SCALED = "the scores are divided by the root of the number of features; leave that to chapter 2."


@exercise
def soft_lookup() -> Cases:
    """Check ``function(query, keys, values)``: (D,), (S, D), (S, D_value) to the output (D_value,)."""
    query, keys, values = map(normal(3), [(3,), (5, 3), (5, 2)])
    scores = torch.stack([(key * query).sum() for key in keys])  # (S,)
    wrong = {
        "the scores weigh the values as they are; make them weights by a softmax.": scores @ values,
        "the scores are divided by their sum; the softmax takes their exponentials first.": scores @ values / scores.sum(),
        "the exponentials are not divided by their sum.": scores.exp() @ values,
        SCALED: soft(scores / 3**0.5) @ values,
        "it is the value of the best key alone; mix all by their weights.": values[scores.argmax()],
        "these are the weights; go on to the weighted sum of the values.": soft(scores),
        "all values have the same weight; let the scores decide.": values.mean(dim=0),
        "these are the scores; make them weights by a softmax, and mix the values.": scores,
        "the sign is wrong: a larger score should give a larger weight.": soft(-scores) @ values,
        "the keys are mixed; mix the values.": soft(scores) @ keys,
    }
    yield Case((query, keys, values), soft(scores) @ values, wrong, "the output")


@exercise
def kernel_weights() -> Cases:
    """Check ``function(queries, keys, width)``: (T, D), (S, D) and a number to weights (T, S).

    They are the softmax of -||q - k||^2 / (2 width^2); each row sums to one.
    """
    (queries, keys), width = map(normal(3), [(4, 3), (5, 3)]), 0.7
    apart = queries.unsqueeze(1) - keys  # (T, S, D)
    squared, variance = apart.square().sum(-1), width**2
    wrong = {
        "the width is not used.": soft(-squared / 2),
        "the width is not squared.": soft(-squared / (2 * width)),
        "a factor is missing: divide by 2 * width**2.": soft(-squared / variance),
        "/ 2 * width**2 divides by 2, then multiplies; write / (2 * width**2).": soft(-squared / 2 * variance),
        "the 2 is squared too: (2 * width)**2 is 4 * width**2; write 2 * width**2.": soft(-squared / (2 * width) ** 2),
        "the sign is wrong: far keys get more weight than near.": soft(squared / (2 * variance)),
        "the distances are not squared.": soft(-squared.sqrt() / (2 * variance)),
        "the differences are added up, then squared; square each of them first.": soft(-apart.sum(-1).square() / (2 * variance)),
        "the squared differences are averaged over the numbers; add them up.": soft(-squared / 3 / (2 * variance)),
        "use squared distances, not products.": soft(queries @ keys.T / (2 * variance)),
    }
    wrong |= wrong_softmax(-squared / (2 * variance))
    yield Case((queries, keys, width), soft(-squared / (2 * variance)), wrong, "the matrix of weights")
    far = torch.full((1, 3), 100.0)
    wrong = {"far from all keys, 0/0 is NaN; use torch.softmax.": torch.full((1, 5), torch.nan)}
    yield Case((far, keys, width), torch.eye(5)[torch.cdist(far, keys).argmin(dim=-1)], wrong, "far from all keys, the row")


@exercise
def self_attention() -> Cases:
    """Check ``function(x, w_q, w_k, w_v)``: (T, D), two (D, D_head), (D, D_value) to (output, weights).

    The output is (T, D_value), the weights (T, T), rows of sum one; the scores have no scale.
    """
    x, w_q, w_k, w_v = given = tuple(map(normal(3), [(5, 4), (4, 3), (4, 3), (4, 2)]))
    q, k, v = x @ w_q, x @ w_k, x @ w_v
    weights = soft(scores := q @ k.T)  # (T, T)
    of_weights = wrong_softmax(scores) | {
        "the queries and keys are x itself; project them with w_q and w_k.": soft(x @ x.T),
        SCALED: soft(scores / 3**0.5),
        "the scores are divided by a root; leave that to chapter 2.": soft(scores / 2),
        "the keys are made with w_q; make them with w_k.": soft(q @ q.T),
        "the queries are made with w_k; make them with w_q.": soft(k @ k.T),
        "all weights are equal; let the scores decide.": torch.full((5, 5), 0.2),
    }
    wrong = {said: (None, made) for said, made in of_weights.items()} | {
        "the output comes first, then the weights.": (weights, weights @ v),
        "the output is a sum of rows of x; project them with w_v first.": (weights @ x, None),
        TRANSPOSED: (weights.T @ v, weights.T),
        "these are the values; weigh them and add them up.": (v, None),
    }
    what = "the output", "the matrix of weights"
    yield Case(given, (weights @ v, weights), wrong, what, "two things: the output and the weights", order=(1, 0))


@check
def queries_by_hand(function: Code) -> None:
    """Check ``function()``: a matrix w_q (3, 2) that is set by hand.

    Its rows are what an action, a person and a thing look for; its columns meet "is it an action?" and "is it a person?"
    of the keys. "can" and "that" should give "you" at least 0.8 of their attention, and "you" each of the four words the same.
    """
    got = call(function)
    try:
        w_q = torch.as_tensor(got).detach().float()
    except (TypeError, ValueError, RuntimeError):
        raise FaultError(f"w_q should be a tensor (3, 2); got {type(got).__name__}.") from None
    if w_q.shape != (3, 2):
        turned = "w_q is (2, 3); a row for each of action, person, thing makes it (3, 2)."
        raise FaultError(turned if w_q.shape == (2, 3) else f"w_q has shape {tuple(w_q.shape)}; expected (3, 2).")
    if not w_q.isfinite().all():
        raise FaultError("w_q has numbers that are not finite; 3 or 4 is large enough.")
    x = torch.eye(3)[[0, 1, 0, 2]]  # can you can that, (T, D)
    weights = soft(x @ w_q @ x[:, :2].T)  # (T, T); a key is whether it is an action, and a person
    for t, word, kind, (action, person) in ((0, "can", "an action", w_q[0]), (3, "that", "a thing", w_q[2])):
        on_can, on_you = weights[t, :2].tolist()
        reasons = {
            "a negative number turns it away. What finds a person?": person < 0,
            "turning away from actions still leaves two words. What finds a person?": person == 0 and action < 0,
            "it looks for an action: the second number finds a person.": on_can > max(on_you, 0.26),
            f"it has no preference. Its row is that of {kind}.": on_you < 0.26,
            "make its number larger, so that the softmax decides.": True,
        }
        if on_you < 0.8:
            raise FaultError(f'"{word}" gives "you" only {on_you:.3f}; {next(said for said, holds in reasons.items() if holds)}')
    if (weights[1] - 0.25).abs().max() > 0.01:
        shares = ", ".join(f"{w:.2f}" for w in weights[1].tolist())
        raise FaultError(f'"you" gives the words {shares}; it gives all the same, 0.25, where its query fits no key better than another.')
