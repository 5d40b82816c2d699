"""The checks of chapter 10 accept what is right, however written, and name what is wrong."""

import math

import numpy as np

from chapters.ch10_variants import ConvMultiHeadAttention, WideMultiHeadAttention
from utils.attention import MultiHeadAttention
from utils.checks import ch10


def count(D, H, k):
    inner = 3 * (H * D * D + H * D)
    return 4 * (D * D + D), inner + H * D * D + D, inner + (k + 1) * D * D + 2 * D


def count_by_building(D, H, k):
    layers = [MultiHeadAttention(D, H), WideMultiHeadAttention(D, H)]
    layers.append(ConvMultiHeadAttention(D, H, kernel_size=k))
    return [sum(p.numel() for p in layer.parameters()) for layer in layers]


def changed(place, change):
    """The right counts with one of them changed by ``change(D, H, k)``."""

    def wrong(D, H, k):
        numbers = list(count(D, H, k))
        numbers[place] += change(D, H, k)
        return numbers

    return wrong


def wide(x, w_q, w_k, w_v, w_o, H):
    q, k, v = ((x @ w).unflatten(-1, (H, -1)).transpose(1, 2) for w in (w_q, w_k, w_v))
    heads = (q @ k.mT / q.shape[-1] ** 0.5).softmax(-1) @ v
    return heads.transpose(1, 2).flatten(2) @ w_o


def wide_by_the_layer(x, w_q, w_k, w_v, w_o, H):
    layer = WideMultiHeadAttention(x.shape[-1], H, bias=False)
    state = {"q_proj": w_q, "k_proj": w_k, "v_proj": w_v, "out_proj": w_o}
    layer.load_state_dict({f"{name}.weight": w.T for name, w in state.items()})
    return layer(x, x, x)[0]


def absorb(v_weight, reduce_weight, blocks=lambda b: b, taps=lambda t: t):
    H = v_weight.shape[0] // reduce_weight.shape[1]
    b = v_weight.view(H, -1, v_weight.shape[1])
    t = reduce_weight.squeeze(-1).view(H, -1, b.shape[1])
    return (taps(t) @ blocks(b)).flatten(0, 1)


def strided(b):
    return b.flatten(0, 1).view(b.shape[1], b.shape[0], -1).transpose(0, 1)


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
    ch10.parameters_of_widths: [count, count_by_building],
    ch10.wide_attention: [wide, wide_by_the_layer],
    ch10.absorb_convolution: [absorb],
    ch10.widths_of_equal_cost: [search_in_numpy, solve],
}

WRONG = {
    ch10.parameters_of_widths: [
        (changed(1, lambda D, H, k: -H * D * D - D), "wide: the last projection is missing"),
        (changed(2, lambda D, H, k: -D * D - D), "the last projection is missing"),
        (lambda D, H, k: (count(D, H, k)[0] - 624, *count(D, H, k)[1:]), "0, not 624"),
        (lambda D, H, k: 0, "return three numbers"),
        (changed(0, lambda D, H, k: -4 * D), "biases are missing"),
        (changed(0, lambda D, H, k: -D * D - D), "last projection is missing"),
        (changed(0, lambda D, H, k: (H - 1) * 4 * (D * D + D)), "does not grow with H"),
        (changed(1, lambda D, H, k: -3 * H * D - D), "biases are missing"),
        (changed(1, lambda D, H, k: H * D - D), "the last bias is D long"),
        (changed(1, lambda D, H, k: (1 - H) * D * D), "maps H * D to D"),
        (changed(2, lambda D, H, k: (H - 1) * k * D * D), "has D channels"),
        (changed(2, lambda D, H, k: -D), "has a bias too"),
        (changed(2, lambda D, H, k: (H - 1) * D * D), "maps D to D"),
        (changed(2, lambda D, H, k: k * D * D // H - k * D * D), "there are H heads"),
        (
            lambda D, H, k: (
                *count(D, H, k)[:2],
                3 * (H * D * D + H * D) + (k * D + 1) * D // H + D * D + D,
            ),
            "share one kernel",
        ),
        (changed(2, lambda D, H, k: (H - 1) * ((k + 1) * D * D + D)), "keeps D channels"),
        (changed(2, lambda D, H, k: 1), "D = 12, H = 3, kernel_size = 4"),
    ],
    ch10.wide_attention: [
        (wide, {"q.shape[-1] ** 0.5": "q.shape[-1]"}, "divided by D_head"),
        (wide, {"heads.t": "heads.flip(1).t"}, "reverse order"),
        (wide, {" / q.shape[-1] ** 0.5": ""}, "scale is missing"),
        (wide, {"q.shape[-1]": "2"}, "root of D / H"),
        (wide, {"q.shape[-1]": "18"}, "root of H * D"),
        (wide, {"softmax(-1)": "softmax(-2)"}, "the queries"),
        (wide, {"(H, -1)).transpose(1, 2)": "(6, 3)).permute(0, 3, 1, 2)"}, "every H-th"),
        (
            wide,
            {".unflatten(-1, (H, -1)).transpose(1, 2) for": ".view(2, 3, 4, 6) for"},
            "mixes tokens",
        ),
        (wide, {"w_o\n": "w_o @ w_o.pinverse()\n"}, "w_o is missing"),
        (wide, {" @ w_o": ""}, "w_o is missing"),
        (wide, {"q.shape[-1]": "3"}, "root of H, not of D"),
        (lambda *given: wide(*given[:5], 9), "9 heads of D / H"),
        (lambda *given: wide(*given[:5], 1), "one head of H * D numbers"),
        (
            wide,
            {"heads.transpose(1, 2).flatten(2)": "heads.reshape(2, 4, -1)"},
            "swap T and H back",
        ),
        (wide, {"heads.transpose(1, 2).flatten(2)": "heads.mean(1).repeat(1, 1, 3)"}, "averaged"),
        (lambda *given: wide(*given) / 3, "w_o adds up"),
        (
            wide,
            {"heads.transpose(1, 2).flatten(2) @ w_o": "heads.mean(1) @ w_o[:6]"},
            "averaged, and w_o is cut",
        ),
        (
            wide,
            {"heads.transpose(1, 2).flatten(2) @ w_o": "heads.mean(1)"},
            "averaged, and w_o is missing",
        ),
        (wide, {".transpose(1, 2)": ""}, "the heads of a token attend to each other"),
    ],
    ch10.absorb_convolution: [
        (lambda *given: absorb(*given).T, "this is transposed"),
        (lambda *given: absorb(*given).view(3, 2, 5), "join the heads"),
        (lambda *given: absorb(*given, blocks=lambda b: b[:1]), "head 0"),
        (lambda *given: absorb(*given, blocks=lambda b: b.sum(0)), "added up"),
        (lambda *given: absorb(*given, blocks=strided), "every H-th"),
        (lambda *given: absorb(*given, blocks=lambda b: b.flip(0)), "reverse order"),
        (lambda *given: absorb(*given).view(3, 2, 5).mT.flatten(0, 1), "a channel is a row"),
        (
            lambda *given: absorb(*given).view(3, 2, 5).transpose(0, 1).flatten(0, 1),
            "channels of a head stand together",
        ),
        (lambda *given: absorb(*given, blocks=lambda b: b.mean(0)), "averaged"),
        (lambda *given: absorb(*given).view(3, 2, 5).mean(0), "averaged after the product"),
        (lambda *given: absorb(*given, taps=lambda t: t[:1]), "head 0's kernel"),
        (lambda v, r: (r[..., 0] @ v.view(3, 6, 5)).flatten(0, 1), "of its own head"),
        (lambda v, r: absorb(v, r[..., 0].T.contiguous()), "is transposed"),
        (
            lambda v, r: (r.view(2, 3, 6).transpose(0, 1) @ v.view(3, 6, 5)).flatten(0, 1),
            "belong to head 0",
        ),
    ],
    ch10.widths_of_equal_cost: [
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
