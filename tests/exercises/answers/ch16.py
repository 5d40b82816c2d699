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


RIGHT = {
    ch16.rare_class: [0.28, 0.4, torch.tensor(0.2)],
    ch16.exact_p_value: [p_value, p_value_by_counting],
}

WRONG = {
    ch16.exact_p_value: [
        (lambda a, b: min(1, 2 * stats.binom.cdf(a, a + b, 0.5)), "the tail up to first, cut to 1"),
        (lambda a, b: 1.0, "exact_p_value(4, 1) is 1"),
        (lambda a, b: p_value(a, b) * (a + b) / (a + b), "has no tosses: return 1"),
        (lambda a, b: p_value(a, b) if a + b else math.nan, "return 1 for it, not NaN"),
        (lambda a, b: a / (a + b), "exact_p_value(4, 1)"),
    ],
    ch16.rare_class: [
        (28, "from 0 to 1"),
        (0.95, "only the first round helps"),
        (0.81, "what the names find"),
        (0.6, "pull the centre further"),
        (0.05, "some articles on politics"),
    ],
}
