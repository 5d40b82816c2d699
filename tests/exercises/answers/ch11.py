import math

import torch

from exercises import ch11


def read(state, q, k, v, mask, fill=-math.inf):
    top, total, mixed = state
    scores = (q @ k.T / math.sqrt(q.shape[-1])).masked_fill(~mask, fill)
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


RIGHT = {ch11.one_tile: [read, read_by_keys], ch11.merged_parts: [merge, merge_in_turns]}

WRONG = {
    ch11.one_tile: [
        (lambda *given: read(*given, fill=-1e4), "Fill with -inf"),
        (lambda s, *a: read(s, *a)[:2], "should return three tensors"),
        (
            lambda s, *a: (read((s[0] * math.inf, *s[1:]), *a)[0], *read(s, *a)[1:]),
            "old top is forg",
        ),
    ],
    ch11.merged_parts: [
        (lambda o, s: ((s * o).sum(0), s), "those of the log-sums"),
        (merge_plainly, "the exponential overflows"),
        (lambda o, s: merge(o, s)[0], "should return two tensors"),
    ],
}
