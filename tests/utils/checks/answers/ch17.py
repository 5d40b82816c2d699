"""The checks of chapter 17 accept what is right, however written, and name what is wrong."""

import math

import numpy as np
import torch
import torch.nn.functional as F

from utils.attention import scaled_dot_product_attention
from utils.checks import ch17

INF = math.inf

# Cross-attention


def by_formula(y, memory, w_q, w_k, w_v, padding):
    scores = (y @ w_q) @ (memory @ w_k).mT / math.sqrt(w_q.shape[1])
    return scores.masked_fill(padding.unsqueeze(1), -INF).softmax(-1) @ (memory @ w_v)


def with_kernel(y, memory, w_q, w_k, w_v, padding):
    allowed = ~padding.unsqueeze(1)
    return F.scaled_dot_product_attention(y @ w_q, memory @ w_k, memory @ w_v, allowed)


def with_utils(y, memory, w_q, w_k, w_v, padding):
    allowed = ~padding.unsqueeze(1)
    return scaled_dot_product_attention(y @ w_q, memory @ w_k, memory @ w_v, allowed)[0]


def wrong_cross(scale=None, dim=-1, mask="before", mix="values", exchange=False, alone=False):
    """Cross-attention with one thing wrong."""

    def function(y, memory, w_q, w_k, w_v, padding):
        asks, asked = (memory, y) if exchange else (y, y if alone else memory)
        if alone or exchange:
            padding = torch.zeros(asked.shape[:2], dtype=torch.bool)
        scores = (asks @ w_q) @ (asked @ w_k).mT / math.sqrt(scale or w_q.shape[1])
        blocked = padding.unsqueeze(1)
        if mask == "turned":
            blocked = ~blocked
        if mask in ("before", "turned"):
            scores = scores.masked_fill(blocked, -INF)
        weights = scores if dim is None else scores.softmax(dim)
        if dim is None:
            weights = weights.nan_to_num(neginf=0.0)
        if mask == "after":
            weights = weights.masked_fill(blocked, 0.0)
        return weights @ (asked @ (w_v if mix == "values" else w_k))

    return function


def read_apart(y, memory, w_q, w_k, w_v, padding, keys, values):
    """Cross-attention whose keys and values need not be of one text."""
    texts = {"y": y, "memory": memory}
    scores = (y @ w_q) @ (texts[keys] @ w_k).mT / math.sqrt(w_q.shape[1])
    return scores.masked_fill(padding.unsqueeze(1), -INF).softmax(-1) @ (texts[values] @ w_v)


# The loss


def torchs(logits, labels, smoothing):
    return F.cross_entropy(
        logits.flatten(0, 1), labels.flatten(), ignore_index=0, label_smoothing=smoothing
    )


def in_loops(logits, labels, smoothing):
    losses = []
    for row, wanted in zip(logits, labels, strict=True):
        for x, label in zip(row, wanted, strict=True):
            if label != 0:
                log_p = x - x.logsumexp(0)
                losses.append(-(1 - smoothing) * log_p[label] - smoothing * log_p.mean())
    return (sum(losses) / len(losses)).item()


def in_numpy(*given):
    return np.float32(in_loops(*given))


def losses_of(logits, labels, smoothing):
    wanted = (1 - smoothing) * F.one_hot(labels, logits.shape[-1]) + smoothing / logits.shape[-1]
    return -(wanted * logits.log_softmax(-1)).sum(-1)


def over_the_others(logits, labels, smoothing):
    V = logits.shape[-1]
    right = F.one_hot(labels, V)
    wanted = (1 - smoothing) * right + smoothing / (V - 1) * (1 - right)
    return -(wanted * logits.log_softmax(-1)).sum(-1)[labels != 0].mean()


def none_for_the_label(logits, labels, smoothing):
    V = logits.shape[-1]
    right = F.one_hot(labels, V)
    wanted = (1 - smoothing) * right + smoothing / V * (1 - right)
    return -(wanted * logits.log_softmax(-1)).sum(-1)[labels != 0].mean()


def smoothed_of(values):
    """Smooth what ``values`` makes of the logits."""

    def function(logits, labels, smoothing):
        x = values(logits)
        wanted = F.one_hot(labels, x.shape[-1]) * (1 - smoothing) + smoothing / x.shape[-1]
        return -(wanted * x).sum(-1)[labels != 0].mean()

    return function


def each_the_share(logits, labels, smoothing):
    wanted = (1 - smoothing) * F.one_hot(labels, logits.shape[-1]) + smoothing
    return -(wanted * logits.log_softmax(-1)).sum(-1)[labels != 0].mean()


def mean_of_means(logits, labels, smoothing):
    losses, counts = losses_of(logits, labels, smoothing), labels != 0
    return ((losses * counts).sum(1) / counts.sum(1)).mean()


def log_of_mixture(logits, labels, smoothing):
    wanted = (1 - smoothing) * F.one_hot(labels, logits.shape[-1]) + smoothing / logits.shape[-1]
    return -(wanted * logits.softmax(-1)).sum(-1).log()[labels != 0].mean()


# Beams


def with_topk(sums, steps):
    best, places = (sums.unsqueeze(1) + steps).flatten().topk(len(sums))
    return best, places // steps.shape[1], places % steps.shape[1]


def with_sort(sums, steps):
    K, V = steps.shape
    pairs = [(sums[k] + steps[k, i], k, i) for k in range(K) for i in range(V)]
    best = sorted(pairs, key=lambda pair: pair[0].item(), reverse=True)[:K]
    return [torch.tensor([float(row[0]) for row in best])] + [
        torch.tensor([row[j] for row in best]) for j in (1, 2)
    ]


def in_two_steps(sums, steps):
    K = len(sums)
    few = steps.topk(min(K, steps.shape[1]), dim=1)
    best, places = (sums.unsqueeze(1) + few.values).flatten().topk(K)
    width = few.values.shape[1]
    return best, places // width, few.indices.flatten()[places]


def each_its_own(sums, steps):
    best, tokens = (sums.unsqueeze(1) + steps).max(1)
    return best, torch.arange(len(sums)), tokens


def change(candidates=torch.add, largest=True, beginning=None, token=None, flip=False):
    """The step with one thing wrong."""

    def function(sums, steps):
        K, V = steps.shape
        best, places = candidates(sums.unsqueeze(1), steps).flatten().topk(K, largest=largest)
        rows = places // V if beginning is None else beginning(places, K, V)
        ids = places % V if token is None else token(places, K, V)
        result = best, rows, ids
        return [x.flip(0) for x in result] if flip else result

    return function


def turned_over(sums, steps):
    best, places = (sums.unsqueeze(1) + steps).T.flatten().topk(len(sums))
    return best, places // steps.shape[1], places % steps.shape[1]


def turned_and_right(sums, steps):
    K = len(sums)
    best, places = (sums.unsqueeze(1) + steps).T.flatten().topk(K)
    return best, places % K, places // K


# Looking ahead


def one_at_a_time(decode, T, vocab_size):
    ids = torch.randint(vocab_size, (1, T))
    before = decode(ids)
    for place in range(1, T):
        changed = ids.clone()
        changed[:, place] = (ids[:, place] + 1) % vocab_size
        if (decode(changed) - before)[:, :place].abs().max() > 1e-5:
            return True
    return False


def beginnings(decode, T, vocab_size):
    ids = torch.randint(vocab_size, (2, T))
    whole = decode(ids)
    return any(not torch.allclose(decode(ids[:, :t]), whole[:, :t], atol=1e-4) for t in range(1, T))


def compared(first_output, token, tolerance=1e-5):
    """Compare outputs before or at the changed token, of one token only."""

    def function(decode, T, vocab_size):
        ids = torch.randint(vocab_size, (1, T))
        changed = ids.clone()
        changed[:, token] = (ids[:, token] + 1) % vocab_size
        moved = (decode(changed) - decode(ids))[:, first_output(T)].abs().max()
        return bool(moved > tolerance)

    return function


last_token = compared(lambda T: slice(0, T - 1), -1)


def second_half(decode, T, vocab_size):
    """Changes all of the second half at once, and compares the outputs of the first."""
    ids = torch.randint(vocab_size, (1, T))
    changed = ids.clone()
    changed[:, T // 2 :] = (ids[:, T // 2 :] + 1) % vocab_size
    return bool((decode(changed) - decode(ids))[:, : T // 2].abs().max() > 1e-5)


def first_pair(decode, T, vocab_size):
    """Changes the last token and the second, and no other."""
    tests = [compared(lambda _, t=t: slice(0, t), t) for t in (1, T - 1)]
    return any(test(decode, T, vocab_size) for test in tests)


def neighbours(decode, T, vocab_size):
    """Changes every token, and compares the output just before it."""
    tests = [compared(lambda _, t=t: slice(t - 1, t), t) for t in range(1, T)]
    return any(test(decode, T, vocab_size) for test in tests)


RIGHT = {
    ch17.cross_attention: [by_formula, with_kernel, with_utils],
    ch17.smoothed_loss: [torchs, in_loops, in_numpy],
    ch17.beam_step: [with_topk, with_sort, in_two_steps, turned_and_right],
    ch17.looks_ahead: [
        one_at_a_time,
        beginnings,
        lambda *given: torch.tensor(one_at_a_time(*given)),
        lambda *given: np.bool_(one_at_a_time(*given)),
    ],
}

WRONG = {
    ch17.cross_attention: [
        (wrong_cross(scale=16), "divided by D_head"),
        (lambda y, m, q, k, v, p: by_formula(y, m, q, v, k, p), "keys and values are swapped"),
        (
            lambda y, m, q, k, v, p: (y @ q @ (m @ k).mT / 2 * ~p[:, None]).softmax(-1) @ m @ v,
            "fill with -inf",
        ),
        (wrong_cross(mask=None), "mask is not used"),
        (wrong_cross(mask="turned"), "the wrong way round"),
        (wrong_cross(mask="after"), "after the softmax"),
        (
            lambda y, m, q, k, v, p: (
                (y @ q @ (m @ k).mT / q.shape[1] ** 0.5).masked_fill(p[:, None], 0.0).softmax(-1)
                @ (m @ v)
            ),
            "becomes 0; fill with -inf",
        ),
        (
            lambda y, m, q, k, v, p: (
                (y @ q @ (m @ k).mT / q.shape[1] ** 0.5)
                .masked_fill(p.unsqueeze(2), -INF)
                .softmax(-1)
                @ (m @ v)
            ),
            "belongs to the keys",
        ),
        (
            lambda y, m, q, k, v, p: (
                (y @ q @ (m @ k).mT / q.shape[1] ** 0.5)
                .masked_fill(p[:, None] | ~torch.ones(y.shape[1], m.shape[1]).tril().bool(), -INF)
                .softmax(-1)
                @ (m @ v)
            ),
            "no causal mask here",
        ),
        (
            lambda y, m, q, k, v, p: (
                (y @ q @ (m @ k).mT / q.shape[1] ** 0.5).masked_fill(p, -INF).softmax(-1) @ (m @ v)
            ),
            "it needs an axis",
        ),
        (wrong_cross(scale=1), "scale is missing"),
        (wrong_cross(scale=6), "root of D;"),
        (wrong_cross(dim=-2), "the queries"),
        (wrong_cross(dim=None), "softmax is missing"),
        (wrong_cross(mix="keys"), "mix the values"),
        (wrong_cross(exchange=True), "the source asks"),
        (wrong_cross(alone=True), "attends to itself"),
        (
            lambda y, m, q, k, v, p: by_formula(y, y, q, k, v, p),
            "keys and values come from y",
        ),
        (
            lambda y, m, q, k, v, p: by_formula(m, y, q, k, v, p),
            "the source asks; queries come from y",
        ),
        (lambda *given: read_apart(*given, keys="memory", values="y"), "the values come from y"),
        (lambda *given: read_apart(*given, keys="y", values="memory"), "the keys come from y"),
    ],
    ch17.smoothed_loss: [
        (lambda x, y, s: losses_of(x, y, s)[y == 0].mean(), "True means padding"),
        (lambda x, y, s: losses_of(x, y, s).mean(), "padding takes part"),
        (lambda x, y, s: losses_of(x, y, 0)[y != 0].mean(), "not smoothed"),
        (over_the_others, "to the others alone"),
        (each_the_share, "divide it by V"),
        (lambda x, y, s: losses_of(x, y, s)[y != 0].sum(), "this is the sum"),
        (lambda x, y, s: (losses_of(x, y, s) * (y != 0)).mean(), "still counted"),
        (lambda x, y, s: losses_of(x, y, 1 - s)[y != 0].mean(), "exchanged"),
        (
            lambda x, y, s: torchs(x, y, 0.0) - s * x.log_softmax(-1).mean(-1)[y != 0].mean(),
            "still has all of its share",
        ),
        (lambda x, y, s: -torchs(x, y, s), "sign is wrong"),
        (mean_of_means, "mean of the texts' means"),
        (log_of_mixture, "log of a mixture"),
        (none_for_the_label, "no part of what is spread"),
        (smoothed_of(lambda x: x.softmax(-1)), "these are probabilities"),
        (smoothed_of(lambda x: x.log_softmax(1)), "over the wrong axis"),
        (lambda x, y, s: x.mean(), "with smoothing 0.1, the loss is -0.141 instead of 3.426"),
    ],
    ch17.beam_step: [
        (each_its_own, "all candidates compete"),
        (change(candidates=lambda sums, steps: steps + 0 * sums), "sums so far are missing"),
        (change(candidates=torch.mul), "added, not multiplied"),
        (change(largest=False), "the worst"),
        (change(flip=True), "best first"),
        (
            lambda sums, steps: [with_topk(sums, steps)[0].exp(), *with_topk(sums, steps)[1:]],
            "return their logarithms",
        ),
        (change(beginning=lambda p, K, V: p % V), "exchanged"),
        (change(beginning=lambda p, K, V: p), "divide by V"),
        (change(beginning=lambda p, K, V: p // K), "not of beginnings"),
        (change(beginning=lambda p, K, V: p / V), "divide with //"),
        (change(token=lambda p, K, V: p % K), "not by the width"),
        (turned_over, "token by token"),
        (lambda sums, steps: with_topk(sums, steps)[:2], "three things"),
    ],
    ch17.looks_ahead: [
        (lambda *_: False, "has no mask does look ahead"),
        (lambda *_: True, "all that came before does not look ahead"),
        (compared(lambda T: slice(0, T), -1), "compare those before it"),
        (compared(lambda T: slice(0, T - 1), -1, 0.0), "Allow a tolerance"),
        (compared(lambda T: slice(1, T - 1), -1), "lets only output"),
        (last_token, "lets only output 4 see token 5 does look ahead"),
        (second_half, "lets only output 5 see token 6 does look ahead"),
        (first_pair, "lets only output 4 see token 5 does look ahead"),
        (neighbours, "lets only output 4 see token 6 does look ahead"),
        (compared(lambda T: slice(0, 1), 3), "sees one token ahead does look ahead"),
        (lambda *_: None, "return True or False; got NoneType"),
        (lambda d, T, V: d(torch.full((1, T), V)) is None, "ids should be (B, T), from 0 to 4"),
    ],
}
