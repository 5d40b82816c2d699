"""The checks of chapter 16 accept what is right, however written, and name what is wrong."""

import math

import torch
import torch.nn.functional as F
from scipy import stats

from utils.checks import ch16


def p_value(first, second):
    n, few = first + second, min(first, second)
    return min(1.0, 2 * sum(math.comb(n, k) for k in range(few + 1)) / 2**n)


def p_value_by_counting(first, second):
    n, gap = first + second, abs(first - second)
    ways = [math.comb(n, k) for k in range(n + 1) if abs(n - 2 * k) >= gap]
    return torch.tensor(sum(ways) / 2**n, dtype=torch.float64)


def this_split(first, second):
    return 2 * math.comb(first + second, first) / 2 ** (first + second)


def more_uneven_only(first, second):
    n = first + second
    return sum(math.comb(n, k) for k in range(n + 1) if abs(n - 2 * k) > abs(first - second)) / 2**n


def with_correction(first, second):
    n, gap = first + second, abs(first - second)
    return stats.chi2.sf(max(gap - 1, 0) ** 2 / n, 1) if n else 1.0


def mid_p(first, second):
    n, few = first + second, min(first, second)
    return 2 * stats.binom.cdf(few, n, 0.5) - stats.binom.pmf(few, n, 0.5)


def means_of(vectors, labels):
    return torch.stack([vectors[labels == c].mean(dim=0) for c in labels.unique()])


def classes(vectors, labels, asked):
    return (asked @ F.normalize(means_of(vectors, labels), dim=-1).T).argmax(dim=-1)


def sums_only(vectors, labels, asked):
    return (asked @ torch.stack([vectors[labels == c].sum(0) for c in range(3)]).T).argmax(-1)


def means_by_column(vectors, labels, asked):
    return (asked @ F.normalize(means_of(vectors, labels), dim=0).T).argmax(-1)


def sums_by_column(vectors, labels, asked):
    sums = torch.stack([vectors[labels == c].sum(0) for c in range(3)])
    return (asked @ F.normalize(sums, dim=0).T).argmax(-1)


def without_length(vectors, labels, asked):
    return (asked @ means_of(vectors, labels).T).argmax(-1)


def means_over_all(vectors, labels, asked):
    means = torch.stack([vectors[labels == c].mean() for c in range(3)])
    return (asked @ F.normalize(means, dim=-1).T).argmax(-1)


def means_of_texts(vectors, labels, asked):
    means = torch.stack([vectors[labels == c].mean(dim=1) for c in range(3)])
    return (asked @ F.normalize(means, dim=-1).T).argmax(-1)


def nearest_text(vectors, labels, asked):
    return labels[(asked @ vectors.T).argmax(-1)]


def first_seen(vectors, labels, asked):
    order = torch.tensor(list(dict.fromkeys(labels.tolist())))
    means = torch.stack([vectors[labels == c].mean(dim=0) for c in order])
    return (asked @ F.normalize(means, dim=-1).T).argmax(dim=-1)


def by_distance(vectors, labels, asked):
    return torch.cdist(asked, means_of(vectors, labels)).argmin(dim=-1)


def all_but_the_last(first, second):
    n, gap = first + second, abs(first - second)
    return sum(math.comb(n, k) for k in range(n) if abs(n - 2 * k) >= gap) / 2**n


def up_to_the_larger(first, second):
    n = first + second
    return sum(math.comb(n, k) for k in range(max(first, second) + 1)) / 2**n


def adapted(weight, a, b, alpha):
    return weight + alpha / a.shape[0] * b @ a


def adapted_by_rows(weight, a, b, alpha):
    ranks = [torch.outer(b[:, i], a[i]) for i in range(len(a))]
    return weight.clone().add_(torch.stack(ranks).mean(0), alpha=alpha)


def in_place(weight, a, b, alpha):
    weight += alpha / len(a) * (b @ a)
    return weight


RIGHT = {
    ch16.exact_p_value: [p_value, p_value_by_counting],
    ch16.nearest_class: [classes],
    ch16.with_adapter: [adapted, adapted_by_rows],
}

WRONG = {
    ch16.exact_p_value: [
        (lambda a, b: p_value(a, b) / 2, "only one side"),
        (this_split, "this split alone; add"),
        (lambda a, b: this_split(a, b) / 2, "this split alone, on one side"),
        (more_uneven_only, "itself is left out"),
        (all_but_the_last, "range(n) ends before n"),
        (up_to_the_larger, "take the smaller"),
        (lambda f, s: stats.chi2.sf((f - s) ** 2 / (f + s), 1), "approximation by chi-squared"),
        (with_correction, "with the correction by one"),
        (mid_p, "by half (the mid-p value)"),
        (lambda a, b: p_value(a, b) * 2 ** (a + b), "divide by all"),
        (lambda a, b: p_value(a, b) if a != b else 2 * stats.binom.cdf(a, a + b, 0.5), "at most 1"),
        (lambda a, b: 2 * stats.binom.cdf(a, a + b, 0.5), "doubles the longer tail"),
        (lambda a, b: min(1, 2 * stats.binom.sf(a - 1, a + b, 0.5)), "doubled and cut to 1"),
        (lambda a, b: p_value(a, b) * (a + b) / (a + b), "has no tosses: return 1"),
        (lambda a, b: p_value(a, b) if a + b else math.nan, "return 1 for it, not NaN"),
        (lambda a, b: a / (a + b), "exact_p_value(4, 1)"),
        (lambda a, b: None, "should be a number; got NoneType"),
    ],
    ch16.nearest_class: [
        (sums_only, "large classes win"),
        (without_length, "divide each mean by its length"),
        (by_distance, "by distance to the mean itself"),
        (nearest_text, "the class of the nearest text"),
        (lambda v, y, a: classes(v, y, -a), "the least similar"),
        (means_by_column, "each column of the means"),
        (sums_by_column, "each column of the sums"),
        (lambda v, y, a: (a @ F.normalize(means_of(v, y), dim=-1).T).argmax(0), "argmax(dim=0)"),
        (first_seen, "as they first appear"),
        (lambda v, y, a: a @ F.normalize(means_of(v, y), dim=-1).T, "these are cosines"),
        (means_over_all, ".mean(dim=0) averages"),
        (means_of_texts, ".mean(dim=0) averages"),
        (lambda v, y, a: classes(v, y, v), "ask about `asked`"),
    ],
    ch16.with_adapter: [
        (lambda w, a, b, alpha: w + b @ a, "not scaled"),
        (lambda w, a, b, alpha: w + alpha * b @ a, "not yet divided by r"),
        (lambda w, a, b, alpha: w + b @ a / len(a), "not multiplied by alpha"),
        (lambda w, a, b, alpha: w + alpha / a.shape[1] * b @ a, "the rows of A"),
        (lambda w, a, b, alpha: w + alpha / b.shape[0] * b @ a, "another side"),
        (lambda w, a, b, alpha: w + len(a) / alpha * b @ a, "it is divided by alpha"),
        (lambda w, a, b, alpha: alpha / len(a) * b @ a, "itself is missing"),
        (lambda w, a, b, alpha: alpha / len(a) * (w + b @ a), "scale the product alone"),
        (lambda w, a, b, alpha: w, "nothing is added"),
        (lambda w, a, b, alpha: w - alpha / len(a) * b @ a, "add it"),
        (lambda w, a, b, alpha: w + alpha / len(a) * (b @ a).T, "transposed"),
        (lambda w, a, b, alpha: w + alpha / len(a) * a @ b, "is the product B A"),
        (in_place, "changed in place"),
    ],
}
