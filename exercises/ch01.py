"""Checks of chapter 1. Shapes: T queries and S keys of D numbers each."""

import torch

from exercises.exercise import Case, Cases, Code, FaultError, call, check, exercise, normal
from exercises.mistakes import soft, wrong_softmax


@exercise
def kernel_weights() -> Cases:
    """Check ``function(queries, keys, width)``: (T, D), (S, D) and a number to weights (T, S).

    They are the softmax of -||q - k||^2 / (2 width^2); each row sums to one.
    """
    (queries, keys), width = map(normal(3), [(4, 3), (5, 3)]), 0.7
    apart = queries.unsqueeze(1) - keys  # (T, S, D)
    squared, variance = apart.square().sum(-1), width**2
    products, handicaps = queries @ keys.T, keys.square().sum(-1) / 2  # (T, S), (S,)
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
        "use squared distances, not products.": soft(products / (2 * variance)),
        "these are the products alone; take each key's handicap off.": soft(products / variance),
        "the handicap is half of the squared length; the whole is taken off.": soft((products - 2 * handicaps) / variance),
        "the handicaps are added; take them off.": soft((products + handicaps) / variance),
        "the handicap is half of the length squared; the length is not squared.": soft((products - keys.norm(dim=-1) / 2) / variance),
        "the handicaps are not divided by width**2; the products are.": soft(products / variance - handicaps),
    }
    wrong |= wrong_softmax(-squared / (2 * variance))
    yield Case((queries, keys, width), soft(-squared / (2 * variance)), wrong, "the matrix of weights")
    far = torch.full((1, 3), 100.0)
    wrong = {"far from all keys, 0/0 is NaN; use torch.softmax.": torch.full((1, 5), torch.nan)}
    yield Case((far, keys, width), torch.eye(5)[torch.cdist(far, keys).argmin(dim=-1)], wrong, "far from all keys, the row")


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


@check
def stuck_starts(stuck: object) -> None:
    """Check which starts get stuck: letters of A (3, 3.01), B (4, 4), C (7, 8) and D (4.5, 30)."""
    letters = {*map(str, stuck)} if isinstance(stuck, list | tuple | set | str) else {""}
    if not letters <= {*"ABCD"}:
        raise FaultError('stuck should be a list of letters from "A" to "D".')
    wrong = {
        "A learns: its keys are all but equal, so their gradients differ a little, and what differs grows.": "A" in letters,
        "C learns: the farther key gets 3 % of an eruption of 4 minutes, and that is enough for a gradient.": "C" in letters,
        "another start gets stuck, too. Can two keys part that get equal shares of all eruptions?": "B" not in letters,
        "another start gets stuck, too. Which key is so far away that it gets no share at all?": "D" not in letters,
    }
    for said, holds in wrong.items():
        if holds:
            raise FaultError(said)
