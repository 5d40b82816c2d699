"""The checks of chapter 3 accept what is right, however written, and name what is wrong."""

import torch

from utils.attention import masks
from utils.checks import ch03

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


RIGHT = {
    ch03.padding_mask: [
        masks.valid_length_mask,
        lambda n, S: torch.arange(S)[None, :] < n[:, None],
        lambda n, S: torch.stack([torch.arange(S) < i for i in n]),
    ],
    ch03.causal_mask: [
        masks.causal_mask,
        lambda T, S: ~torch.ones(T, S).bool().triu(1),
        lambda T, S: torch.arange(S) <= torch.arange(T)[:, None],
    ],
    ch03.combined_mask: [
        lambda p, c: p[:, None, :] & c,
        lambda p, c: ~(~p.unsqueeze(1) | ~c),
        lambda p, c: torch.stack([masks.combine_masks(i, c) for i in p]),
    ],
    ch03.masked_softmax: [masks.masked_softmax, filled_and_zeroed, divided],
    ch03.layer_mask: [lambda a, H: (~a).repeat_interleave(H, dim=0), one_by_one, repeated],
}

WRONG = {
    ch03.padding_mask: [
        (lambda n, S: torch.arange(S) >= n[:, None], "wrong way round"),
        (lambda n, S: torch.arange(S) <= n[:, None], "one key too many"),
        (lambda n, S: torch.arange(S) + 1 < n[:, None], "blocks the last word"),
        (lambda n, S: torch.arange(S) >= S - n[:, None], "allows the last keys"),
        (lambda n, S: (torch.arange(S) < n[:, None]).T, "axes are swapped"),
        (lambda n, S: (torch.arange(S) < n[:, None]).long(), "dtype torch.int64"),
    ],
    ch03.causal_mask: [
        (lambda T, S: torch.ones(T, S).bool().triu(1), "wrong way round"),
        (lambda T, S: torch.ones(T, S).bool().triu(), "allows the later keys"),
        (lambda T, S: torch.ones(T, S).bool().tril(-1), "from its own key"),
        (lambda T, S: torch.ones(T, S).bool().tril(1), "one key too far ahead"),
        (lambda T, S: torch.ones(T, S).bool().tril(S - T), "from the last key"),
        (lambda T, S: torch.ones(T, S).tril(), "dtype torch.float32"),
    ],
    ch03.combined_mask: [
        (lambda p, c: ~(p[:, None] & c), "wrong way round"),
        (lambda p, c: p[:, None] | c, "both have to allow it"),
        (lambda p, c: p[:, None].expand(-1, *c.shape), "no causal part"),
        (lambda p, c: c.expand(len(p), *c.shape), "no padding part"),
        (lambda p, c: p[:, :, None] & c, "your padding blocks queries"),
        (lambda p, c: p[:, None] * 1.0 * c, "dtype torch.float32"),
    ],
    ch03.masked_softmax: [
        (lambda s, a: s.softmax(-1), "mask is not used"),
        (lambda s, a: filled(s, ~a, -INF), "wrong way round"),
        (lambda s, a: s.masked_fill(~a, -INF).softmax(-2), "the queries"),
        (lambda s, a: s.softmax(-1) * a, "no longer sum to one"),
        (lambda s, a: (s * a).softmax(-1), "fill with -inf"),
        (lambda s, a: filled(s, a, -INF), "the empty row is NaN"),
        (lambda s, a: filled(s, a, -1e9), "attends to all keys alike"),
        (lambda s, a: filled(s, a, -100.0) * a, "with a finite number"),
        (lambda s, a: filled(s, a, -6e4) * a, "with a finite number"),
        (lambda s, a: filled(s, a, -1e9) * a, "with a finite number"),
        (lambda s, a: filled(s.float(), a, -1e30) * a, "with a finite number"),
        (lambda s, a: filled(s, a, -100.0) * rows(a), "blocked keys get weight"),
        (lambda s, a: filled(s, a, -1e9) * rows(a), "blocked keys get weight"),
        (lambda s, a: filled(s, a, INF) * a, "entries that are NaN"),
        (renormalised, "the empty row is NaN"),
        (uniform_where_empty, "attends to all keys alike"),
        (additive, "the gradient that reaches the scores is NaN"),
        (exponentials, "for scores around 90 has 19 entries that are NaN"),
        (half_a_gradient, "the gradient through the result is wrong"),
    ],
    ch03.layer_mask: [
        (lambda a, H: a.repeat_interleave(H, 0), "True means blocked"),
        (lambda a, H: (~a).repeat(H, 1, 1), "sequences are mixed up"),
        (lambda a, H: ~a, "repeated for each head"),
        (lambda a, H: (~a).repeat_interleave(H, 0).mT, "queries and keys"),
        (lambda a, H: (~a).repeat_interleave(H, 0) * 1.0, "dtype torch.float32"),
    ],
}
