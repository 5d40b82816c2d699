"""Checks of the masks chapter. In every mask that a reader makes or gets, True means allowed.

Shapes: B sequences, H heads, T queries, S keys.
"""

import math
from collections.abc import Mapping
from typing import Any

import torch
from torch import Tensor

from utils.attention import scaled_dot_product_attention
from utils.checks.comparing import (
    Code,
    FaultError,
    call,
    check,
    compare,
    compare_masks,
    compare_numbers,
    nan_within,
    normal,
    require_parts,
)
from utils.checks.mistakes import turned, wrong_masks, wrong_softmax

__all__ = [
    "causal_mask",
    "causal_padding_mask",
    "leaks_and_walls",
    "masked_softmax",
]

TURNED = turned("allowed")


@check
def causal_padding_mask(function: Code) -> None:
    """Check ``function(lengths, T)``: (B,) int64 and T to a (B, T, T) bool, True = may attend.

    The last ``lengths[b]`` tokens of text ``b`` are words; no query sees a key that lies ahead.
    """
    for lengths, T in [([1, 3, 2], 3), ([2, 4, 1, 3], 4), ([4, 2], 5)]:
        given = torch.tensor(lengths)
        padding = torch.arange(T) >= T - given.unsqueeze(-1)  # (B, T)
        keys, causal = padding.unsqueeze(1), torch.ones(T, T, dtype=torch.bool).tril()
        expected = torch.stack([row & causal for row in padding])  # (B, T, T)
        too_long = (torch.arange(T) >= T - given.unsqueeze(-1) - 1).unsqueeze(1)
        too_short = (torch.arange(T) > T - given.unsqueeze(-1)).unsqueeze(1)
        got = call(function, given.clone(), T)
        mistakes = {
            TURNED: ~expected,
            "only the padding is turned round: True means may attend.": ~keys & causal,
            "only the causal part is turned round: True means may attend.": keys & ~causal,
            "your mask allows what one of the two allows; both have to allow it.": keys | causal,
            "your padding blocks its queries; it has to block its keys.": (
                padding.unsqueeze(2) & causal
            ),
            "your mask has no causal part, and one axis too few.": padding,
            "your mask has no causal part.": keys.expand_as(expected),
            "your mask has no padding part, and no axis of texts.": causal,
            "your mask has no padding part.": causal.expand_as(expected),
            "your mask allows the later keys instead of the earlier ones.": keys & causal.mT,
            "your mask keeps a query from its own key.": keys & causal.tril(-1),
            "your mask lets a query see one key too far ahead.": keys & ~causal.mT.triu(2),
            "your mask allows one key too many: keys count from 0.": too_long & causal,
            "your mask blocks the first word: keys count from 0.": too_short & causal,
            "your mask allows the first keys; the words stand last.": keys.flip(-1) & causal,
        }
        if len(lengths) == T:  # they broadcast, text by query
            said = "your lengths lack the axis of the queries: (B, 1, T), then &."
            mistakes[said] = padding & causal
        compare_masks(got, expected, f"the mask for the lengths {lengths}", mistakes)


@check
def causal_mask(function: Code) -> None:
    """Check ``function(T, S)``: numbers of queries and keys, T <= S, to a (T, S) bool.

    The queries are the last of the S tokens: query ``t`` may attend to keys ``0 … S - T + t``.
    """
    for T, S in [(3, 5), (1, 4), (4, 4)]:
        expected = torch.tensor([[s <= S - T + t for s in range(S)] for t in range(T)])
        got = call(function, T, S)
        ones = torch.ones(T, S, dtype=torch.bool)
        mistakes = {
            TURNED: ~expected,
            "your mask starts at key 0, as tril and is_causal do; the queries stand last.": (
                ones.tril()
            ),
            "your mask allows the later keys instead of the earlier ones.": ones.triu(S - T),
            "your mask keeps a query from its own key.": ones.tril(S - T - 1),
            "your mask lets a query see one key too far ahead.": ones.tril(S - T + 1),
            "your shift has the wrong sign: it is S - T, not T - S.": ones.tril(T - S),
            "the axes are swapped: (S, T) instead of (T, S).": expected.T,
            "your mask allows every key, also those that lie ahead.": ones,
            "your mask has a row for each key; there are T queries, the last ones.": (
                torch.ones(S, S, dtype=torch.bool).tril()
            ),
        }
        compare_masks(got, expected, f"the mask for {T} queries and {S} keys", mistakes)


@check
def masked_softmax(function: Code) -> None:
    """Check ``function(scores, allowed)``: (B, T, S) floating and bool, to weights (B, T, S).

    Each row sums to one; where nothing is allowed, weights and gradient are 0, in float16 too.
    """
    allowed = torch.tensor([[[1, 1, 0, 1], [1, 0, 0, 0], [0, 1, 1, 1]]] * 2).bool()  # (B, T, S)
    scores = normal(0)(2, 3, 4)
    _softmax(function, scores, allowed, "the result")
    _softmax(function, 90 + 9 * scores, allowed, "the result for scores around 90")
    _softmax(function, scores.masked_fill(~allowed, 200.0), allowed, "the result for scores of 200")
    allowed[1, 0] = False
    _softmax(function, scores, allowed, "the result where one row is empty")
    _softmax(function, torch.full_like(scores, -3e38), allowed, "the result for scores of -3e38")
    _softmax(function, scores.half(), allowed, "the result in float16", atol=2e-3)


def _softmax(run: Code, scores: Tensor, allowed: Tensor, what: str, atol: float = 1e-5) -> None:
    mine, theirs = (scores.clone().requires_grad_() for _ in range(2))
    blocked = mine.double().masked_fill(~allowed, -math.inf)  # (B, T, S)
    empty = ~allowed.any(-1, keepdim=True)  # (B, T, 1)
    powers = (blocked - scores.amax(-1, keepdim=True)).exp()
    expected = powers / powers.sum(-1, keepdim=True).masked_fill(empty, 1.0)  # never 0 / 0
    got = call(run, theirs, allowed.clone())
    finite = scores.double().masked_fill(~allowed, -100.0).softmax(-1)
    mistakes = {
        "you fill with a finite number; allowed scores may be lower: use -inf.": finite * allowed,
        "blocked keys get weight where scores are low: fill with -inf.": finite * ~empty,
        "the empty row is NaN: its weights have no sum to divide by, and 0 / 0 is NaN.": (
            blocked.softmax(-1)
        ),
        "the empty row attends to all keys alike, not to none.": expected + empty * 0.25,
        "the empty row keeps its weights; set it to 0.": expected + empty * scores.softmax(-1),
        "all is NaN, as 0 times -inf is, or a fill with +inf: fill with -inf.": expected * math.nan,
        "the mask is added as 0 and 1; fill with -inf.": (scores.double() + allowed).softmax(-1),
    } | wrong_masks(scores.double(), allowed, "allowed")
    mistakes |= wrong_softmax(scores.double(), allowed)
    if not (scores.softmax(-1) * allowed).any():  # a softmax leaves nothing to what is allowed
        late = "you mask after the softmax and divide by the new sum; where a blocked score is far "
        late += "larger, that sum is 0: block before the softmax."
        none = "rows with allowed keys are all 0: block before the softmax, not after it."
        lost = torch.zeros_like(expected)
        mistakes = {late: lost * math.nan, none: lost} | mistakes
    compare(got, expected.detach(), what, mistakes, atol)
    (right,) = torch.autograd.grad((expected * torch.arange(4)).sum(), mine)
    total = (got.double() * torch.arange(4)).sum()
    (gradient,) = call(torch.autograd.grad, total, theirs, retain_graph=True)
    if gradient.isnan().any():
        raise FaultError(f"{what} is right, but the gradient that reaches the scores is NaN.")
    compare(gradient, right, f"the gradient through {what}", atol=5 * atol)
    if step := nan_within(total, theirs):
        said = f"{what} is right, but on the way back {step} gives NaN. Your fill stops it; a scale"
        raise FaultError(said + " learned between the two would get it. No row may become NaN.")


def _moved(attend: Code, x: Tensor, change: Code) -> Tensor:
    """Say which outputs move (T, T) when ``change(x, other)`` says what is query, key and value.

    Token ``j`` of ``other`` is another than in ``x``.
    """
    before, columns = attend(x, x, x), []
    for j in range(len(x)):
        other = x.clone()
        other[j] = normal(j)(x.shape[1], dtype=x.dtype)
        columns.append((attend(*change(x, other)) != before).any(-1))
    return torch.stack(columns, dim=-1)


def _piling_up(x: Tensor, other: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """Change ``x`` itself, as a reader does who forgets to copy."""
    x.copy_(other)
    return x, x, x


CHANGES: dict[str, Code] = {
    "your change also changes the query; give the queries as they were.": (
        lambda x, other: (other, other, other)
    ),
    "you change the key only; change the value too.": lambda x, other: (x, other, x),
    "you change x itself, and the changes pile up; change a copy.": _piling_up,
    "you add the same number to every coordinate, and the function that subtracts the mean does "
    "not notice; change the token to a random vector.": (
        lambda x, other: (x, *[x + (other != x).any(-1, keepdim=True)] * 2)
    ),
    "you change the token to NaN, and 0 times NaN is NaN: it is heard where it is blocked; change "
    "it to a random vector.": (
        lambda x, other: (x, *[x.masked_fill((other != x).any(-1, keepdim=True), math.nan)] * 2)
    ),
}


@check
def leaks_and_walls(function: Code) -> None:
    """Check ``function(attend, x, meant)``: to (leaks, walls), two counts of pairs (t, j).

    ``attend(query, key, value)`` gives outputs (T, D) for x of shape (T, D); ``meant`` is a (T, T)
    bool, True = may attend. A leak is a pair that was not meant and yet moves, a wall the contrary.
    """
    T, D = 4, 8
    ones = torch.ones(T, T, dtype=torch.bool)
    causal = ones.tril()
    x = (8 * normal(3)(T, D, dtype=torch.float64)).round() / 8  # so that a mean has no rounding
    masks = {
        "the right mask": causal,
        "no mask": None,
        "a mask turned round": ~causal,
        "a mask of floats": causal.to(x.dtype),
        "a mask that also blocks each query's own key": ones.tril(-1),
        "a mask that shows one key too many": ones.tril(1),
        "the right mask, where each token's mean is subtracted": causal,
    }
    cases: list[tuple[Any, float, str, Mapping[str, Any]]] = []
    for name, mask in masks.items():

        def attend(
            q: Tensor,
            k: Tensor,
            v: Tensor,
            mask: Tensor | None = mask,
            centred: bool = "mean" in name,
        ) -> Tensor:
            if centred:
                q, k, v = (y - y.mean(-1, keepdim=True) for y in (q, k, v))
            return scaled_dot_product_attention(q, k, v, mask)[0]

        used = mask if mask is not None and mask.dtype == torch.bool else ones
        got = call(function, attend, x.clone(), causal.clone())
        require_parts(got, 2, "two counts, of the leaks and of the walls")

        def counts(used: Tensor) -> tuple[int, int]:
            return int((used & ~causal).sum()), int((causal & ~used).sum())

        leaks, walls = counts(used)
        slips = {said: counts(_moved(attend, x.clone(), how)) for said, how in CHANGES.items()}
        for n, what in enumerate(("leaks", "walls")):
            mistakes = {
                "leaks and walls are exchanged.": (walls, leaks)[n],
                "your rows and columns are exchanged: row t is output t.": counts(used.T)[n],
                "you count all pairs that move or do not, not those that were meant otherwise.": (
                    (int(used.sum()), int((~used).sum()))[n]
                ),
                "you give both together; count leaks and walls apart.": leaks + walls,
                "these are shares; count the pairs.": (leaks, walls)[n] / T**2,
            } | {said: both[n] for said, both in slips.items()}
            cases.append((got[n], (leaks, walls)[n], f"the number of {what} of {name}", mistakes))
    compare_numbers(cases)
