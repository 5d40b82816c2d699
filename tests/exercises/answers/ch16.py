"""The checks of chapter 16 accept what is right, however written, and name what is wrong."""

import math

import torch
import torch.nn.functional as F
from scipy import stats

from exercises import ch16


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


def means_over_all(vectors, labels, asked):
    means = torch.stack([vectors[labels == c].mean() for c in range(3)])
    return (asked @ F.normalize(means, dim=-1).T).argmax(-1)


def means_of_texts(vectors, labels, asked):
    means = torch.stack([vectors[labels == c].mean(dim=1) for c in range(3)])
    return (asked @ F.normalize(means, dim=-1).T).argmax(-1)


def all_but_the_last(first, second):
    n, gap = first + second, abs(first - second)
    return sum(math.comb(n, k) for k in range(n) if abs(n - 2 * k) >= gap) / 2**n


def up_to_the_larger(first, second):
    n = first + second
    return sum(math.comb(n, k) for k in range(max(first, second) + 1)) / 2**n


def in_place(weight, a, b, alpha):
    weight += alpha / len(a) * (b @ a)
    return weight


RIGHT = {
    ch16.exact_p_value: [p_value, p_value_by_counting],
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
        (means_over_all, ".mean(dim=0) averages"),
        (means_of_texts, ".mean(dim=0) averages"),
    ],
    ch16.with_adapter: [
        (lambda w, a, b, alpha: w + alpha / len(a) * a @ b, "Is the product B A"),
        (in_place, "changed in place"),
    ],
}
