"""Checks of chapter 5: splitting heads, stacking projections, a test for mistakes, the layer.

Shapes: B sequences, T tokens, H heads, D = H * D_head.
"""

import math
from collections.abc import Callable, Sequence
from itertools import permutations
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn
from torch.overrides import TorchFunctionMode

from utils.checks.comparing import Code, FaultError, call, check, compare, normal
from utils.checks.mistakes import (
    WRONG_SPLITS,
    Split,
    soft,
    split,
    unswapped,
    wrong_attention,
    wrong_orders,
    wrong_projections,
)

__all__ = ["efficient_layer", "keeps_tokens_apart", "split_heads", "stack_projections"]

Join = Callable[[Tensor], Tensor]


def _join(x: Tensor) -> Tensor:
    """Put the heads of (…, H, T, D_head) side by side: (…, T, D)."""
    return torch.cat(x.unbind(dim=-3), dim=-1)


def _join_mixed(x: Tensor) -> Tensor:
    return x.reshape(*x.shape[:-3], x.shape[-2], -1)


def _join_rounded(x: Tensor) -> Tensor:
    """Join as ``_join`` does, the first token off by one unit in the last place, as sums may be."""
    joined = _join(x)
    first = torch.arange(joined.shape[-2]).eq(0).to(joined)[:, None]
    return joined * (1 + torch.finfo(joined.dtype).eps * first)


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
        said = "axes 1 and 2 are those to swap with one batch axis; count from the end: -3 and -2."
        if x.dim() != 3:
            mistakes[said] = x.unflatten(-1, (H, -1)).transpose(1, 2)
        mistakes["the head axis stands behind the token axis; swap them."] = right.transpose(-3, -2)
        compare(call(function, x, H), right, f"for x of shape {shape}, the result", mistakes)


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
        case = "." if len(set(sizes)) == 1 else ", where the two give {} and {} numbers."
        case = case.format(*sizes) if bias else ", where neither projection has a bias."
        stacked = _call_for(case, function, first, second)
        if not isinstance(stacked, nn.Linear):
            raise FaultError(f"the result should be an nn.Linear; got {type(stacked).__name__}.")
        if stacked.bias is not None and not bias:
            raise FaultError("the result has a bias, and neither projection has one.")
        weight, right = torch.cat([first.weight, second.weight]), torch.cat(parts, dim=-1)
        mistakes = {
            "the second projection comes first.": torch.cat(parts[::-1], dim=-1),
            "the biases are missing; stack them.": x @ weight.T,
        }
        if bias and stacked.bias is not None and stacked.bias.shape == right.shape[-1:]:
            mistakes |= _left_fresh(x, weight, torch.cat([first.bias, second.bias]), stacked)
        what = f"for {width} inputs and {sizes[0]} + {sizes[1]} outputs, the output"
        compare(_call_for(case, stacked, x), right, what, mistakes)


def _call_for(case: str, function: Code, *args: Any) -> Any:
    """Call what the reader wrote; where it raises, say for which projections, and what to mind."""
    try:
        return call(function, *args)
    except FaultError as fault:
        said = str(fault).split("\n")[0].rstrip(".") + case
        if case == ".":
            said += " A weight is (out, in): stack along dim=0, for a layer of as many rows."
        raise FaultError(said) from fault


def _left_fresh(x: Tensor, weight: Tensor, bias: Tensor, stacked: nn.Linear) -> dict[str, Tensor]:
    """What comes out where a part of the new layer was left as it was drawn."""
    fresh = "the {} is still the one that the new nn.Linear was made with; copy yours into it."
    wrong = {fresh.format("bias"): x @ weight.T + stacked.bias}
    if stacked.weight.shape == weight.shape:
        wrong[fresh.format("weight")] = x @ stacked.weight.T + bias
        wrong["neither weight nor bias is copied into the new nn.Linear."] = stacked(x)
    return wrong


LAYERS = {
    "a right layer": (split, _join),
    "a right layer that rounds each token its own way": (split, _join_rounded),
    "a layer that splits and joins by view alone": (unswapped, _join_mixed),
    "a layer that only splits by view alone": (unswapped, _join),
    "a layer that only joins by view alone": (split, _join_mixed),
}


@check
def keeps_tokens_apart(function: Code) -> None:
    """Check a test: ``function(layer)`` is to be True where the layer keeps the tokens apart.

    ``layer`` is self-attention, (B, T, 8) to (B, T, 8), with two heads and no mask.
    """
    for seed in range(3):
        for what, (cut, glue) in LAYERS.items():
            found = call(function, _layer(seed, cut, glue))
            if isinstance(found, Tensor | np.generic) and found.shape == ():
                found = found.item()
            if not isinstance(found, bool):
                raise FaultError(f"your test should return True or False; got {_named(found)}.")
            right = cut is split and glue in (_join, _join_rounded)
            if right and not found:
                raise FaultError(
                    f"your test refuses {what}. Sums of floats differ in the last digit, so "
                    "compare with torch.allclose; and ask only for what must hold."
                )
            if found and not right:
                hint = "Put two equal tokens far apart, with other tokens between and behind them."
                if cut is split or glue is _join:
                    hint = "In it every token still reads all; but do equal tokens get equal rows?"
                raise FaultError(f"your test lets {what} through. {hint}")


def _named(found: Any) -> str:
    shape = f" of shape {tuple(found.shape)}" if isinstance(found, Tensor) else ""
    return f"{type(found).__name__}{shape}"


def _layer(seed: int, cut: Split, glue: Join, D: int = 8, H: int = 2) -> Callable[[Tensor], Tensor]:
    """Self-attention with random weights, in the dtype of what it is given."""
    weights = normal(seed)(4, D, D) / D**0.5

    def layer(x: Tensor) -> Tensor:
        w_q, w_k, w_v, w_o = weights.to(x)
        q, k, v = (cut(x @ w, H) for w in (w_q, w_k, w_v))
        return glue(soft(q @ k.mT / (D / H) ** 0.5) @ v) @ w_o

    return layer


@check
def efficient_layer(function: Code) -> None:
    """Check ``function(x, in_weight, in_bias, out_weight, out_bias, num_heads, blocked)``: a layer.

    Self-attention of ``x`` (B, T, D) to (B, T, D), its weights packed as in PyTorch's layer:
    ``in_weight`` (3 * D, D) and ``in_bias`` (3 * D,) for query, key, value; ``out_weight`` (D, D).
    ``blocked`` (B, T), bool, is True for the keys that are padding; each sequence has others.
    """
    draw = normal(0)
    B, T, H, D = 2, 5, 2, 6
    x, w_in, b_in = draw(B, T, D), draw(3 * D, D) / 2, draw(3 * D)
    w_out, b_out = draw(D, D), draw(D)
    blocked = torch.tensor([[False, False, False, True, True], [False, False, False, False, True]])
    allowed = ~blocked.view(B, 1, 1, T)
    parts = list((x @ w_in.T + b_in).chunk(3, dim=-1))  # (B, T, D) each

    def finish(heads: Tensor) -> Tensor:
        return _join(heads) @ w_out.T + b_out

    def heads(parts: list[Tensor] = parts, cut: Split = split, allowed: Tensor = allowed) -> Tensor:
        q, k, v = (cut(part, H) for part in parts)
        return soft(q @ k.mT / (D / H) ** 0.5, allowed) @ v  # (B, H, T, D_head)

    in_heads = [split(part, H) for part in parts]
    mixed, both_mixed = _join_mixed(heads()), _join_mixed(heads(cut=unswapped))
    mistakes = {
        "the heads are joined without a transpose.": mixed @ w_out.T + b_out,
        "the heads are split and joined without a transpose.": both_mixed @ w_out.T + b_out,
        "the biases of query, key and value are missing.": finish(
            heads(list((x @ w_in.T).chunk(3, dim=-1)))
        ),
    } | {said: finish(heads(cut=cut)) for said, cut in WRONG_SPLITS.items()}
    mistakes |= _wrong_packing(lambda parts: finish(heads(parts)), x, w_in, b_in, H)
    mistakes |= _wrong_padding(lambda allowed: finish(heads(allowed=allowed)), blocked)
    whole = [part.unsqueeze(1) for part in parts]  # (B, 1, T, D) each
    for said, width in (
        ("the heads are not split: this is one head of width D.", D),
        ("the heads are not split: this is one head of width D, scaled as a narrow one.", D // H),
    ):
        scores = whole[0] @ whole[1].mT / width**0.5
        mistakes[said] = finish(soft(scores, allowed) @ whole[2])
    q, k, v = in_heads
    mistakes |= wrong_attention(q, k, v, allowed, "blocked", D, finish)
    mistakes |= wrong_orders(heads(), 1, finish) | wrong_projections(_join(heads()), w_out.T, b_out)
    right, inputs = finish(heads()), (x, w_in, b_in, w_out, b_out, H, blocked)
    try:
        got = call(function, *inputs)
    except FaultError as fault:
        if "view size is not compatible" in str(fault):
            _explain_view(function, inputs, right, mistakes)
        raise
    compare(got, right, "the output", mistakes)


class _ViewCopies(TorchFunctionMode):
    """Let ``view`` do what its error advises: copy where it must."""

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        return (Tensor.reshape if func is Tensor.view else func)(*args, **(kwargs or {}))


def _explain_view(
    function: Code, inputs: Sequence[Any], right: Tensor, mistakes: dict[str, Tensor]
) -> None:
    """Say what is wrong where ``view`` raised, by what ``reshape`` gives in its place."""
    with _ViewCopies():
        got = call(function, *inputs)
    try:
        compare(got, right, "the output", mistakes)
    except FaultError as fault:
        if "heads" in str(fault) and "transpose" in str(fault):
            raise FaultError(
                f"view stops, and reshape, which its error advises, would only hide why: {fault}"
            ) from fault
        return  # something else is wrong besides, and the error of view comes first
    raise FaultError("view cannot merge axes after a transpose; here reshape or flatten is right.")


def _wrong_packing(
    give: Callable[[list[Tensor]], Tensor], x: Tensor, w_in: Tensor, b_in: Tensor, H: int
) -> dict[str, Tensor]:
    """Take query, key and value from the wrong rows of the packed weights."""
    packed = x @ w_in.T + b_in  # (B, T, 3 * D)
    parts = packed.chunk(3, dim=-1)
    names = ("query", "key", "value")
    wrong = {
        f"the packed order is query, key, value; yours is {', '.join(names[i] for i in order)}.": (
            give([parts[order.index(n)] for n in range(3)])
        )
        for order in list(permutations(range(3)))[1:]
    }
    by_head = packed.unflatten(-1, (H, 3, -1)).unbind(dim=-2)  # 3 times (B, T, H, D_head)
    said = "the rows are read head by head; PyTorch packs all of query, then all of key, of value."
    wrong[said] = give([part.flatten(-2) for part in by_head])
    straight = [x @ w + b for w, b in zip(w_in.chunk(3), b_in.chunk(3), strict=True)]
    wrong["the packed weights are not transposed; nn.Linear computes x @ weight.T."] = give(
        straight
    )
    return wrong


def _wrong_padding(give: Callable[[Tensor], Tensor], blocked: Tensor) -> dict[str, Tensor]:
    """Let a padding mask (B, T) meet the wrong axis of the scores (B, H, T, T)."""
    B, T = blocked.shape
    return {
        "the mask meets the queries; a padded token is blocked as a key: (B, 1, 1, T).": give(
            ~blocked.view(B, 1, T, 1)
        ),
        "the mask of sequence b meets head b; it needs an axis for the heads: (B, 1, 1, T).": give(
            ~blocked.view(1, B, 1, T)
        ),
    }
