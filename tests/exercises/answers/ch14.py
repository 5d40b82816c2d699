"""The checks of chapter 14 accept what is right, however written, and name what is wrong."""

import math

import numpy as np

from exercises import ch14


def count(D, H, k):
    inner = 3 * (H * D * D + H * D)
    return 4 * (D * D + D), inner + H * D * D + D, inner + (k + 1) * D * D + 2 * D


def changed(place, change):
    """The right counts with one of them changed by ``change(D, H, k)``."""

    def wrong(D, H, k):
        numbers = list(count(D, H, k))
        numbers[place] += change(D, H, k)
        return numbers

    return wrong


def sizes(D, H, around):
    return lambda W, E: 4 * W * E + 3 * E + W + around * W


def by_size(D, H, around):
    size = sizes(D, H, around)
    widths = range(H, H * D + 1, H)
    return min(widths, key=lambda W: abs(size(W, W) - size(D, H * D)))


def search_in_numpy(D, H, T, S, around):
    widths = np.arange(H, H * D + 1, H)
    goal = 2 * (T + S) * D * H * D + 2 * T * S * H * D
    best = widths[abs(2 * (T + S) * widths**2 + 2 * T * S * widths - goal).argmin()]
    built = [4 * widths**2 + (4 + around) * widths, 4 * H * D * D + (3 * H + 1 + around) * D]
    return best, widths[abs(built[0] - built[1]).argmin()]


def root(a, b, c):
    return int((math.sqrt(b * b - 4 * a * c) - b) / (2 * a))


def rounded(D, H, T, S, around, up=False):
    """The root of the quadratic equation, always rounded down, or up."""
    low = root(T + S, T * S, -H * D * ((T + S) * D + T * S)) // H * H
    return low + H * up, by_size(D, H, around)


def size_rounded(D, H, T, S, around, up=False):
    goal = sizes(D, H, around)(D, H * D)
    return cost_of(D, H, T, S), root(4, 4 + around, -goal) // H * H + H * up


def without_biases(D, H, around):
    goal = 4 * H * D * D + around * D
    return min(range(H, H * D + 1, H), key=lambda W: abs(4 * W * W + around * W - goal))


def cost_of(D, H, T, S, products=2):
    a, b = 2 * (T + S), products * T * S
    c = -H * D * (a * D + b)
    low = root(a, b, c) // H * H
    return min((low, low + H), key=lambda w: abs(a * w * w + b * w + c))


def solve(D, H, T, S, around):
    a, b = 4, 4 + around
    goal = sizes(D, H, around)(D, H * D)
    low = root(a, b, -goal) // H * H
    return cost_of(D, H, T, S), min((low, low + H), key=lambda w: abs(a * w * w + b * w - goal))


def by_cost(cost):
    return lambda D, H, T, S, around: (cost(D, H, T, S), by_size(D, H, around))


RIGHT = {
    ch14.widths_of_equal_cost: [search_in_numpy, solve],
}

WRONG = {
    ch14.parameters_of_widths: [
        (lambda D, H, k: (count(D, H, k)[0] - 624, *count(D, H, k)[1:]), "0, not 624"),
        (lambda D, H, k: 0, "return three numbers"),
        (changed(2, lambda D, H, k: 1), "D = 12, H = 3, kernel_size = 4"),
    ],
    ch14.widths_of_equal_cost: [
        (by_cost(lambda D, H, T, S: 3), "is no whole multiple of H = 8"),
        (by_cost(lambda D, H, T, S: "12"), "should be a number; got str"),
        (lambda D, H, T, S, around: 36, "return two widths"),
        (rounded, "by multiply-adds: rounded down; the multiple above may be nearer"),
        (lambda *a: rounded(*a, up=True), "rounded up"),
        (by_cost(lambda D, H, T, S: D), "as wide"),
        (by_cost(lambda D, H, T, S: H * D), "the projections are forgotten"),
        (by_cost(lambda D, H, T, S: round(H**0.5 * D / H) * H), "attention is forgotten"),
        (by_cost(lambda D, H, T, S: cost_of(D, H, T, T)), "counted as queries"),
        (by_cost(lambda D, H, T, S: cost_of(D, H, T, S) + H), "D = 64, H = 8, T = 128, S = 128"),
        (size_rounded, "by parameters: rounded down"),
        (lambda *a: size_rounded(*a, up=True), "by parameters: rounded up"),
        (
            lambda D, H, T, S, around: (cost_of(D, H, T, S), by_size(D, H, 0)),
            "only the layer is counted",
        ),
        (
            lambda D, H, T, S, around: (cost_of(D, H, T, S), without_biases(D, H, around)),
            "biases are forgotten",
        ),
        (by_cost(lambda D, H, T, S: cost_of(D, H, T, S, products=1)), "counted once"),
        (lambda D, H, T, S, around: (cost_of(D, H, T, S), D), "by parameters: the layer with"),
    ],
}
