"""The checks of chapter 3 accept what is right, however written, and name what is wrong."""

import torch

from utils import attention as masks
from utils.checks import ch03

INF = float("inf")


def filled(scores, allowed, number):
    return scores.masked_fill(~allowed, number).softmax(-1)


def divided(scores, allowed):
    top = scores.masked_fill(~allowed, torch.finfo(scores.dtype).min).amax(-1, keepdim=True)
    powers = (scores - top).masked_fill(~allowed, -INF).exp()
    total = powers.sum(-1, keepdim=True)
    return powers / total.masked_fill(total == 0, 1)


def additive(scores, allowed):
    added = torch.zeros_like(scores).masked_fill(~allowed, -INF)
    return (scores + added).softmax(-1).nan_to_num(0.0)


def exponentials(scores, allowed):
    powers = scores.exp() * allowed
    return powers / powers.sum(-1, keepdim=True).clamp(min=1e-30)


def words(lengths, T):
    return torch.arange(T) >= T - lengths[:, None]


def merged(lengths, T):
    return words(lengths, T)[:, None] & causal(T)


def causal(T):
    return torch.ones(T, T).bool().tril()


def both_ways(lengths, T):
    return words(lengths, T)[:, :, None] & merged(lengths, T)


def negative(x, s):
    return torch.where(torch.arange(len(x))[:, None] == s, -x, x)


def plus_one(x, s):
    return x + (torch.arange(len(x))[:, None] == s)


def to_nan(x, s):
    return x.masked_fill(torch.arange(len(x))[:, None] == s, float("nan"))


def in_place(x, s):
    x[s] += torch.arange(len(x[s]))
    return x


def moved(attend, x, changed=negative, ask=lambda x, y: (x, y, y)):
    before = attend(x, x, x)
    outputs = [attend(*ask(x, changed(x, s))) for s in range(len(x))]
    return torch.stack([(output != before).any(dim=-1) for output in outputs], dim=1)


def verdict(attend, x, meant, **how):
    used = moved(attend, x, **how)
    return (used & ~meant).sum(), (meant & ~used).sum()


def all_three(attend, x, meant):
    return verdict(attend, x, meant, ask=lambda x, y: (y, y, y))


def by_gradient(attend, x, meant):
    used = torch.autograd.functional.jacobian(lambda y: attend(x, y, y), x).abs().amax((1, 3)) > 0
    leaks = sum(bool(u) > bool(m) for u, m in zip(used.flatten(), meant.flatten(), strict=True))
    return [leaks, int((~used & meant).sum())]


def across(attend, x, meant):
    used = moved(attend, x).T
    return (used & ~meant).sum().item(), (meant & ~used).sum().item()


def rows(allowed):
    return allowed.any(-1, keepdim=True)


def renormalised(scores, allowed):
    weights = scores.softmax(-1) * allowed
    return weights / weights.sum(-1, keepdim=True)


def renormalised_safely(scores, allowed):
    weights = scores.softmax(-1) * allowed
    return weights / weights.sum(-1, keepdim=True).clamp(min=1e-9)


def half_a_gradient(scores, allowed):
    weights = masks.masked_softmax(scores, allowed)
    return (weights + weights.detach()) / 2


RIGHT = {
    ch03.causal_padding_mask: [merged, both_ways],
    ch03.causal_mask: [lambda T, S: masks.causal_mask(T, S, start=S - T)],
    ch03.masked_softmax: [masks.masked_softmax, divided],
    ch03.leaks_and_walls: [verdict, by_gradient],
}

WRONG = {
    ch03.causal_padding_mask: [
        (lambda n, T: words(n, T), "no causal part, and one axis too few"),
        (lambda n, T: words(n, T)[:, None].expand(-1, T, -1), "no causal part"),
        (lambda n, T: words(n, T) & causal(T), "lack the axis of the queries"),
        (lambda n, T: causal(T), "no padding part, and no axis of texts"),
        (lambda n, T: causal(T).expand(len(n), T, T), "no padding part"),
        (lambda n, T: ~merged(n, T), "wrong way round"),
        (lambda n, T: words(n, T)[:, None] | causal(T), "both have to allow it"),
        (lambda n, T: words(n, T)[:, None] & ~causal(T), "only the causal part"),
        (lambda n, T: ~words(n, T)[:, None] & causal(T), "only the padding"),
        (lambda n, T: words(n, T)[:, :, None] & causal(T), "blocks its queries"),
        (lambda n, T: words(n, T)[:, None] & causal(T).T, "the later keys"),
        (lambda n, T: merged(n, T) & causal(T).tril(-1), "from its own key"),
        (
            lambda n, T: words(n, T)[:, None] & torch.ones(T, T).bool().tril(1),
            "one key too far ahead",
        ),
        (lambda n, T: merged(n + 1, T), "one key too many"),
        (lambda n, T: merged(n - 1, T), "blocks the first word"),
        (lambda n, T: masks.valid_length_mask(n, T)[:, None] & causal(T), "words stand last"),
        (lambda n, T: merged(n, T).long(), "dtype torch.int64"),
        (lambda n, T: merged(n, T).logical_xor(torch.eye(T).bool()), "at [0, 0, 0]: allowed inst"),
        (lambda n, T: merged(n, T) | torch.eye(T).bool(), "allowed instead of blocked"),
        (lambda n, T: merged(n, T)[0], "has shape (3, 3); expected (3, 3, 3)"),
        (lambda n, T: merged(n, T).tolist(), "should be a tensor; got list"),
        (lambda n, T: merged(n), "your code raised TypeError"),
    ],
    ch03.causal_mask: [
        (masks.causal_mask, "starts at key 0"),
        (lambda T, S: torch.ones(T, S).bool().tril(T - S), "the wrong sign"),
        (lambda T, S: ~masks.causal_mask(T, S, start=S - T), "wrong way round"),
        (lambda T, S: torch.ones(T, S).bool().triu(S - T), "allows the later keys"),
        (lambda T, S: torch.ones(T, S).bool().tril(S - T - 1), "from its own key"),
        (lambda T, S: torch.ones(T, S).bool().tril(S - T + 1), "one key too far ahead"),
        (lambda T, S: causal(S), "a row for each key"),
        (lambda T, S: causal(S)[-T:].T, "axes are swapped"),
        (lambda T, S: causal(S)[-T:] * 1.0, "dtype torch.float32"),
        (lambda T, S: torch.zeros(T, S).bool(), "blocked instead of allowed"),
        (lambda T, S: torch.ones(T, S).bool(), "allows every key"),
    ],
    ch03.masked_softmax: [
        (lambda s, a: s.softmax(-1), "mask is not used"),
        (lambda s, a: filled(s, ~a, -INF), "wrong way round"),
        (lambda s, a: s.masked_fill(~a, -INF).softmax(-2), "the queries"),
        (lambda s, a: s.softmax(-1) * a, "no longer sum to one"),
        (lambda s, a: (s * a).softmax(-1), "fill with -inf"),
        (lambda s, a: filled(s, a, -INF), "the empty row is NaN"),
        (lambda s, a: filled(s, a, -60000.0) * a, "with a finite number"),
        (lambda s, a: filled(s, a, -100.0) * rows(a), "blocked keys get weight"),
        (lambda s, a: filled(s, a, INF) * a, "or a fill with +inf"),
        (renormalised, "divide by the new sum"),
        (renormalised_safely, "block before the softmax"),
        (lambda s, a: filled(s, a | ~rows(a), -INF), "keeps its weights; set it to 0"),
        (lambda s, a: (s + (1 - a.float()) * -INF).softmax(-1), "as 0 times -inf is"),
        (lambda s, a: (s + a.float()).softmax(-1), "added as 0 and 1"),
        (additive, "the gradient that reaches the scores is NaN"),
        (lambda s, a: filled(s, a, -INF).nan_to_num(), "on the way back Softmax gives NaN"),
        (lambda s, a: torch.where(rows(a), filled(s, a, -INF), 0), "between the two would get it"),
        (lambda s, a: filled(s, a, -1000000000.0).nan_to_num(), "attends to all keys alike"),
        (exponentials, "for scores around 90 has 19 entries that are NaN"),
        (half_a_gradient, "the gradient through the result is wrong"),
    ],
    ch03.leaks_and_walls: [
        (lambda f, x, m: (0, 0), "the number of leaks of no mask is 0; expected 6"),
        (lambda f, x, m: verdict(f, x, m)[::-1], "leaks and walls are exchanged"),
        (lambda f, x, m: verdict(f, x, ~m), "leaks of the right mask is 10; expected 0"),
        (across, "row t is output t"),
        (all_three, "also changes the query"),
        (lambda f, x, m: verdict(f, x, m, ask=lambda x, y: (x, y, x)), "change the value too"),
        (lambda f, x, m: verdict(f, x, m, changed=in_place), "the changes pile up"),
        (lambda f, x, m: verdict(f, x, m, changed=plus_one), "change the token to a random"),
        (lambda f, x, m: verdict(f, x, m, changed=to_nan), "0 times NaN is NaN"),
        (lambda f, x, m: (moved(f, x).sum(), (~moved(f, x)).sum()), "all pairs that move"),
        (lambda f, x, m: [(moved(f, x) != m).sum()] * 2, "leaks and walls apart"),
        (lambda f, x, m: [n / 16 for n in verdict(f, x, m)], "these are shares"),
        (lambda f, x, m: verdict(f, x, m)[0], "should return two counts"),
        (lambda f, x, m: (moved(f, x) & ~m, moved(f, x)), "should be a number; got Tensor"),
    ],
}
