"""The checks of chapter 11 accept what is right, however written, and name what is wrong."""

import math

import torch

from exercises import ch11


def read(state, q, k, v, mask):
    top, total, mixed = state
    scores = (q @ k.T / math.sqrt(q.shape[-1])).masked_fill(~mask, -math.inf)
    higher = torch.maximum(top, scores.amax(dim=-1, keepdim=True))
    down, weights = (top - higher).exp(), (scores - higher).exp()
    return higher, total * down + weights.sum(dim=-1, keepdim=True), mixed * down + weights @ v


def read_by_keys(state, q, k, v, mask):
    top, total, mixed = (x.clone() for x in state)
    for j in range(len(k)):
        for row in range(len(q)):
            if mask[row, j]:
                score = torch.dot(q[row], k[j]) / len(k[j]) ** 0.5
                higher = torch.maximum(top[row], score)
                down, weight = (top[row] - higher).exp(), (score - higher).exp()
                total[row] = total[row] * down + weight
                mixed[row] = mixed[row] * down + weight * v[j]
                top[row] = higher
    return top, total, mixed


def merge(outputs, log_sums):
    return (log_sums.softmax(dim=0) * outputs).sum(dim=0), log_sums.logsumexp(dim=0)


def merge_in_turns(outputs, log_sums):
    output, log_sum = outputs[0], log_sums[0]
    for o, other in zip(outputs[1:], log_sums[1:], strict=True):
        both = torch.logaddexp(log_sum, other)
        output = (log_sum - both).exp() * output + (other - both).exp() * o
        log_sum = both
    return [output, log_sum]


def merge_plainly(outputs, log_sums):
    sums = log_sums.exp()
    return (sums * outputs).sum(0) / sums.sum(0), sums.sum(0).log()


RIGHT = {
    ch11.one_tile: [read, read_by_keys],
    ch11.merged_parts: [merge, merge_in_turns],
}

WRONG = {
    ch11.one_tile: [
        (lambda state, *_: state, "top is the old one"),
        (lambda s, q, k, v, m: read(s, q, k, v, m | True), "the mask is not used"),
        (lambda s, q, k, v, m: read(s, q, k, v, ~m), "the wrong way round"),
        (lambda s, q, k, v, m: read(s, 2 * q, k, v, m), "by the root of D_head"),
        (lambda s, q, k, v, m: read(s, q / 2, k, v, m), "divided by D_head; divide"),
        (read, {"-math.inf": "-1e4"}, "Fill with -inf"),
        (
            read,
            {
                "scores = (": "raw = (",
                ".masked_fill": "\n    scores = raw.masked_fill",
                "scores.amax": "raw.amax",
            },
            "taken before the mask",
        ),
        (
            read,
            {
                "torch.maximum(top, scores": "(scores",
                "keepdim=True))\n    down": "keepdim=True))\n    down",
            },
            "the old top is forgotten",
        ),
        (read, {"total * down": "total"}, "so far is not rescaled"),
        (read, {"total * down + ": ""}, "the total so far is missing"),
        (read, {"mixed * down": "mixed"}, "mixed before is not rescaled"),
        (read, {"mixed * down + ": ""}, "mixed before is missing"),
        (lambda s, *a: (*read(s, *a)[:2], read(s, *a)[2] / read(s, *a)[1]), "comes last"),
        (read, {"amax(dim=-1, keepdim=True)": "max()"}, "one largest score serves all"),
        (read, {"* down": "/ down"}, "the total so far is rescaled the wrong way"),
        (read, {"mixed * down": "mixed / down"}, "mixed before is rescaled the wrong way"),
        (lambda s, *a: read(s, *a)[:2], "should return three tensors"),
    ],
    ch11.merged_parts: [
        (lambda o, s: (o.mean(0), s.logsumexp(0)), "the plain mean"),
        (lambda o, s: (o.sum(0), s.logsumexp(0)), "added as they are"),
        (lambda o, s: ((s.exp() * o).sum(0), s.logsumexp(0)), "not divided by their sum"),
        (lambda o, s: ((s.softmax(1) * o).sum(0), s.logsumexp(0)), "those of the queries"),
        (lambda o, s: ((s.softmax(-1) * o).sum(0), s.logsumexp(0)), "the parts are axis 0"),
        (lambda o, s: (o.take_along_dim(s.argmax(0)[None], 0)[0], s), "largest sum is left"),
        (lambda o, s: ((s * o).sum(0), s), "those of the log-sums"),
        (lambda o, s: (((s - s.amax(0)).exp() * o).sum(0), s), "measured from the largest, but"),
        (lambda o, s: ((s.view(-1).softmax(0).view_as(s) * o).sum(0), s), "its own"),
        (lambda o, s: (merge(o, s)[0] / len(o), s.logsumexp(0)), "with no mean"),
        (merge_in_turns, {"[1:]": "[1:2]"}, "only the first two parts"),
        (merge_plainly, "the exponential overflows"),
        (lambda o, s: (merge(o, s)[0], s.amax(0)), "the largest log-sum"),
        (lambda o, s: (merge(o, s)[0], s.sum(0)), "the log-sums are added"),
        (lambda o, s: (merge(o, s)[0], s.logsumexp(0) - s.amax(0)), "is not added back"),
        (lambda o, s: (merge(o, s)[0], s.exp().sum(0)), "its logarithm is missing"),
        (lambda o, s: (merge(o, s)[0], s.logsumexp(0)[:, 0]), "lost its last dimension"),
        (lambda o, s: merge(o, s)[0], "should return two tensors"),
    ],
}
