"""The checks of chapter 17 accept what is right, however written, and name what is wrong."""

import math

import numpy as np
import torch
import torch.nn.functional as F

from utils.checks import ch17

INF = math.inf


def by_formula(y, memory, w_q, w_k, w_v, padding):
    scores = (y @ w_q) @ (memory @ w_k).mT / math.sqrt(w_q.shape[1])
    return scores.masked_fill(padding.unsqueeze(1), -INF).softmax(-1) @ (memory @ w_v)


def with_kernel(y, memory, w_q, w_k, w_v, padding):
    allowed = ~padding.unsqueeze(1)
    return F.scaled_dot_product_attention(y @ w_q, memory @ w_k, memory @ w_v, allowed)


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


def losses_of(logits, labels, smoothing):
    right, V = F.one_hot(labels, logits.shape[-1]), logits.shape[-1]
    wanted = (1 - smoothing) * right + smoothing / V
    return -(wanted * logits.log_softmax(-1)).sum(-1)


def by_sum(logits, labels, smoothing):
    right, V = F.one_hot(labels, logits.shape[-1]), logits.shape[-1]
    wanted = (1 - smoothing) * right + smoothing / V
    return -(wanted * logits.log_softmax(-1)).sum(-1)[labels != 0].mean()


def mean_of_means(logits, labels, smoothing):
    losses, counts = losses_of(logits, labels, smoothing), labels != 0
    return ((losses * counts).sum(1) / counts.sum(1)).mean()


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


def each_its_own(sums, steps):
    best, tokens = (sums.unsqueeze(1) + steps).max(1)
    return best, torch.arange(len(sums)), tokens


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


def second_half(decode, T, vocab_size):
    ids = torch.randint(vocab_size, (1, T))
    changed = ids.clone()
    changed[:, T // 2 :] = (ids[:, T // 2 :] + 1) % vocab_size
    return bool((decode(changed) - decode(ids))[:, : T // 2].abs().max() > 1e-05)


def first_pair(decode, T, vocab_size):
    tests = [compared(lambda _, t=t: slice(0, t), t) for t in (1, T - 1)]
    return any(test(decode, T, vocab_size) for test in tests)


def neighbours(decode, T, vocab_size):
    tests = [compared(lambda _, t=t: slice(t - 1, t), t) for t in range(1, T)]
    return any(test(decode, T, vocab_size) for test in tests)


RIGHT = {
    ch17.cross_attention: [by_formula, with_kernel],
    ch17.smoothed_loss: [torchs, in_loops],
    ch17.beam_step: [with_topk, with_sort],
    ch17.looks_ahead: [one_at_a_time, beginnings, lambda *given: np.bool_(one_at_a_time(*given))],
}

WRONG = {
    ch17.cross_attention: [
        (by_formula, {"math.sqrt(w_q.shape[1])": "w_q.shape[1]"}, "divided by D_head"),
        (by_formula, {"@ w_k": "@ w_v", "@ w_v": "@ w_k"}, "keys and values are swapped"),
        (by_formula, {".masked_fill(padding.unsqueeze(1), -INF)": ""}, "mask is not used"),
        (by_formula, {"padding.": "(~padding)."}, "the wrong way round"),
        (
            by_formula,
            {"scores.masked": "scores.softmax(-1).masked", "-INF).softmax(-1)": "0.0)"},
            "after the softmax",
        ),
        (by_formula, {"-INF": "0.0"}, "becomes 0; fill with -inf"),
        (by_formula, {"unsqueeze(1)": "unsqueeze(2)"}, "belongs to the keys"),
        (
            by_formula,
            {"padding.unsqueeze(1)": "padding[:, None] | torch.ones_like(scores).triu(1).bool()"},
            "no causal mask here",
        ),
        (by_formula, {".unsqueeze(1)": ""}, "it needs an axis"),
        (by_formula, {" / math.sqrt(w_q.shape[1])": ""}, "scale is missing"),
        (by_formula, {"w_q.shape[1]": "w_q.shape[0]"}, "root of D;"),
        (by_formula, {"softmax(-1)": "softmax(-2)"}, "the queries"),
        (by_formula, {"-INF).softmax(-1)": "0.0)"}, "softmax is missing"),
        (by_formula, {"@ w_v": "@ w_k"}, "mix the values"),
        (
            by_formula,
            {"y @": "memory @", "memory @": "y @", ".masked_fill(padding.unsqueeze(1), -INF)": ""},
            "the source asks",
        ),
        (
            by_formula,
            {"memory @": "y @", ".masked_fill(padding.unsqueeze(1), -INF)": ""},
            "attends to itself",
        ),
        (by_formula, {"memory @": "y @"}, "keys and values come from y"),
        (
            by_formula,
            {"y @": "memory @", "memory @": "y @"},
            "the source asks; queries come from y",
        ),
        (by_formula, {"memory @ w_v": "y @ w_v"}, "the values come from y"),
        (by_formula, {"memory @ w_k": "y @ w_k"}, "the keys come from y"),
    ],
    ch17.smoothed_loss: [
        (lambda x, y, s: losses_of(x, y, s)[y == 0].mean(), "True means padding"),
        (lambda x, y, s: losses_of(x, y, s).mean(), "padding takes part"),
        (lambda x, y, s: losses_of(x, y, 0)[y != 0].mean(), "not smoothed"),
        (by_sum, {"/ V": "/ (V - 1) * (1 - right)"}, "to the others alone"),
        (by_sum, {" / V": ""}, "divide it by V"),
        (lambda x, y, s: losses_of(x, y, s)[y != 0].sum(), "this is the sum"),
        (lambda x, y, s: (losses_of(x, y, s) * (y != 0)).mean(), "still counted"),
        (lambda x, y, s: losses_of(x, y, 1 - s)[y != 0].mean(), "exchanged"),
        (
            lambda x, y, s: torchs(x, y, 0.0) - s * x.log_softmax(-1).mean(-1)[y != 0].mean(),
            "still has all of its share",
        ),
        (lambda x, y, s: -torchs(x, y, s), "sign is wrong"),
        (mean_of_means, "mean of the texts' means"),
        (by_sum, {".log_softmax(-1)).sum(-1)": ".softmax(-1)).sum(-1).log()"}, "log of a mixture"),
        (by_sum, {"/ V": "/ V * (1 - right)"}, "no part of what is spread"),
        (by_sum, {"log_softmax": "softmax"}, "these are probabilities"),
        (by_sum, {"softmax(-1)": "softmax(1)"}, "over the wrong axis"),
        (lambda x, y, s: x.mean(), "with smoothing 0.1, the loss is -0.141 instead of 3.426"),
    ],
    ch17.beam_step: [
        (each_its_own, "all candidates compete"),
        (with_topk, {"sums.unsqueeze(1) + steps": "steps"}, "sums so far are missing"),
        (with_topk, {" + ": " * "}, "added, not multiplied"),
        (with_topk, {"len(sums)": "len(sums), largest=False"}, "the worst"),
        (
            with_topk,
            {"    return": "    best, places = best.flip(0), places.flip(0)\n    return"},
            "best first",
        ),
        (
            lambda sums, steps: [with_topk(sums, steps)[0].exp(), *with_topk(sums, steps)[1:]],
            "return their logarithms",
        ),
        (with_topk, {"//": "%"}, "exchanged"),
        (with_topk, {" // steps.shape[1]": ""}, "divide by V"),
        (with_topk, {"// steps.shape[1]": "// len(sums)"}, "not of beginnings"),
        (with_topk, {"//": "/"}, "divide with //"),
        (with_topk, {"% steps.shape[1]": "% len(sums)"}, "not by the width"),
        (with_topk, {"steps).flatten": "steps).T.flatten"}, "token by token"),
        (lambda sums, steps: with_topk(sums, steps)[:2], "three things"),
    ],
    ch17.looks_ahead: [
        (lambda *_: False, "has no mask does look ahead"),
        (lambda *_: True, "all that came before does not look ahead"),
        (compared(lambda T: slice(0, T), -1), "compare those before it"),
        (compared(lambda T: slice(0, T - 1), -1, 0.0), "Allow a tolerance"),
        (second_half, "lets only output 5 see token 6 does look ahead"),
        (first_pair, "lets only output 4 see token 5 does look ahead"),
        (neighbours, "lets only output 4 see token 6 does look ahead"),
        (compared(lambda T: slice(0, 1), 3), "sees one token ahead does look ahead"),
        (lambda *_: None, "return True or False; got NoneType"),
        (lambda d, T, V: d(torch.full((1, T), V)) is None, "ids should be (B, T), from 0 to 4"),
    ],
}
