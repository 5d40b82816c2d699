"""Checks of chapter 5: splitting and joining heads, stacking projections, the layer at once.

Shapes: B sequences, T queries, S keys, H heads, D = H * D_head.
"""

import math

import torch
from torch import Tensor, nn

from utils.checks.comparing import Code, FaultError, call, check, compare
from utils.checks.mistakes import (
    STRIDED,
    UNSWAPPED,
    WRONG_SPLITS,
    Split,
    soft,
    split,
    unswapped,
    wrong_attention,
    wrong_orders,
    wrong_projections,
)

__all__ = ["efficient_layer", "folded_weights", "join_heads", "split_heads", "stack_projections"]


def _join(x: Tensor) -> Tensor:
    """Put the heads of (…, H, T, D_head) side by side: (…, T, D)."""
    return torch.cat(x.unbind(dim=-3), dim=-1)


def _join_mixed(x: Tensor) -> Tensor:
    return x.reshape(*x.shape[:-3], x.shape[-2], -1)


@check
def split_heads(function: Code) -> None:
    """Check ``function(x, num_heads)``: (…, T, D) to (…, H, T, D_head), with any leading axes.

    Head h takes the D_head columns from h * D_head on, of every token.
    """
    for shape, H in [((3, 4), 2), ((2, 5, 12), 3), ((2, 3, 4, 6), 1), ((2, 3, 4, 6), 6)]:
        x = torch.arange(1.0, 1 + math.prod(shape)).view(shape)
        right = split(x, H)
        mistakes = {said: cut(x, H) for said, cut in WRONG_SPLITS.items()}
        mistakes |= wrong_orders(right, -3)
        mistakes["the head axis stands behind the token axis; swap them."] = right.transpose(-3, -2)
        compare(call(function, x, H), right, f"for x of shape {shape}, the result", mistakes)


@check
def join_heads(function: Code) -> None:
    """Check ``function(x)``: (…, H, T, D_head) to (…, T, D), the inverse of splitting heads."""
    for shape in [(2, 3, 2), (2, 3, 5, 4), (2, 3, 1, 4, 6), (2, 6, 4, 1)]:
        x = torch.arange(1.0, 1 + math.prod(shape)).view(shape)
        mistakes = wrong_orders(x, -3, _join) | {
            UNSWAPPED: _join_mixed(x),
            "the heads are added up; join them.": x.sum(dim=-3),
            STRIDED: x.movedim(-3, -1).flatten(-2),
        }
        compare(call(function, x), _join(x), f"for x of shape {shape}, the result", mistakes)


@check
def stack_projections(function: Code) -> None:
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
def folded_weights(function: Code) -> None:
    """Check ``function(query, key, num_heads, blocked)``: all weights as (B * H, T, S).

    ``query`` (B, T, D) and ``key`` (B, S, D) are projected already; ``blocked`` is (B, S), bool,
    True = blocked. Row b * H + h of the result belongs to sequence b and head h.
    """
    torch.manual_seed(0)
    B, T, S, H, D = 2, 3, 4, 2, 6
    query, key = torch.randn(B, T, D), torch.randn(B, S, D)
    blocked = torch.tensor([[False, False, False, True], [False, True, False, False]])
    allowed = ~blocked.view(B, 1, 1, S)
    q, k = split(query, H), split(key, H)

    def run(cut: Split = split, allowed: Tensor = allowed) -> Tensor:
        products = cut(query, H) @ cut(key, H).mT
        return soft(products / (D / H) ** 0.5, allowed).flatten(0, 1)

    heads_first = run().view(B, H, T, S).transpose(0, 1).flatten(0, 1)
    repeated = run(allowed=~blocked.repeat(H, 1).view(B, H, 1, S))
    mistakes = wrong_attention(q, k, None, allowed, "blocked", D, lambda w: w.flatten(0, 1))
    mistakes |= {said: run(cut) for said, cut in WRONG_SPLITS.items()} | {
        "a mask meets the wrong sequence: use repeat_interleave, not repeat.": repeated,
        "the rows run over the heads first; row b * H + h is for sequence b, head h.": heads_first,
    }
    compare(call(function, query, key, H, blocked), run(), "the result", mistakes)


@check
def efficient_layer(function: Code) -> None:
    """Check ``function(x, in_weight, in_bias, out_weight, out_bias, num_heads)``: a whole layer.

    Self-attention of ``x`` (B, T, D) to (B, T, D), its weights packed as in PyTorch's layer:
    ``in_weight`` (3 * D, D) and ``in_bias`` (3 * D,) for query, key, value; ``out_weight`` (D, D).
    """
    torch.manual_seed(0)
    B, T, H, D = 2, 5, 2, 6
    x, w_in, b_in = torch.randn(B, T, D), torch.randn(3 * D, D) / 2, torch.randn(3 * D)
    w_out, b_out = torch.randn(D, D), torch.randn(D)

    q, k, v = packed = (x @ w_in.T + b_in).chunk(3, dim=-1)  # (B, T, D)

    def finish(heads: Tensor) -> Tensor:
        return _join(heads) @ w_out.T + b_out

    def heads(cut: Split = split, q: Tensor = q, k: Tensor = k, v: Tensor = v) -> Tensor:
        q, k, v = (cut(part, H) for part in (q, k, v))
        return soft(q @ k.mT / (D / H) ** 0.5) @ v  # (B, H, T, D_head)

    no_bias = finish(heads(split, *(x @ w_in.T).chunk(3, dim=-1)))
    untransposed = _join_mixed(heads()), _join_mixed(heads(unswapped))
    in_heads = [split(part, H) for part in packed]
    mistakes = {
        "query and key are swapped; the packed order is query, key, value.": finish(
            heads(q=k, k=q)
        ),
        "the heads are joined without a transpose.": untransposed[0] @ w_out.T + b_out,
        "the heads are split and joined without a transpose.": untransposed[1] @ w_out.T + b_out,
        "the biases of query, key and value are missing.": no_bias,
    } | {said: finish(heads(cut)) for said, cut in WRONG_SPLITS.items()}
    mistakes |= wrong_attention(in_heads[0], in_heads[1], in_heads[2], width=D, give=finish)
    right = finish(heads())
    mistakes |= wrong_orders(heads(), 1, finish) | wrong_projections(_join(heads()), w_out.T, b_out)
    compare(call(function, x, w_in, b_in, w_out, b_out, H), right, "the output", mistakes)
