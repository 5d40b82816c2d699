"""Checks of chapter 5: splitting and joining heads, stacking projections, the layer at once.

Shapes: B sequences, T queries, S keys, H heads, D = H * D_head.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor, nn

from utils.checks.comparing import FaultError, call, check, compare

# Said by more than one check.
MIXED = "the heads mix tokens up: swap head axis and token axis by transpose, not by reshape alone."
STRIDED = "a head takes every H-th column; it should take D_head columns that lie side by side."
NO_SCALE = "the scale is missing: divide the scores by the root of D_head."
BIG_SCALE = "the scores are divided by the root of D; it should be the root of D_head."
AXIS = "softmax runs over the queries; it should run over the keys, the last axis."


def _split(x: Tensor, num_heads: int) -> Tensor:
    """Cut (…, T, D) into H strips of D_head columns, and stack them: (…, H, T, D_head)."""
    return torch.stack(x.chunk(num_heads, dim=-1), dim=-3)


WRONG_SPLITS: dict[str, Callable[[Tensor, int], Tensor]] = {
    MIXED: lambda x, H: x.reshape(*x.shape[:-2], H, x.shape[-2], -1),
    STRIDED: lambda x, H: torch.stack([x[..., h::H] for h in range(H)], dim=-3),
}


def _join(x: Tensor) -> Tensor:
    """Put the heads of (…, H, T, D_head) side by side: (…, T, D)."""
    return torch.cat(x.unbind(dim=-3), dim=-1)


def _join_mixed(x: Tensor) -> Tensor:
    return x.reshape(*x.shape[:-3], x.shape[-2], -1)


def _weights(q: Tensor, k: Tensor, mask: Tensor | bool, dim: int = -1, size: float = 0) -> Tensor:
    scores = q @ k.mT / (size or q.shape[-1]) ** 0.5  # (B, H, T, S)
    return scores.masked_fill(torch.as_tensor(mask), -math.inf).softmax(dim)


def _common(run: Callable[..., Tensor], D: int) -> dict[str, Tensor]:
    """Give the mistakes that every attention over heads can have, with what they lead to."""
    scales = {NO_SCALE: run(size=1), BIG_SCALE: run(size=D), AXIS: run(dim=-2)}
    return scales | {said: run(split=split) for said, split in WRONG_SPLITS.items()}


@check
def split_heads(function: Callable[[Tensor, int], Tensor]) -> None:
    """Check ``function(x, num_heads)``: (…, T, D) to (…, H, T, D_head), with any leading axes.

    Head h takes the D_head columns from h * D_head on, of every token.
    """
    for shape, H in [((3, 4), 2), ((2, 5, 12), 3), ((2, 3, 4, 6), 1), ((2, 3, 4, 6), 6)]:
        x = torch.arange(1.0, 1 + math.prod(shape)).view(shape)
        right = _split(x, H)
        mistakes = {said: split(x, H) for said, split in WRONG_SPLITS.items()}
        mistakes["the head axis stands behind the token axis; swap them."] = right.transpose(-3, -2)
        compare(call(function, x, H), right, f"for x of shape {shape}, the result", mistakes)


@check
def join_heads(function: Callable[[Tensor], Tensor]) -> None:
    """Check ``function(x)``: (…, H, T, D_head) to (…, T, D), the inverse of splitting heads."""
    for shape in [(2, 3, 2), (2, 3, 5, 4), (2, 3, 1, 4, 6), (2, 6, 4, 1)]:
        x = torch.arange(1.0, 1 + math.prod(shape)).view(shape)
        mistakes = {MIXED: _join_mixed(x), "the heads are added up; join them.": x.sum(dim=-3)}
        alternating = x.movedim(-3, -1).flatten(-2)
        mistakes["the heads' columns alternate; keep each head's together."] = alternating
        compare(call(function, x), _join(x), f"for x of shape {shape}, the result", mistakes)


@check
def stack_projections(function: Callable[[nn.Linear, nn.Linear], nn.Linear]) -> None:
    """Check ``function(first, second)``: two ``nn.Linear`` of the same input become one.

    Its output is that of the first and then that of the second, side by side. Where neither has a
    bias, the result has none.
    """
    torch.manual_seed(0)
    for width, sizes, bias in [(4, (2, 2), True), (4, (2, 3), True), (3, (3, 3), False)]:
        first, second = (nn.Linear(width, size, bias=bias) for size in sizes)
        x = torch.randn(2, 5, width)  # (B, T, D)
        parts = [first(x), second(x)]
        stacked = call(function, first, second)
        if not isinstance(stacked, nn.Linear):
            raise FaultError(f"the result should be an nn.Linear; got {type(stacked).__name__}.")
        if stacked.bias is not None and not bias:
            raise FaultError("the result has a bias, and neither projection has one.")
        right = torch.cat(parts, dim=-1)
        mistakes = {
            "the second projection comes first.": torch.cat(parts[::-1], dim=-1),
            "the biases are missing; stack them.": x @ torch.cat([first.weight, second.weight]).T,
        }
        what = f"for {width} inputs and {sizes[0]} + {sizes[1]} outputs, the output"
        compare(call(stacked, x), right, what, mistakes)


@check
def folded_weights(function: Callable[[Tensor, Tensor, int, Tensor], Tensor]) -> None:
    """Check ``function(query, key, num_heads, blocked)``: all weights as (B * H, T, S).

    ``query`` (B, T, D) and ``key`` (B, S, D) are projected already; ``blocked`` is (B, S), bool,
    True = blocked. Row b * H + h of the result belongs to sequence b and head h.
    """
    torch.manual_seed(0)
    B, T, S, H, D = 2, 3, 4, 2, 6
    query, key = torch.randn(B, T, D), torch.randn(B, S, D)
    blocked = torch.tensor([[False, False, False, True], [False, True, False, False]])
    mask = blocked.view(B, 1, 1, S)

    def run(mask: Tensor | bool = mask, split: Any = _split, **wrong: Any) -> Tensor:
        return _weights(split(query, H), split(key, H), mask, **wrong).flatten(0, 1)

    heads_first = run().view(B, H, T, S).transpose(0, 1).flatten(0, 1)
    repeated = run(blocked.repeat(H, 1).view(B, H, 1, S))
    mistakes = _common(run, D) | {
        "the mask is the wrong way round: True means blocked.": run(~mask),
        "the mask is not used.": run(False),
        "a mask meets the wrong sequence: use repeat_interleave, not repeat.": repeated,
        "the rows run over the heads first; row b * H + h is for sequence b, head h.": heads_first,
    }
    compare(call(function, query, key, H, blocked), run(), "the result", mistakes)


@check
def efficient_layer(function: Callable[..., Tensor]) -> None:
    """Check ``function(x, in_weight, in_bias, out_weight, out_bias, num_heads)``: a whole layer.

    Self-attention of ``x`` (B, T, D) to (B, T, D), its weights packed as in PyTorch's layer:
    ``in_weight`` (3 * D, D) and ``in_bias`` (3 * D,) for query, key, value; ``out_weight`` (D, D).
    """
    torch.manual_seed(0)
    B, T, H, D = 2, 5, 2, 6
    x, w_in, b_in = torch.randn(B, T, D), torch.randn(3 * D, D) / 2, torch.randn(3 * D)
    w_out, b_out = torch.randn(D, D), torch.randn(D)

    def heads(order: str = "qkv", split: Any = _split, join: Any = _join, **wrong: Any) -> Tensor:
        packed = dict(zip(order, (x @ w_in.T + b_in).chunk(3, dim=-1), strict=True))
        q, k, v = (split(packed[name], H) for name in "qkv")
        return join(_weights(q, k, False, **wrong) @ v)  # (B, T, D)

    def run(**wrong: Any) -> Tensor:
        return heads(**wrong) @ w_out.T + b_out

    both = "the heads are split and joined without a transpose, so they mix tokens up."
    mistakes = _common(run, D) | {
        both: run(split=WRONG_SPLITS[MIXED], join=_join_mixed),
        "the heads are joined without a transpose.": run(join=_join_mixed),
        "query and key are swapped; the packed order is query, key, value.": run(order="kqv"),
        "the last projection is missing.": heads(),
        "the bias of the last projection is missing.": run() - b_out,
        "the last weight lacks its transpose: x @ weight.T + bias.": heads() @ w_out + b_out,
    }
    compare(call(function, x, w_in, b_in, w_out, b_out, H), run(), "the output", mistakes)
