"""Checks of appendix A2: additive scores, and a bilinear score as two projections.

Shapes: B sequences, T queries, S keys, D_head numbers in a projection.
"""

import torch
from torch import Tensor

from exercises.exercise import Case, Cases, Code, FaultError, call, check, compare, exercise, normal, require_parts


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
            "these are dot products; add each query to each key, then tanh, then w.": (q.squeeze(2) @ k.squeeze(1).mT),
            "tanh comes last; it belongs before the product with w.": ((q + k) @ w).tanh(),
            "tanh is taken of each part; add first.": (q.tanh() + k.tanh()) @ w,
            "it multiplies the two parts; add them.": (q * k).tanh() @ w,
            "w is missing: the D_head numbers are summed as they are.": (q + k).tanh().sum(-1),
            "the D_head numbers are averaged; sum them.": scores / D_head,
            "only the last of the D_head numbers is left: a loop over them adds with +=, not =.": ((q + k).tanh()[..., -1] * w[-1]),
            "the D_head numbers are not summed; the scores are (B, T, S).": (q + k).tanh() * w,
            "these are weights; leave the softmax out.": scores.softmax(-1),
            "the scores are divided by the root of D_head; leave that to the dot product.": (scores / D_head**0.5),
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
def two_projections(function: Code) -> None:
    """Check two projections whose dot product is a given bilinear score.

    ``function(W, rank)`` takes a matrix (D_query, D_key) of this rank, and returns ``w_query``,
    (D_query, rank), and ``w_key``, (D_key, rank), with ``w_query @ w_key.T`` equal to ``W``.
    """
    for D_query, D_key, rank in ((5, 5, 2), (4, 6, 3)):
        W = normal(5)(D_query, rank) @ normal(6)(rank, D_key)
        given = W.clone()
        got = call(function, given, rank)
        require_parts(got, 2, "two matrices: w_query and w_key")
        if not all(isinstance(part, Tensor) for part in got):
            kinds = " and ".join(type(part).__name__ for part in got)
            raise FaultError(f"w_query and w_key should be tensors; got {kinds}.")
        _shapes(got[0], got[1], W, rank)
        w_query, w_key = (part.detach().to(W.dtype) for part in got)
        U, values, Vh = torch.linalg.svd(W)
        U, values, V = U[:, :rank], values[:rank], Vh[:rank].T
        mistakes = {
            "the singular values are missing: W is U times them times V transposed.": U @ V.T,
            "the singular values are in both matrices, so they count twice; put their roots into each, or all of them into one.": U
            * values**2
            @ V.T,
            "the roots of the singular values are in one matrix only; each needs them.": (U * values**0.5 @ V.T),
            "their product is W transposed: exchange the two.": W.T,
        }
        if D_query == D_key:
            columns = torch.linalg.svd(W).Vh[:, :rank]  # of V transposed
            said = "torch.linalg.svd gives V transposed: take its first rows, as columns of w_key."
            mistakes[said] = U * values @ columns.T
        compare(w_query @ w_key.T, W, "w_query @ w_key.T", mistakes, atol=1e-4)


def _scores(q: Tensor, k: Tensor, w: Tensor) -> Tensor:
    return (q + k).tanh() @ w


def _shapes(w_query: Tensor, w_key: Tensor, W: Tensor, rank: int) -> None:
    """Raise ``FaultError`` unless the two matrices have ``rank`` columns each."""
    expected = [(size, rank) for size in W.shape]
    shapes = [tuple(part.shape) for part in (w_query, w_key)]
    if shapes == expected:
        return
    if shapes == [expected[0], expected[1][::-1]]:
        raise FaultError("w_key is transposed; like w_query it has a row for each input number.")
    if (
        w_query.dim() == w_key.dim() == 2
        and w_query.shape[1] == w_key.shape[1] > rank
        and torch.allclose(w_query.to(W.dtype) @ w_key.to(W.dtype).T, W, atol=1e-4)
    ):
        raise FaultError(
            f"the product is right, but each matrix has {w_query.shape[1]} columns; a head of "
            f"{rank} is enough, since W has the rank {rank}."
        )
    raise FaultError(f"the two matrices have the shapes {shapes}; expected {expected}.")
