"""Checks of chapter 4: splitting heads, stacking projections, a test for mistakes, the layer.

Shapes: B sequences, T tokens, H heads, D = H * D_head.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from itertools import permutations
from typing import Any

import torch
from torch import Tensor, nn
from torch.overrides import TorchFunctionMode

from exercises.exercise import Case, Cases, Code, FaultError, call, check, compare, exercise, normal
from exercises.mistakes import (
    WRONG_SPLITS,
    Split,
    join,
    soft,
    split,
    unswapped,
    unswapped_join,
    wrong_attention,
    wrong_orders,
    wrong_padding,
    wrong_projections,
)

Join = Callable[[Tensor], Tensor]


def _joined_roughly(x: Tensor) -> Tensor:
    """Join as ``join`` does, the first token off by one unit in the last place, as sums may be."""
    joined = join(x)
    first = torch.arange(joined.shape[-2]).eq(0).to(joined)[:, None]
    return joined * (1 + torch.finfo(joined.dtype).eps * first)


@exercise
def split_heads() -> Cases:
    """Check ``function(x, num_heads)``: (…, T, D) to (…, H, T, D_head), with any leading axes.

    Head h takes the D_head columns from h * D_head on, of every token.
    """
    for shape, H in [((3, 4), 2), ((2, 5, 12), 3), ((2, 3, 4, 6), 1), ((2, 3, 4, 6), 6)]:
        x = torch.arange(1.0, 1 + math.prod(shape)).view(shape)
        right = split(x, H)
        mistakes = {said: wrong(x, H) for said, wrong in WRONG_SPLITS.items()}
        mistakes |= wrong_orders(right, -3)
        cut = x.unflatten(-1, (H, -1))  # (..., T, H, D_head)
        swapped = "the last two axes are swapped; count from the end: tokens and heads are -3 and -2."
        mistakes[swapped] = cut.transpose(-1, -2)
        mistakes["the head axis stands behind the token axis; swap them."] = right.transpose(-3, -2)
        try:
            yield Case((x, H), right, mistakes, f"for x of shape {shape}, the result")
        except FaultError as fault:
            if not fault.__cause__:
                raise
            more = "There may be any number of axes in front: *lead, T, D = x.shape."
            raise FaultError(f"for x of shape {shape}, {str(fault).rstrip('.')}. {more}") from fault


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
    "a right layer": (split, join, "none"),
    "a right layer that rounds each token its own way": (split, _joined_roughly, "none"),
    "a layer that only splits by view alone": (unswapped, join, "split"),
    "a layer that only joins by view alone": (split, unswapped_join, "join"),
    "a layer that splits and joins by view alone": (unswapped, unswapped_join, "both"),
}
HINTS = {
    "none": "Sums of floats differ in the last digit, so compare with torch.allclose; and a right "
    "layer answers each token's own question, from all of the text.",
    "split": "In it the first of four outputs answers the questions of tokens 0 and 2.",
    "join": "In it the first of four outputs answers the questions of tokens 0 and 1.",
    "both": "In it every output answers its own question; but from how much of the text?",
}


@check
def missing_transpose(function: Code) -> None:
    """Check a test: ``function(layer)`` says which transpose is missing in the layer.

    ``layer(query, text)`` is attention, (B, T, 8) and (B, S, 8) to (B, T, 8), with two heads and no
    mask. The answers are "none", "split", "join" and "both".
    """
    for seed in range(3):
        for what, (cut, glue, right) in LAYERS.items():
            found = call(function, _layer(seed, cut, glue))
            if not isinstance(found, str) or found not in HINTS:
                raise FaultError(f"the result should be one of {', '.join(HINTS)}; got {found!r}.")
            if found != right:
                raise FaultError(f"of {what} your test says {found!r}. {HINTS[right]}")


def _layer(seed: int, cut: Split, glue: Join, D: int = 8, H: int = 2) -> Callable[..., Tensor]:
    """Attention with random weights, in the dtype of what it is given."""
    weights = normal(seed)(4, D, D) / D**0.5

    def layer(query: Tensor, text: Tensor) -> Tensor:
        w_q, w_k, w_v, w_o = weights.to(query)
        q, k, v = cut(query @ w_q, H), cut(text @ w_k, H), cut(text @ w_v, H)
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
        return join(heads) @ w_out.T + b_out

    def heads(parts: list[Tensor] = parts, cut: Split = split) -> Tensor:
        q, k, v = (cut(part, H) for part in parts)
        return soft(q @ k.mT / (D / H) ** 0.5, allowed) @ v  # (B, H, T, D_head)

    mixed, both_mixed = unswapped_join(heads()), unswapped_join(heads(cut=unswapped))
    mistakes = {
        "the heads are joined without a transpose.": mixed @ w_out.T + b_out,
        "the heads are split and joined without a transpose.": both_mixed @ w_out.T + b_out,
        "the biases of query, key and value are missing.": finish(heads(list((x @ w_in.T).chunk(3, dim=-1)))),
    } | {said: finish(heads(cut=cut)) for said, cut in WRONG_SPLITS.items()}
    mistakes |= _wrong_packing(lambda parts: finish(heads(parts)), x, w_in, b_in, H)
    whole = [part.unsqueeze(1) for part in parts]  # (B, 1, T, D) each
    for said, width in (
        ("the heads are not split: this is one head of width D.", D),
        ("the heads are not split: this is one head of width D, scaled as a narrow one.", D // H),
    ):
        scores = whole[0] @ whole[1].mT / width**0.5
        mistakes[said] = finish(soft(scores, allowed) @ whole[2])
    q, k, v = (split(part, H) for part in parts)
    scores = q @ k.mT / (D / H) ** 0.5
    mistakes |= wrong_padding(scores, blocked, lambda weights: finish(weights @ v))
    mistakes |= wrong_attention(q, k, v, allowed, "blocked", D, finish)
    mistakes |= wrong_orders(heads(), 1, finish) | wrong_projections(join(heads()), w_out.T, b_out)
    right, inputs = finish(heads()), (x, w_in, b_in, w_out, b_out, H, blocked)
    try:
        _compare_views(function, inputs, right, "the output", mistakes)
    except FaultError as fault:
        if "size of tensor" in str(fault):  # does it run with a mask that has all four axes?
            compare(call(function, *inputs[:-1], ~allowed), right, f"{fault}; the output", {})
            said = "blocked, (B, T), does not fit the scores, (B, H, T, T): it needs two axes more, "
            raise FaultError(f"{said}(B, 1, 1, T).") from fault
        raise


def _wrong_packing(give: Callable[[list[Tensor]], Tensor], x: Tensor, w_in: Tensor, b_in: Tensor, H: int) -> dict[str, Tensor]:
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
    wrong["the packed weights are not transposed; nn.Linear computes x @ weight.T."] = give(straight)
    return wrong


def _compare_views(
    function: Code,
    inputs: Sequence[Any],
    right: Tensor,
    what: str,
    mistakes: Mapping[str, Tensor],
) -> None:
    """Call the function and compare; where ``view`` raises, say what is wrong in its place.

    What its error advises, ``reshape``, tells whether a transpose is missing or one copy needed.
    """
    try:
        got = call(function, *inputs)
    except FaultError as fault:
        if "view size is not compatible" not in str(fault):
            raise
        with _ViewCopies():
            got = call(function, *inputs)
        try:
            compare(got, right, what, mistakes)
        except FaultError as mistake:
            if "heads" in str(mistake) and "transpose" in str(mistake):
                raise FaultError(f"view stops, and reshape, which its error advises, would only hide why: {mistake}") from mistake
            raise fault from mistake  # something else is wrong besides; view's error comes first
        said = "view cannot merge axes after a transpose; here reshape or flatten is right."
        raise FaultError(said) from fault
    compare(got, right, what, mistakes)


class _ViewCopies(TorchFunctionMode):
    """Let ``view`` do what its error advises: copy where it must."""

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        return (Tensor.reshape if func is Tensor.view else func)(*args, **(kwargs or {}))
