"""The checks of chapter 10 accept what is right, however written, and name what is wrong."""

import math

import numpy as np
import pytest
import torch
import torch.nn.functional as F

from utils.attention import MultiHeadAttention, scaled_dot_product_attention
from utils.checks.comparing import RIGHT
from utils.checks.widths import (
    absorb_convolution,
    parameters_of_widths,
    wide_attention,
    width_of_equal_cost,
)
from utils.variants import ConvMultiHeadAttention, WideMultiHeadAttention


def count(D, H, k):
    inner = 3 * (H * D * D + H * D)
    return 4 * (D * D + D), inner + H * D * D + D, inner + (k + 1) * D * D + 2 * D


def count_by_building(D, H, k):
    layers = [MultiHeadAttention(D, H), WideMultiHeadAttention(D, H)]
    layers.append(ConvMultiHeadAttention(D, H, kernel_size=k))
    return [sum(p.numel() for p in layer.parameters()) for layer in layers]


def count_by_shapes(D, H, k):
    E = H * D
    wide = [(E, D), (E,)] * 3
    layers = [[(D, D), (D,)] * 4, [*wide, (D, E), (D,)], [*wide, (D, D, k), (D,), (D, D), (D,)]]
    return tuple(sum(math.prod(shape) for shape in layer) for layer in layers)


def changed(place, change):
    """The right counts with one of them changed by ``change(D, H, k)``."""

    def wrong(D, H, k):
        numbers = list(count(D, H, k))
        numbers[place] += change(D, H, k)
        return numbers

    return wrong


def wide(x, w_q, w_k, w_v, w_o, H, size=None, dim=-1, split=None):
    split = split or (lambda y: y.unflatten(-1, (H, -1)).transpose(1, 2))
    q, k, v = (split(x @ w) for w in (w_q, w_k, w_v))
    weights = (q @ k.mT / (size or q.shape[-1]) ** 0.5).softmax(dim)
    return (weights @ v).transpose(1, 2).flatten(2) @ w_o


def wide_by_loop(x, w_q, w_k, w_v, w_o, H):
    total = 0
    parts = zip(w_q.chunk(H, 1), w_k.chunk(H, 1), w_v.chunk(H, 1), w_o.chunk(H), strict=True)
    for q, k, v, o in parts:
        total = total + scaled_dot_product_attention(x @ q, x @ k, x @ v)[0] @ o
    return total


def wide_by_the_layer(x, w_q, w_k, w_v, w_o, H):
    layer = WideMultiHeadAttention(x.shape[-1], H, bias=False)
    state = {"q_proj": w_q, "k_proj": w_k, "v_proj": w_v, "out_proj": w_o}
    layer.load_state_dict({f"{name}.weight": w.T for name, w in state.items()})
    return layer(x, x, x)[0]


def wide_fused(x, w_q, w_k, w_v, w_o, H):
    q, k, v = (torch.stack((x @ w).chunk(H, -1), 1) for w in (w_q, w_k, w_v))
    return torch.cat(F.scaled_dot_product_attention(q, k, v).unbind(1), -1) @ w_o


def absorb(v_weight, reduce_weight, blocks=lambda b: b, taps=lambda t: t):
    H = v_weight.shape[0] // reduce_weight.shape[1]
    b = v_weight.view(H, -1, v_weight.shape[1])
    t = reduce_weight.squeeze(-1).view(H, -1, b.shape[1])
    return (taps(t) @ blocks(b)).flatten(0, 1)


def absorb_by_loop(v_weight, reduce_weight):
    taps = reduce_weight[..., 0]
    blocks = v_weight.split(taps.shape[1])
    parts = zip(taps.chunk(len(blocks)), blocks, strict=True)
    return torch.cat([tap @ block for tap, block in parts])


def absorb_by_convolution(v_weight, reduce_weight):
    H = v_weight.shape[0] // reduce_weight.shape[1]
    return F.conv1d(v_weight.unsqueeze(0), reduce_weight, groups=H).squeeze(0)


def strided(b):
    return b.flatten(0, 1).view(b.shape[1], b.shape[0], -1).transpose(0, 1)


def search(D, H, T, S):
    goal = 2 * (T + S) * D * H * D + 2 * T * S * H * D
    best = min(range(1, D + 1), key=lambda n: abs(2 * (T + S) * (n * H) ** 2 + 2 * T * S * n * H
                                                  - goal))  # fmt: skip
    return best * H


def search_in_numpy(D, H, T, S):
    widths = np.arange(H, H * D + 1, H)
    goal = 2 * (T + S) * D * H * D + 2 * T * S * H * D
    return widths[abs(2 * (T + S) * widths**2 + 2 * T * S * widths - goal).argmin()]


def rounded(D, H, T, S, up=False):
    """The root of the quadratic equation, always rounded down, or up."""
    a, b, c = T + S, T * S, -H * D * ((T + S) * D + T * S)
    return int((math.sqrt(b * b - 4 * a * c) - b) / (2 * a)) // H * H + H * up


def search_both_sides(D, H, T, S):
    def cost(W):
        return (T + S) * W * W + T * S * W

    goal = H * (T + S) * D * D + T * S * H * D
    W = H
    while cost(W) < goal:
        W += H
    return min((W - H, W), key=lambda w: abs(cost(w) - goal))


def solve(D, H, T, S):
    a, b, c = T + S, T * S, -H * D * ((T + S) * D + T * S)
    low = int((math.sqrt(b * b - 4 * a * c) - b) / (2 * a)) // H * H
    return min((low, low + H), key=lambda w: abs(a * w * w + b * w + c))


def raises(*_):
    raise RuntimeError("shapes do not fit")


ACCEPTED = [
    (parameters_of_widths, [count, count_by_building, count_by_shapes]),
    (wide_attention, [wide, wide_by_loop, wide_by_the_layer, wide_fused]),
    (absorb_convolution, [absorb, absorb_by_loop, absorb_by_convolution]),
    (width_of_equal_cost, [search, search_both_sides, search_in_numpy, solve]),
]

FAULTS = [
    (parameters_of_widths, raises, "your code raised RuntimeError"),
    (parameters_of_widths, lambda D, H, k: 0, "return three numbers"),
    (parameters_of_widths, changed(0, lambda D, H, k: -4 * D), "without biases"),
    (parameters_of_widths, changed(0, lambda D, H, k: -D * D - D), "last projection is missing"),
    (
        parameters_of_widths,
        changed(0, lambda D, H, k: (H - 1) * 4 * (D * D + D)),
        "does not grow with H",
    ),
    (parameters_of_widths, changed(1, lambda D, H, k: -3 * H * D - D), "without biases"),
    (parameters_of_widths, changed(1, lambda D, H, k: H * D - D), "the last bias is D long"),
    (parameters_of_widths, changed(1, lambda D, H, k: (1 - H) * D * D), "maps H * D to D"),
    (parameters_of_widths, changed(2, lambda D, H, k: (H - 1) * k * D * D), "has D channels"),
    (parameters_of_widths, changed(2, lambda D, H, k: -D), "has a bias too"),
    (parameters_of_widths, changed(2, lambda D, H, k: (H - 1) * D * D), "maps D to D"),
    (parameters_of_widths, changed(2, lambda D, H, k: 1), "D = 12, H = 3, kernel_size = 4"),
    (wide_attention, raises, "your code raised RuntimeError: shapes do not fit"),
    (wide_attention, lambda x, *_: 0.0, "should be a tensor; got float"),
    (wide_attention, lambda x, q, *_: x @ q, "has shape (2, 4, 18); expected (2, 4, 6)"),
    (wide_attention, lambda *given: wide(*given, size=1), "not divided by the root of D_head"),
    (wide_attention, lambda *given: wide(*given, size=2), "root of D / H"),
    (wide_attention, lambda *given: wide(*given, size=18), "root of H * D"),
    (wide_attention, lambda *given: wide(*given, dim=-2), "over the queries"),
    (
        wide_attention,
        lambda *given: wide(*given, split=lambda y: y.unflatten(-1, (6, 3)).permute(0, 3, 1, 2)),
        "they are interleaved",
    ),
    (
        wide_attention,
        lambda *given: wide(*given, split=lambda y: y.view(2, 3, 4, 6)),
        "a view alone mixes tokens",
    ),
    (
        wide_attention,
        lambda x, q, k, v, o, H: wide(x, q, k, v, torch.eye(18), H) @ o @ o.pinverse(),
        "w_o is missing",
    ),
    (absorb_convolution, raises, "your code raised RuntimeError"),
    (absorb_convolution, lambda *given: absorb(*given).T, "this is transposed"),
    (absorb_convolution, lambda *given: absorb(*given).view(3, 2, 5), "join the heads"),
    (absorb_convolution, lambda *given: absorb(*given, blocks=lambda b: b[:1]), "of head 0"),
    (absorb_convolution, lambda *given: absorb(*given, blocks=lambda b: b.sum(0)), "added up"),
    (absorb_convolution, lambda *given: absorb(*given, blocks=strided), "rows of a head stand"),
    (absorb_convolution, lambda *given: absorb(*given, blocks=lambda b: b.flip(0)), "reversed"),
    (
        absorb_convolution,
        lambda *given: absorb(*given).view(3, 2, 5).transpose(0, 1).flatten(0, 1),
        "channels of a head stand together",
    ),
    (absorb_convolution, lambda v, r: v[:6], "is wrong at"),
    (width_of_equal_cost, raises, "your code raised RuntimeError"),
    (width_of_equal_cost, lambda D, H, T, S: 12.0, "whole number"),
    (width_of_equal_cost, lambda D, H, T, S: 3, "multiple of H = 8"),
    (width_of_equal_cost, lambda D, H, T, S: "12", "should be a number; got str"),
    (width_of_equal_cost, rounded, "32 (rounded down; the multiple above may be nearer), not 36"),
    (width_of_equal_cost, lambda *a: rounded(*a, up=True), "232 (rounded up"),
    (width_of_equal_cost, lambda D, H, T, S: D, "as wide"),
    (width_of_equal_cost, lambda D, H, T, S: H * D, "the projections are forgotten"),
    (width_of_equal_cost, lambda D, H, T, S: round(H**0.5 * D / H) * H, "attention is forgotten"),
    (width_of_equal_cost, lambda D, H, T, S: solve(D, H, T, T), "counted as queries"),
    (
        width_of_equal_cost,
        lambda D, H, T, S: solve(D, H, T, S) + H,
        "D = 64, H = 8, T = 128, S = 128",
    ),
]


@pytest.mark.parametrize(
    ("check", "function"), [(check, way) for check, ways in ACCEPTED for way in ways]
)
def test_what_is_right_is_accepted(check, function):
    assert check(function) == RIGHT


@pytest.mark.parametrize(("check", "wrong", "said"), FAULTS)
def test_what_is_wrong_is_named(check, wrong, said):
    answer = check(wrong)
    assert answer.startswith("Not yet: ")
    assert said in answer
