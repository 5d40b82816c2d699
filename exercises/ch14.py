"""Checks of chapter 14: what wide heads hold, what they compute, and what would cost the same."""

from typing import Any

from torch import Tensor

from exercises.comparing import compare_numbers
from exercises.exercise import Case, Cases, Code, FaultError, as_number, call, check, exercise, normal, require_parts
from exercises.mistakes import (
    LAYER_TRANSPOSED,
    STRIDED,
    WRONG_SPLITS,
    Split,
    soft,
    split,
    strided,
    wrong_attention,
    wrong_orders,
)

B, T, D, H, VDIM = 2, 4, 6, 3, 5
CHANNELS = D // H


@exercise
def parameters_of_widths() -> Cases:
    """Check the parameters of three layers with biases, as formulas.

    ``function(embed_dim, num_heads, kernel_size)`` returns three ints: the parameters of the
    standard layer, of the wide one, and of the wide one that a convolution of that size reduces.
    """
    names, no_biases = ("standard", "wide", "with a convolution"), "the biases are missing"
    for D, H, k in [(12, 3, 4), (64, 8, 3), (10, 5, 2), (7, 1, 1)]:
        wide, reduce = 3 * (D * H * D + H * D), k * D * D + D
        rights = 4 * (D * D + D), wide + H * D * D + D, wide + reduce + D * D + D
        mistakes = (
            {
                no_biases: 4 * D * D,
                "the last projection is missing": 3 * D * D + 3 * D,
                "the number does not grow with H": H * rights[0],
            },
            {
                no_biases: 4 * H * D * D,
                "the last bias is D long, not H * D": 4 * (H * D * D + H * D),
                "the last projection maps H * D to D": wide + D * D + D,
                "the last projection is missing": wide,
            },
            {
                no_biases: 3 * H * D * D + k * D * D + D * D,
                "each head has D channels to reduce, not H * D": rights[2] + (H - 1) * k * D * D,
                "the convolution has a bias too": rights[2] - D,
                "k * D * D / H weights reduce one head, and there are H heads": (rights[2] - k * D * D + k * D * D // H),
                "all heads share one kernel": wide + (k * D + 1) * D // H + D * D + D,
                "each head keeps D channels": wide + H * ((k + 1) * D * D + D) + D,
                "the last projection maps D to D": wide + reduce + H * D * D + D,
                "the last projection is missing": wide + reduce,
            },
        )
        where = tuple(f"{name}, D = {D}, H = {H}, kernel_size = {k}" for name in names)
        wrong: dict[str, Any] = {}
        for i, name in enumerate(names):
            wrong |= {f"{name}: {why}.": tuple(number if j == i else None for j in range(3)) for why, number in mistakes[i].items()}
        parts = "three numbers: standard, wide, and with a convolution"
        yield Case((D, H, k), rights, wrong, where, parts, form="{what}: {got}, not {right}.")


@exercise
def wide_attention() -> Cases:
    """Check self-attention with wide heads, from its weights.

    ``function(x, w_q, w_k, w_v, w_o, num_heads)`` takes x (B, T, D), three matrices (D, H * D) in
    which the columns of head 0 come first, and w_o (H * D, D). It returns (B, T, D).
    """
    draw = normal(10)
    x, matrices, w_o = draw(B, T, D), 0.5 * draw(3, D, H * D), draw(H * D, D)
    projected = x @ matrices.unsqueeze(1)  # (3, B, T, H * D)

    def finish(heads: Tensor) -> Tensor:
        return heads.transpose(1, 2).flatten(2) @ w_o  # (B, H, T, D) -> (B, T, D)

    def attend(cut: Split = split, size: float = D) -> Tensor:
        q, k, v = (cut(part, H) for part in projected)
        return soft(q @ k.mT / size**0.5) @ v

    right = finish(attend())
    q, k, v = split(projected, H)
    mistakes = {
        "the scores are divided by the root of D / H, not of D.": finish(attend(size=CHANNELS)),
        "the scores are divided by the root of H * D, not of D.": finish(attend(size=H * D)),
        "w_o is missing.": right @ w_o.pinverse(),
    }
    mistakes |= wrong_attention(q, k, v, give=finish) | wrong_orders(attend(), 1, finish)
    mistakes |= {said: finish(attend(cut)) for said, cut in WRONG_SPLITS.items()}
    per_token, heads = projected.unflatten(-1, (H, D)), attend()  # (3, B, T, H, D), (B, H, T, D)
    among_heads = soft(per_token[0] @ per_token[1].mT / D**0.5) @ per_token[2]  # (B, T, H, D)
    whole = soft(projected[0] @ projected[1].mT / (H * D) ** 0.5) @ projected[2]  # (B, T, H * D)
    mistakes |= {
        "the scores are divided by the root of H, not of D.": finish(attend(size=H)),
        "the heads of a token attend to each other; swap T and H after the split.": (among_heads.flatten(2) @ w_o),
        "swap T and H back before the heads are joined.": heads.reshape(B, T, H * D) @ w_o,
        "this is one head of H * D numbers; split it into H heads.": whole @ w_o,
        f"these are {H * H} heads of D / H; a wide head has D numbers.": (_narrow(projected).transpose(1, 2).flatten(2) @ w_o),
        "the heads are averaged; join them.": finish(heads.mean(1, keepdim=True).expand_as(heads)),
        "w_o is missing: (B, T, H * D) has to become (B, T, D).": heads.transpose(1, 2).flatten(2),
        "the heads are averaged; w_o adds up what they give.": right / H,
        "the heads are averaged, and w_o is cut; join them.": heads.mean(1) @ w_o[:D],
        "the heads are averaged, and w_o is missing; join them.": heads.mean(1),
    }
    yield Case((x, *matrices, w_o, H), right, mistakes, "the output", atol=1e-4)


@exercise
def absorb_convolution() -> Cases:
    """Check how a convolution of kernel size 1 is absorbed in the projection of the values.

    ``function(v_weight, reduce_weight)`` takes ``v_proj.weight``, (H * D, vdim), and
    ``reduce.weight``, (D, D, 1), of a ``ConvMultiHeadAttention``. It returns the weight of a
    projection that gives the reduced values at once, (D, vdim).
    """
    draw = normal(11)
    v_weight, reduce_weight = draw(H * D, VDIM), draw(D, D, 1)
    blocks, taps = v_weight.view(H, D, VDIM), reduce_weight.view(H, CHANNELS, D)

    def reduced_by(taps: Tensor, heads: Tensor) -> Tensor:
        return (taps @ heads).flatten(0, 1)  # (H, D / H, vdim) -> (D, vdim)

    def reduced(heads: Tensor) -> Tensor:
        return reduced_by(taps, heads)

    mistakes = wrong_orders(blocks, 0, reduced) | {
        "the heads are added up; each channel has one.": reduced(blocks.sum(0, keepdim=True)),
        STRIDED: reduced(strided(v_weight.T, H).mT),
        "heads mixed up: the channels of a head stand together.": ((taps @ blocks).transpose(0, 1).flatten(0, 1)),
        LAYER_TRANSPOSED: reduced(blocks).mT,
        "join the heads along the rows, (D, vdim).": taps @ blocks,
        "the blocks are transposed; a channel is a row.": (taps @ blocks).mT.flatten(0, 1),
        "the heads are averaged; each channel has one.": reduced(blocks.mean(0, keepdim=True)),
        "the heads are averaged after the product; stack them.": (taps @ blocks).mean(0),
        "head 0's kernel, D * D / H weights, is used for all; each head has its own.": (reduced_by(taps[:1], blocks)),
        "each channel of the convolution reads the D rows of its own head, not those of all.": (
            (reduce_weight[..., 0] @ blocks).flatten(0, 1)
        ),
        "the convolution is transposed; reduce.weight is (channels, D, 1).": (
            reduced_by(reduce_weight[..., 0].T.reshape(H, CHANNELS, D), blocks)
        ),
        "heads mixed up: the first D / H channels belong to head 0.": (
            reduced_by(reduce_weight.view(CHANNELS, H, D).transpose(0, 1), blocks)
        ),
    }
    yield Case((v_weight, reduce_weight), reduced(blocks), mistakes, "the weight")


@check
def widths_of_equal_cost(function: Code) -> None:
    """Check the widths of two models with ordinary heads that cost what wide heads do.

    ``function(embed_dim, num_heads, T, S, around)`` returns two multiples of ``num_heads``: the one
    for which the multiply-adds of a standard layer with T queries and S keys come nearest to those
    of the layer with wide heads, and the one for which the parameters of the whole model do, where
    ``around`` parameters stand around the layer for each number of the width.
    """
    given = [(64, 8, 128, 128, 900), (16, 4, 16, 16, 360), (32, 4, 1, 500, 50), (48, 2, 64, 8, 9)]
    found: list[list[Any]] = [[], []]
    for D, H, T, S, around in given:
        result = call(function, D, H, T, S, around)
        require_parts(result, 2, "two widths: by multiply-adds and by parameters")
        work, size = (2 * (T + S), 2 * T * S), (4, 4 + around)
        goals = _goal(D, H, *work), 4 * D * H * D + 3 * H * D + D + around * D
        rights = _nearest(H, goals[0], *work), _nearest(H, goals[1], *size)
        as_wide, layer = "the layer with wide heads is as wide", 4 * D * H * D + 3 * H * D + D
        mistakes = (
            {
                "rounded down; the multiple above may be nearer": _below(H, goals[0], *work),
                "rounded up; the multiple below may be nearer": _below(H, goals[0], *work) + H,
                "the attention is forgotten": _nearest(H, _goal(D, H, 1, 0), 1, 0),
                "all keys are counted as queries": _same_work(D, H, 4 * T, 2 * T * T),
                "attention is counted once; it has two products": _same_work(D, H, work[0], T * S),
                "the projections are forgotten": H * D,
                as_wide: D,
            },
            {
                "rounded down; the multiple above may be nearer": _below(H, goals[1], *size),
                "rounded up; the multiple below may be nearer": _below(H, goals[1], *size) + H,
                "only the layer is counted, not what stands around it": _nearest(H, layer, 4, 4),
                "the biases are forgotten": _nearest(H, _goal(D, H, 4, 0) + around * D, 4, around),
                as_wide: D,
            },
        )
        for i, name in enumerate(("by multiply-adds", "by parameters")):
            width = as_number(result[i], f"the width {name}")
            if width % H:
                raise FaultError(f"the width {name}, {width}, is no whole multiple of H = {H}.")
            where = f"{name}, D = {D}, H = {H}, T = {T}, S = {S}, around = {around}"
            wrong = {f"{name}: {why}.": number for why, number in mistakes[i].items()}
            found[i].append((width, rights[i], where, wrong))
    for cases in found:
        compare_numbers(cases, "{what}: {got}, not {right}.")


def _narrow(projected: Tensor) -> Tensor:
    """What H * H heads of D / H numbers give, (B, H * H, T, D / H), for (3, B, T, H * D)."""
    q, k, v = projected.unflatten(-1, (H * H, CHANNELS)).transpose(2, 3)
    return soft(q @ k.mT / CHANNELS**0.5) @ v


def _goal(D: int, H: int, projections: int, attention: int) -> int:
    return projections * D * H * D + attention * H * D


def _same_work(D: int, H: int, projections: int, attention: int) -> int:
    return _nearest(H, _goal(D, H, projections, attention), projections, attention)


def _nearest(H: int, goal: int, square: int, linear: int) -> int:
    """The multiple W of H whose cost, square * W * W + linear * W, is nearest to the goal."""
    below = _below(H, goal, square, linear)
    return min((below, below + H), key=lambda W: abs(square * W * W + linear * W - goal))


def _below(H: int, goal: int, square: int, linear: int) -> int:
    """The largest multiple of H whose cost is no more than the goal."""
    W = 0
    while square * (W + H) ** 2 + linear * (W + H) <= goal:
        W += H
    return W
