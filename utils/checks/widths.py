"""Checks of chapter 10: what wide heads hold, what they compute, and what would cost the same."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import torch
from torch import Tensor

from utils.checks.comparing import FaultError, as_number, call, check, compare, mistake_in_all

B, T, D, H, VDIM = 2, 4, 6, 3, 5
CHANNELS = D // H


@check
def parameters_of_widths(function: Callable[..., Any]) -> None:
    """Check the parameters of three layers with biases, as formulas.

    ``function(embed_dim, num_heads, kernel_size)`` returns three ints: the parameters of the
    standard layer, of the one with wide heads, and of the one whose wide heads are reduced by a
    convolution of that kernel size.
    """
    for D, H, k in [(12, 3, 4), (64, 8, 3), (10, 5, 2), (7, 1, 1)]:
        got = call(function, D, H, k)
        if not isinstance(got, tuple | list) or len(got) != 3:
            raise FaultError("return three numbers: standard, wide, and with a convolution.")
        wide, reduce = 3 * (D * H * D + H * D), k * D * D + D
        expected = 4 * (D * D + D), wide + H * D * D + D, wide + reduce + D * D + D
        mistakes = (
            {
                "these are four matrices without biases": 4 * D * D,
                "the last projection is missing": 3 * D * D + 3 * D,
                "the number does not grow with H": H * expected[0],
            },
            {
                "these are four matrices without biases": 4 * H * D * D,
                "the last bias is D long, not H * D": 4 * (H * D * D + H * D),
                "the last projection maps H * D to D": wide + D * D + D,
            },
            {
                "each head has D channels to reduce, not H * D": expected[2] + (H - 1) * k * D * D,
                "the convolution has a bias too": expected[2] - D,
                "the last projection maps D to D": wide + reduce + H * D * D + D,
            },
        )
        names = ("standard", "wide", "with a convolution")
        for name, number, right, known in zip(names, got, expected, mistakes, strict=True):
            if number != right:
                hint = next((f" ({why})" for why, wrong in known.items() if wrong == number), "")
                sizes = f"D = {D}, H = {H}, kernel_size = {k}"
                raise FaultError(f"{name}, {sizes}: {number}{hint}, not {right}.")


@check
def wide_attention(function: Callable[..., Any]) -> None:
    """Check self-attention with wide heads, from its weights.

    ``function(x, w_q, w_k, w_v, w_o, num_heads)`` takes x (B, T, D), three matrices (D, H * D) in
    which the columns of head 0 come first, and w_o (H * D, D). It returns (B, T, D).
    """
    normal = partial(torch.randn, generator=torch.Generator().manual_seed(10))
    x, matrices, w_o = normal(B, T, D), 0.5 * normal(3, D, H * D), normal(H * D, D)
    projected = x @ matrices.unsqueeze(1)  # (3, B, T, H * D)
    together = projected.view(3, B, T, H, D).transpose(2, 3)  # (3, B, H, T, D)
    mixed = projected.view(3, B, T, D, H).permute(0, 1, 4, 2, 3)
    cut = projected.view(3, B, H, T, D)

    def attend(parts: Tensor, size: float = D, dim: int = -1) -> Tensor:
        q, k, v = parts
        weights = (q @ k.mT / size**0.5).softmax(dim=dim)
        return (weights @ v).transpose(1, 2).flatten(2) @ w_o

    mistakes = {
        "the scores are not divided by the root of D_head, which is D here.": attend(together, 1),
        "the scores are divided by the root of D / H; these heads are D wide.":
            attend(together, CHANNELS),
        "the scores are divided by the root of H * D; a head is D wide.": attend(together, H * D),
        "the softmax runs over the queries; it should run over the keys.": attend(together, dim=-2),
        "heads mixed up: they are interleaved; all columns of head 0 come first.": attend(mixed),
        "heads mixed up: split with view, then transpose; a view alone mixes tokens.": attend(cut),
        "w_o is missing.": attend(together) @ w_o.pinverse(),
    }  # fmt: skip
    compare(call(function, x, *matrices, w_o, H), attend(together), "the output", mistakes, 1e-4)


@check
def absorb_convolution(function: Callable[..., Any]) -> None:
    """Check how a convolution of kernel size 1 is absorbed in the projection of the values.

    ``function(v_weight, reduce_weight)`` takes ``v_proj.weight``, (H * D, vdim), and
    ``reduce.weight``, (D, D, 1), of a ``ConvMultiHeadAttention``. It returns the weight of a
    projection that gives the reduced values at once, (D, vdim).
    """
    normal = partial(torch.randn, generator=torch.Generator().manual_seed(11))
    v_weight, reduce_weight = normal(H * D, VDIM), normal(D, D, 1)
    blocks = v_weight.view(H, D, VDIM)
    taps = reduce_weight.view(H, CHANNELS, D)
    strided = v_weight.view(D, H, VDIM).transpose(0, 1)
    square = reduce_weight.squeeze(-1)
    mistakes = {
        "all heads use the values of head 0; head h has rows of its own.":
            square @ blocks[0],
        "the heads are added up; each channel belongs to one head.": square @ blocks.sum(dim=0),
        "heads mixed up: the rows of a head stand together.": (taps @ strided).flatten(0, 1),
        "heads mixed up: their order is reversed.": (taps @ blocks.flip(0)).flatten(0, 1),
        "heads mixed up: the channels of a head stand together.":
            (taps @ blocks).transpose(0, 1).flatten(0, 1),
        "this is transposed; nn.Linear keeps (out, in).": (taps @ blocks).flatten(0, 1).mT,
        "join the heads along the rows, (D, vdim).": taps @ blocks,
    }  # fmt: skip
    expected = (taps @ blocks).flatten(0, 1)  # (H, D / H, vdim) -> (D, vdim)
    compare(call(function, v_weight, reduce_weight), expected, "the weight", mistakes)


@check
def width_of_equal_cost(function: Callable[..., Any]) -> None:
    """Check the width of a standard layer that costs as much as wide heads do.

    ``function(embed_dim, num_heads, T, S)`` returns the multiple of ``num_heads``, an int, for
    which the multiply-adds of a standard layer with T queries and S keys come nearest to those of
    the layer with wide heads.
    """
    cases = [(64, 8, 128, 128), (16, 4, 16, 16), (32, 4, 1, 500), (48, 2, 64, 8)]
    widths, rights, mistakes = [], [], []
    for D, H, T, S in cases:
        got = as_number(call(function, D, H, T, S), "the width")
        if got % H:
            raise FaultError(f"the width is a whole number and a multiple of H = {H}; got {got}.")
        work = 2 * (T + S), 2 * T * S
        widths.append(got)
        rights.append(_nearest(D, H, *work))
        mistakes.append(
            {
                "rounded down; the multiple above may be nearer": _below(D, H, *work),
                "rounded up; the multiple below may be nearer": _below(D, H, *work) + H,
                "the attention is forgotten": _nearest(D, H, 1, 0),
                "all keys are counted as queries": _nearest(D, H, 4 * T, 2 * T * T),
                "one product for T × S is forgotten": _nearest(D, H, 2 * (T + S), T * S),
                "the projections are forgotten": H * D,
                "the layer with wide heads is as wide": D,
            }
        )
    why = mistake_in_all(widths, mistakes)
    for (D, H, T, S), got, right in zip(cases, widths, rights, strict=True):
        if got != right:
            hint = f" ({why})" if why else ""
            raise FaultError(f"D = {D}, H = {H}, T = {T}, S = {S}: {got}{hint}, not {right}.")


def _nearest(D: int, H: int, projections: int, attention: int) -> int:
    """The multiple of H whose cost is nearest to that of wide heads in a model of width D."""
    below = _below(D, H, projections, attention)
    goal = projections * D * H * D + attention * H * D
    return min((below, below + H), key=lambda W: abs(projections * W * W + attention * W - goal))


def _below(D: int, H: int, projections: int, attention: int) -> int:
    """The largest multiple of H whose cost is no more than that of wide heads."""
    goal = projections * D * H * D + attention * H * D
    return max(W for W in range(0, H * D + 1, H) if projections * W * W + attention * W <= goal)
