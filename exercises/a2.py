"""Checks of appendix A2: additive scores, and which houses a dot product can find.

Shapes: B sequences, T queries, S keys, D_head numbers in a projection.
"""

from typing import Any

import torch
from torch import Tensor

from exercises.exercise import Case, Cases, as_number, check, exercise, normal, require_parts


@exercise
def additive_scores() -> Cases:
    """Check the scores of additive attention, for a batch.

    ``function(query, key, w_query, w_key, w)`` takes Tensors of shape (B, T, D_query),
    (B, S, D_key), (D_query, D_head), (D_key, D_head) and (D_head,), and returns the
    scores, before any softmax, of shape (B, T, S).
    """
    for T, S, D_query, D_key, D_head in ((4, 4, 5, 5, 6), (2, 3, 4, 5, 3)):
        query, key = normal(0)(2, T, D_query), normal(1)(2, S, D_key)
        w_query, w_key = normal(2)(D_query, D_head), normal(3)(D_key, D_head)
        w = normal(4)(D_head)
        q, k = (query @ w_query).unsqueeze(2), (key @ w_key).unsqueeze(1)  # one axis more each
        scores = torch.einsum("btsa,a->bts", (q + k).tanh(), w)
        mistakes = {
            "tanh is missing.": (q + k) @ w,
            "these are dot products; add each query to each key, then tanh, then w.": q.squeeze(2) @ k.squeeze(1).mT,
            "tanh comes last; it belongs before the product with w.": ((q + k) @ w).tanh(),
            "tanh is taken of each part; add first.": (q.tanh() + k.tanh()) @ w,
            "it multiplies the two parts; add them.": (q * k).tanh() @ w,
            "w is missing: the D_head numbers are summed as they are.": (q + k).tanh().sum(-1),
            "the D_head numbers are averaged; sum them.": scores / D_head,
            "only the last of the D_head numbers is left: a loop over them adds with +=, not =.": (q + k).tanh()[..., -1] * w[-1],
            "the D_head numbers are not summed; the scores are (B, T, S).": (q + k).tanh() * w,
            "these are weights; leave the softmax out.": scores.softmax(-1),
            "the scores are divided by the root of D_head; leave that to the dot product.": scores / D_head**0.5,
            "the scores are transposed: a row is one query's.": scores.mT,
            "every sequence meets the keys of the first one.": _scores(q, k[:1], w),
        }
        if (T, D_query) == (S, D_key):
            paired = (query @ w_query + key @ w_key).tanh() @ w  # (B, T)
            mistakes["query t meets key t only; it should meet every key."] = paired
            swapped = (query @ w_key).unsqueeze(2) + (key @ w_query).unsqueeze(1)
            mistakes["w_query and w_key are swapped."] = swapped.tanh() @ w
            single = (query @ w_query).unsqueeze(1) + (key @ w_key).unsqueeze(0)  # (B, B, T, D_head)
            said = "the axes of size 1 are those of one sequence; a batch moves each one to the right."
            mistakes[said] = single.tanh() @ w
        yield Case((query, key, w_query, w_key, w), scores, mistakes, "the result")


@check
def houses_in_town(predicted: Any) -> dict[str, bool]:
    """Check two predictions: how many of 25 houses in a square a dot product finds.

    ``predicted`` is a pair of whole numbers, with keys (x, y) and with x * x + y * y beside them.
    """
    require_parts(predicted, 2, "two numbers, (flat, lifted)")
    names = ("flat", "lifted")
    flat, lifted = (as_number(p, name, whole=True) for p, name in zip(predicted, names, strict=True))
    return {
        "these are no predictions yet: some house always gets the most weight.": flat == lifted == 0,
        "flat: a line has two ends, and a square has more corners.": flat == 2,
        "flat: a house on an edge, between two corners, is never farther out than both.": flat == 16,
        "flat: a house in the middle lies between others, whatever the direction is.": flat == 25,
        f"flat: {flat} is not it; count the houses that some direction prefers to all others.": flat != 4,
        "lifted: the one in the middle can be lowest, but so can any other, if the bowl is tilted.": lifted == 5,
        f"lifted: {lifted} is not it; on a bowl, which house lies between others?": lifted != 25,
    }


def _scores(q: Tensor, k: Tensor, w: Tensor) -> Tensor:
    return (q + k).tanh() @ w
