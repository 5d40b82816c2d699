"""Checks of the masks chapter. In every mask that a reader makes or gets, True means allowed.

Shapes: B sequences, H heads, T queries, S keys.
"""

import math

import torch
from torch import Tensor
from utils.attention import scaled_dot_product_attention

from exercises.exercise import Case, Cases, Code, FaultError, call, compare, exercise, nan_within, normal
from exercises.mistakes import turned, wrong_masks, wrong_softmax

TURNED = turned("allowed")


@exercise
def causal_padding_mask() -> Cases:
    """Check ``function(lengths, T)``: (B,) int64 and T to a (B, T, T) bool, True = may attend.

    The last ``lengths[b]`` tokens of text ``b`` are words; no query sees a key that lies ahead.
    """
    for lengths, T in [([1, 3, 2], 3), ([2, 4, 1, 3], 4), ([4, 2], 5)]:
        place, count = torch.arange(T), torch.tensor(lengths).unsqueeze(-1)
        words, causal = place >= T - count, torch.ones(T, T, dtype=torch.bool).tril()  # (B, T), (T, T)
        keys, too_long, too_short = (x.unsqueeze(1) for x in (words, place >= T - count - 1, place > T - count))
        right = torch.stack([row & causal for row in words])
        wrong = {
            TURNED: ~right,
            "only the padding is turned round: True means may attend.": ~keys & causal,
            "only the causal part is turned round: True means may attend.": keys & ~causal,
            "your mask allows what one of the two allows; both have to allow it.": keys | causal,
            "your padding blocks its queries; it has to block its keys.": words.unsqueeze(2) & causal,
            "your mask has no causal part, and one axis too few.": words,
            "your mask has no causal part.": keys.expand_as(right),
            "your mask has no padding part, and no axis of texts.": causal,
            "your mask has no padding part.": causal.expand_as(right),
            "your mask allows the later keys instead of the earlier ones.": keys & causal.mT,
            "your mask keeps a query from its own key.": keys & causal.tril(-1),
            "your mask lets a query see one key too far ahead.": keys & ~causal.mT.triu(2),
            "your mask allows one key too many: keys count from 0.": too_long & causal,
            "your mask blocks the first word: keys count from 0.": too_short & causal,
            "your mask allows the first keys; the words stand last.": keys.flip(-1) & causal,
        }
        if len(lengths) == T:  # they broadcast, text by query
            wrong["your lengths lack the axis of the queries: (B, 1, T), then &."] = words & causal
        yield Case((torch.tensor(lengths), T), right, wrong, f"the mask for the lengths {lengths}")


@exercise
def causal_mask() -> Cases:
    """Check ``function(T, S)``: numbers of queries and keys, T <= S, to a (T, S) bool.

    The queries are the last of the S tokens: query ``t`` may attend to keys ``0 … S - T + t``.
    """
    for T, S in [(3, 5), (1, 4), (4, 4)]:
        right, ones = torch.tensor([[s <= S - T + t for s in range(S)] for t in range(T)]), torch.ones(T, S, dtype=torch.bool)
        wrong = {
            TURNED: ~right,
            "your mask starts at key 0, as tril and is_causal do; the queries stand last.": ones.tril(),
            "your mask allows the later keys instead of the earlier ones.": ones.triu(S - T),
            "your mask keeps a query from its own key.": ones.tril(S - T - 1),
            "your mask lets a query see one key too far ahead.": ones.tril(S - T + 1),
            "your shift has the wrong sign: it is S - T, not T - S.": ones.tril(T - S),
            "the axes are swapped: (S, T) instead of (T, S).": right.T,
            "your mask allows every key, also those that lie ahead.": ones,
            "your mask has a row for each key; there are T queries, the last ones.": torch.ones(S, S, dtype=torch.bool).tril(),
        }
        yield Case((T, S), right, wrong, f"the mask for {T} queries and {S} keys")


@exercise
def masked_softmax() -> Cases:
    """Check ``function(scores, allowed)``: (B, T, S) floating and bool, to weights (B, T, S).

    Each row sums to one; where nothing is allowed, weights and gradient are 0, in float16 too.
    """
    allowed = torch.tensor([[[1, 1, 0, 1], [1, 0, 0, 0], [0, 1, 1, 1]]] * 2).bool()  # (B, T, S)
    scores, some_empty = normal(0)(2, 3, 4), allowed.clone()
    some_empty[1, 0] = False
    yield from _softmax(scores, allowed, "the result")
    yield from _softmax(90 + 9 * scores, allowed, "the result for scores around 90")
    yield from _softmax(scores.masked_fill(~allowed, 200.0), allowed, "the result for scores of 200")
    yield from _softmax(scores, some_empty, "the result where one row is empty")
    yield from _softmax(torch.full_like(scores, -3e38), some_empty, "the result for scores of -3e38")
    yield from _softmax(scores.half(), some_empty, "the result in float16", atol=2e-3)


def _softmax(scores: Tensor, allowed: Tensor, what: str, atol: float = 1e-5) -> Cases:
    given = scores.clone().requires_grad_()
    blocked, empty = given.double().masked_fill(~allowed, -math.inf), ~allowed.any(-1, keepdim=True)  # (B, T, S), (B, T, 1)
    powers = (blocked - scores.amax(-1, keepdim=True)).exp()
    right = powers / powers.sum(-1, keepdim=True).masked_fill(empty, 1.0)  # never 0 / 0
    finite = given.double().masked_fill(~allowed, -100.0).softmax(-1)
    wrong = {
        "you fill with a finite number; allowed scores may be lower: use -inf.": finite * allowed,
        "blocked keys get weight where scores are low: fill with -inf.": finite * ~empty,
        "the empty row is NaN: its weights have no sum to divide by, and 0 / 0 is NaN.": blocked.softmax(-1),
        "the empty row attends to all keys alike, not to none.": right + empty * 0.25,
        "the empty row keeps its weights; set it to 0.": right + empty * scores.softmax(-1),
        "all is NaN, as 0 times -inf is, or a fill with +inf: fill with -inf.": right * math.nan,
        "the mask is added as 0 and 1; fill with -inf.": (given.double() + allowed).softmax(-1),
    }
    wrong |= wrong_masks(given.double(), allowed, "allowed") | wrong_softmax(given.double(), allowed)
    if not (scores.softmax(-1) * allowed).any():  # a softmax leaves nothing to what is allowed
        late = "you mask after the softmax and divide by the new sum; where a blocked score is far "
        late += "larger, that sum is 0: block before the softmax."
        none = "rows with allowed keys are all 0: block before the softmax, not after it."
        wrong = {late: right * math.nan, none: right * 0} | wrong
    got = yield Case((given, allowed), right, wrong, what, atol=atol)
    (gradient,) = torch.autograd.grad((right * torch.arange(4)).sum(), given, retain_graph=True)
    total = (got.double() * torch.arange(4)).sum()
    (mine,) = call(torch.autograd.grad, total, given, retain_graph=True)
    if mine.isnan().any():
        raise FaultError(f"{what} is right, but the gradient that reaches the scores is NaN.")
    compare(mine, gradient, f"the gradient through {what}", atol=5 * atol)
    if step := nan_within(total, given):
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


def _add(x: Tensor, other: Tensor, what: float) -> Tensor:
    """Add a number to every coordinate of the token in which the two differ."""
    return x + what * (other != x).any(-1, keepdim=True)


NOT_RANDOM = "you add the same number to every coordinate, and the function that subtracts the mean does not notice; "
TO_NAN = "you change the token to NaN, and 0 times NaN is NaN: it is heard where it is blocked; "
CHANGES: dict[str, Code] = {
    "your change also changes the query; give the queries as they were.": lambda x, other: [other] * 3,
    "you change the key only; change the value too.": lambda x, other: (x, other, x),
    "you change x itself, and the changes pile up; change a copy.": lambda x, other: [x.copy_(other)] * 3,
    NOT_RANDOM + "change the token to a random vector.": lambda x, other: (x, *[_add(x, other, 1)] * 2),
    TO_NAN + "change it to a random vector.": lambda x, other: (
        x,
        *[x.masked_fill((other != x).any(-1, keepdim=True), math.nan)] * 2,
    ),
}


@exercise
def leaks_and_walls() -> Cases:
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
    for name, mask in masks.items():

        def attend(*qkv: Tensor, mask: Tensor | None = mask, centred: bool = "mean" in name) -> Tensor:
            q, k, v = (y - y.mean(-1, keepdim=True) if centred else y for y in qkv)
            return scaled_dot_product_attention(q, k, v, mask)[0]

        def counts(used: Tensor) -> tuple[int, int]:
            return int((used & ~causal).sum()), int((causal & ~used).sum())

        used = mask if mask is not None and mask.dtype == torch.bool else ones
        leaks, walls = counts(used)
        wrong = {
            "leaks and walls are exchanged.": (walls, leaks),
            "your rows and columns are exchanged: row t is output t.": counts(used.T),
            "you count all pairs that move or do not, not those that were meant otherwise.": (int(used.sum()), int((~used).sum())),
            "you give both together; count leaks and walls apart.": (leaks + walls,) * 2,
            "these are shares; count the pairs.": (leaks / T**2, walls / T**2),
        }
        wrong |= {said: counts(_moved(attend, x.clone(), how)) for said, how in CHANGES.items()}
        what = tuple(f"the number of {of} of {name}" for of in ("leaks", "walls"))
        yield Case((attend, x, causal), (leaks, walls), wrong, what, "two counts, of the leaks and of the walls")
