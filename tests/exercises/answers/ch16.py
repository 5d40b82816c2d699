"""The checks of chapter 16 accept what is right, however written, and name what is wrong."""

import math

import torch
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


def all_but_the_last(first, second):
    n, gap = first + second, abs(first - second)
    return sum(math.comb(n, k) for k in range(n) if abs(n - 2 * k) >= gap) / 2**n


def up_to_the_larger(first, second):
    n = first + second
    return sum(math.comb(n, k) for k in range(max(first, second) + 1)) / 2**n


def apart_by_n_minus_k(first, second):
    n, gap = first + second, abs(first - second)
    return sum(math.comb(n, k) for k in range(n + 1) if abs(n - k) >= gap) / 2**n


RIGHT = {
    ch16.rare_class: [0.28, 0.2, torch.tensor(0.4)],
    ch16.exact_p_value: [p_value, p_value_by_counting],
    ch16.adapter_numbers: [73_728, torch.tensor(73_728)],
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
        (lambda a, b: min(1, 2 * stats.binom.cdf(a, a + b, 0.5)), "the tail up to first, cut to 1"),
        (apart_by_n_minus_k, "abs(n - 2 * k) is"),
        (lambda a, b: 1.0, "exact_p_value(4, 1) is 1"),
        (lambda a, b: p_value(a, b) * (a + b) / (a + b), "has no tosses: return 1"),
        (lambda a, b: p_value(a, b) if a + b else math.nan, "return 1 for it, not NaN"),
        (lambda a, b: a / (a + b), "exact_p_value(4, 1)"),
        (lambda a, b: None, "should be a number; got NoneType"),
    ],
    ch16.rare_class: [
        (28, "from 0 to 1"),
        (0.95, "does not help here"),
        (0.79, "what the names find"),
        (0.6, "the centre moves away"),
        (0.0, "some articles on politics"),
        ("most", "should be a number"),
    ],
    ch16.adapter_numbers: [
        (12 * 384 * 384, "stay as they are"),
        (2 * 8 * 384, "one matrix; there are two"),
        (2 * 2 * 8 * 384, "one block"),
        (12 * 8 * 384, "that is half"),
        (18 * 2 * 8 * 384, "queries and values"),
        (24 * 2 * 8 * 384, "queries and values"),
        (8 * 384, "A alone"),
        (12 * 8 * 8, "not (r, r)"),
        (12 * 2 * 8 * 8, "not (r, r)"),
        (144 * 2 * 8 * 384, "one a head"),
        (0, "How many numbers have A and B"),
        (73_728.0, "should be an int"),
    ],
}
