"""The checks of the masks chapter accept what is right, however written, and name what is wrong."""

import pytest
import torch

from utils import masks
from utils.checks import masking

INF = float("inf")


def filled(scores, allowed, number):
    return scores.masked_fill(~allowed, number).softmax(-1)


def divided(scores, allowed):
    """Only what is allowed takes part in the maximum and in the sum."""
    top = scores.masked_fill(~allowed, torch.finfo(scores.dtype).min).amax(-1, keepdim=True)
    powers = (scores - top).masked_fill(~allowed, -INF).exp()
    total = powers.sum(-1, keepdim=True)
    return powers / total.masked_fill(total == 0, 1)


def filled_and_zeroed(scores, allowed):
    return filled(scores, allowed, torch.finfo(scores.dtype).min) * allowed


def one_by_one(allowed, num_heads):
    return torch.stack([~one for one in allowed for _ in range(num_heads)])


def repeated(allowed, num_heads):
    B, T, S = allowed.shape
    return (~allowed).unsqueeze(1).expand(B, num_heads, T, S).reshape(B * num_heads, T, S)


RIGHT = [
    (masking.padding_mask, masks.valid_length_mask),
    (masking.padding_mask, lambda n, S: torch.arange(S)[None, :] < n[:, None]),
    (masking.padding_mask, lambda n, S: torch.stack([torch.arange(S) < i for i in n])),
    (masking.causal_mask, masks.causal_mask),
    (masking.causal_mask, lambda T, S: ~torch.ones(T, S).bool().triu(1)),
    (masking.causal_mask, lambda T, S: torch.arange(S) <= torch.arange(T)[:, None]),
    (masking.combined_mask, lambda p, c: p[:, None, :] & c),
    (masking.combined_mask, lambda p, c: ~(~p.unsqueeze(1) | ~c)),
    (masking.combined_mask, lambda p, c: torch.stack([masks.combine_masks(i, c) for i in p])),
    (masking.masked_softmax, masks.masked_softmax),
    (masking.masked_softmax, filled_and_zeroed),
    (masking.masked_softmax, divided),
    (masking.layer_mask, lambda a, H: (~a).repeat_interleave(H, dim=0)),
    (masking.layer_mask, one_by_one),
    (masking.layer_mask, repeated),
]


@pytest.mark.parametrize(("check", "function"), RIGHT)
def test_what_is_right_is_accepted(check, function):
    assert check(function) == "Right."


def additive(scores, allowed):
    """Zeros come out of an empty row, but the gradient is NaN."""
    added = torch.zeros_like(scores).masked_fill(~allowed, -INF)
    return (scores + added).softmax(-1).nan_to_num(0.0)


def exponentials(scores, allowed):
    powers = scores.exp() * allowed
    return powers / powers.sum(-1, keepdim=True).clamp(min=1e-30)


def uniform_where_empty(scores, allowed):
    return filled(scores, allowed, torch.finfo(scores.dtype).min)


def rows(allowed):
    return allowed.any(-1, keepdim=True)


def renormalised(scores, allowed):
    weights = scores.softmax(-1) * allowed
    return weights / weights.sum(-1, keepdim=True)


def stuck(scores, allowed):
    return masks.masked_softmax(scores.detach(), allowed)


def half_a_gradient(scores, allowed):
    weights = masks.masked_softmax(scores, allowed)
    return (weights + weights.detach()) / 2


WRONG = [
    (masking.padding_mask, lambda n, S: torch.arange(S) >= n[:, None], "wrong way round"),
    (masking.padding_mask, lambda n, S: torch.arange(S) <= n[:, None], "one key too many"),
    (masking.padding_mask, lambda n, S: torch.arange(S) + 1 < n[:, None], "blocks the last word"),
    (masking.padding_mask, lambda n, S: torch.arange(S) >= S - n[:, None], "allows the last keys"),
    (masking.padding_mask, lambda n, S: (torch.arange(S) < n[:, None]).T, "axes are swapped"),
    (masking.padding_mask, lambda n, S: (torch.arange(S) < n[:, None]).long(), "dtype torch.int64"),
    (masking.padding_mask, lambda n, S: torch.arange(n.max()) < n[:, None], "has shape (3, 5)"),
    (masking.padding_mask, lambda n, S: torch.arange(S) < n, "your code raised RuntimeError"),
    (masking.padding_mask, lambda n, S: None, "should be a tensor; got NoneType"),
    (masking.causal_mask, lambda T, S: torch.ones(T, S).bool().triu(1), "wrong way round"),
    (masking.causal_mask, lambda T, S: torch.ones(T, S).bool().triu(), "allows the later keys"),
    (masking.causal_mask, lambda T, S: torch.ones(T, S).bool().tril(-1), "from its own key"),
    (masking.causal_mask, lambda T, S: torch.ones(T, S).bool().tril(1), "one key too far ahead"),
    (masking.causal_mask, lambda T, S: torch.ones(T, S).bool().tril(S - T), "from the last key"),
    (masking.causal_mask, lambda T, S: torch.ones(T, S).tril(), "dtype torch.float32"),
    (masking.causal_mask, lambda T, S: torch.ones(T, T).bool().tril(), "has shape (3, 3)"),
    (masking.combined_mask, lambda p, c: ~(p[:, None] & c), "wrong way round"),
    (masking.combined_mask, lambda p, c: p[:, None] | c, "both have to allow it"),
    (masking.combined_mask, lambda p, c: p[:, None].expand(-1, *c.shape), "no causal part"),
    (masking.combined_mask, lambda p, c: c.expand(len(p), *c.shape), "no padding part"),
    (masking.combined_mask, lambda p, c: p[:, :, None] & c, "your padding blocks queries"),
    (masking.combined_mask, lambda p, c: p & c, "has shape (3, 3); expected (3, 3, 3)"),
    (masking.combined_mask, lambda p, c: p[:, None] * 1.0 * c, "dtype torch.float32"),
    (masking.masked_softmax, lambda s, a: s.softmax(-1), "no effect"),
    (masking.masked_softmax, lambda s, a: filled(s, ~a, -INF), "wrong way round"),
    (masking.masked_softmax, lambda s, a: s.masked_fill(~a, -INF).softmax(-2), "over the queries"),
    (masking.masked_softmax, lambda s, a: s.softmax(-1) * a, "no longer sum to one"),
    (masking.masked_softmax, lambda s, a: (s * a).softmax(-1), "the result is wrong at"),
    (masking.masked_softmax, lambda s, a: filled(s, a, -INF), "the empty row is NaN"),
    (masking.masked_softmax, lambda s, a: filled(s, a, -1e9), "attends to all keys alike"),
    (masking.masked_softmax, lambda s, a: filled(s, a, -100.0) * a, "with a finite number"),
    (masking.masked_softmax, lambda s, a: filled(s, a, -6e4) * a, "with a finite number"),
    (masking.masked_softmax, lambda s, a: filled(s, a, -1e9) * a, "with a finite number"),
    (masking.masked_softmax, lambda s, a: filled(s.float(), a, -1e30) * a, "with a finite number"),
    (
        masking.masked_softmax,
        lambda s, a: filled(s, a, -100.0) * rows(a),
        "blocked keys get weight",
    ),
    (masking.masked_softmax, lambda s, a: filled(s, a, -1e9) * rows(a), "blocked keys get weight"),
    (masking.masked_softmax, lambda s, a: filled(s, a, INF) * a, "entries that are NaN"),
    (masking.masked_softmax, renormalised, "the empty row is NaN"),
    (masking.masked_softmax, uniform_where_empty, "attends to all keys alike"),
    (masking.masked_softmax, additive, "the gradient that reaches the scores is NaN"),
    (masking.masked_softmax, exponentials, "for scores around 90 has 19 entries that are NaN"),
    (masking.masked_softmax, stuck, "your code raised RuntimeError"),
    (masking.masked_softmax, half_a_gradient, "the gradient through the result is wrong"),
    (masking.layer_mask, lambda a, H: a.repeat_interleave(H, 0), "not turned round"),
    (masking.layer_mask, lambda a, H: (~a).repeat(H, 1, 1), "sequences are mixed up"),
    (masking.layer_mask, lambda a, H: ~a, "repeated for each head"),
    (masking.layer_mask, lambda a, H: (~a).repeat_interleave(H, 0).mT, "queries and keys"),
    (masking.layer_mask, lambda a, H: (~a).repeat_interleave(H, 0) * 1.0, "dtype torch.float32"),
    (masking.layer_mask, lambda a, H: 1 / 0, "your code raised ZeroDivisionError"),
]


@pytest.mark.parametrize(("check", "function", "fault"), WRONG)
def test_what_is_wrong_is_named(check, function, fault):
    said = check(function)
    assert said.startswith("Not yet: ")
    assert fault in said
