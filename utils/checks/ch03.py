"""Checks of the masks chapter. In every mask that a reader makes or gets, True means allowed.

Shapes: B sequences, H heads, T queries, S keys.
"""

import math
from typing import Any

import torch
from torch import Tensor

from utils.checks.comparing import Code, FaultError, call, check, compare, normal
from utils.checks.mistakes import turned, wrong_masks, wrong_softmax

__all__ = ["causal_mask", "combined_mask", "layer_mask", "masked_softmax", "padding_mask"]

TURNED = turned("allowed")


def _mask(function: Code, *args: Any) -> Any:
    got = call(function, *args)
    if isinstance(got, Tensor) and got.dtype != torch.bool:
        raise FaultError(f"the mask has dtype {got.dtype}; expected torch.bool.")
    return got


@check
def padding_mask(function: Code) -> None:
    """Check ``function(lengths, num_keys)``: (B,) int64 and S to a (B, S) bool, True = allowed.

    The first ``lengths[b]`` keys of sequence ``b`` are words, the others padding.
    """
    for lengths, S in [([3, 5, 1], 6), ([2, 0, 3], 3)]:
        expected = torch.tensor([[s < length for s in range(S)] for length in lengths])
        got = _mask(function, torch.tensor(lengths), S)
        sizes = torch.tensor(lengths).unsqueeze(-1)  # (B, 1)
        mistakes = {
            TURNED: ~expected,
            "your mask allows one key too many: keys count from 0.": torch.arange(S) <= sizes,
            "your mask blocks the last word: keys count from 0.": torch.arange(S) < sizes - 1,
            "your mask allows the last keys; the words stand first.": expected.flip(-1),
            "the axes are swapped: (S, B) instead of (B, S).": expected.T,
        }
        compare(got, expected, f"the mask for the lengths {lengths}", mistakes)


@check
def causal_mask(function: Code) -> None:
    """Check ``function(num_queries, num_keys)``: T and S to a (T, S) bool, True = allowed.

    Query ``t`` may attend to keys ``0 … t``.
    """
    for T, S in [(4, 4), (3, 5), (5, 3)]:
        expected = torch.tensor([[s <= t for s in range(S)] for t in range(T)])
        got = _mask(function, T, S)
        ones = torch.ones(T, S, dtype=torch.bool)
        mistakes = {
            TURNED: ~expected,
            "your mask allows the later keys instead of the earlier ones.": ones.triu(),
            "your mask keeps a query from its own key.": ones.tril(-1),
            "your mask lets a query see one key too far ahead.": ones.tril(1),
            "your mask starts from the last key; query 0 may see key 0 only.": ones.tril(S - T),
        }
        compare(got, expected, f"the mask for {T} queries and {S} keys", mistakes)


@check
def combined_mask(function: Code) -> None:
    """Check ``function(padding, causal)``: (B, T) and (T, T), both bool, to a (B, T, T) bool.

    In all three True = allowed, and the result allows what both masks allow.
    """
    for lengths, T in [([1, 3, 2], 3), ([2, 4], 4)]:
        padding = torch.tensor([[s < length for s in range(T)] for length in lengths])
        causal = torch.ones(T, T, dtype=torch.bool).tril()
        expected = torch.stack([row & causal for row in padding])  # (B, T, T)
        got = _mask(function, padding.clone(), causal.clone())
        either = torch.stack([row | causal for row in padding])
        mistakes = {
            TURNED: ~expected,
            "your mask allows what one of the two allows; both have to allow it.": either,
            "your padding blocks queries; it has to block keys.": padding.unsqueeze(2) & causal,
            "your mask has no causal part.": padding.unsqueeze(1).expand_as(expected),
            "your mask has no padding part.": causal.expand_as(expected),
        }
        compare(got, expected, "the combined mask", mistakes)


@check
def masked_softmax(function: Code) -> None:
    """Check ``function(scores, allowed)``: (B, T, S) floating and bool, to weights (B, T, S).

    Each row sums to one; where nothing is allowed, weights and gradient are 0, in float16 too.
    """
    allowed = torch.tensor([[[1, 1, 0, 1], [1, 0, 0, 0], [0, 1, 1, 1]]] * 2).bool()  # (B, T, S)
    scores = normal(0)(2, 3, 4)
    _softmax(function, scores, allowed, "the result")
    _softmax(function, 90 + 9 * scores, allowed, "the result for scores around 90")
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
    }
    mistakes |= wrong_masks(scores.double(), allowed, "allowed")
    mistakes |= wrong_softmax(scores.double(), allowed)
    compare(got, expected.detach(), what, mistakes, atol)
    (right,) = torch.autograd.grad((expected * torch.arange(4)).sum(), mine)
    (gradient,) = call(torch.autograd.grad, (got.double() * torch.arange(4)).sum(), theirs)
    if gradient.isnan().any():
        raise FaultError(f"{what} is right, but the gradient that reaches the scores is NaN.")
    compare(gradient, right, f"the gradient through {what}", atol=5 * atol)


@check
def layer_mask(function: Code) -> None:
    """Check ``function(allowed, num_heads)``: (B, T, S) bool, True = allowed, and H.

    It gives the ``attn_mask`` of ``torch.nn.MultiheadAttention``: (B * H, T, S) bool, True =
    blocked, the heads of the first sequence first.
    """
    draw = torch.Generator().manual_seed(0)
    for B, T, S, H in [(2, 3, 4, 2), (3, 2, 2, 4)]:
        allowed = torch.rand(B, T, S, generator=draw) < 0.5
        expected = torch.stack([~allowed[b] for b in range(B) for _ in range(H)])  # (B * H, T, S)
        got = _mask(function, allowed.clone(), H)
        mistakes = {
            turned("blocked"): ~expected,
            "the sequences are mixed up: the first one's heads go first.": ~allowed.repeat(H, 1, 1),
            "the mask has to be repeated for each head.": ~allowed,
            "queries and keys are exchanged.": expected.transpose(1, 2),
        }
        compare(got, expected, f"the mask for {B} sequences and {H} heads", mistakes)
