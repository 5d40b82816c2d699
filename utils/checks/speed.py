"""Checks of chapter 11: the same function with less work, and the padding of batches.

Shapes: B sequences, T queries, S keys, H heads, D = the tokens' width.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor, nn
from torch.utils.flop_counter import FlopCounterMode

from utils.checks.comparing import (
    FaultError,
    call,
    check,
    compare,
    mistake_in_all,
    require_parts,
)

Do = Callable[..., Any]  # what the reader wrote
Work = tuple[int, str]  # multiply-adds that are enough, and what was done if there are more
B, H, T, S, D_HEAD, D = 2, 3, 2, 7, 4, 10  # D is not H * D_HEAD here
MIXED_UP = "the heads are mixed up: a head's rows of the weight stand together."


@check
def absorbed_scores(function: Do) -> None:
    """Check ``function(q, tokens, k_weight)``: scores from keys that are never made.

    ``q`` is (B, H, T, D_head), projected; ``tokens`` (B, S, D); ``k_weight`` (H * D_head, D), the
    weight of an ``nn.Linear``. The result is (B, H, T, S), divided by the root of D_head.
    """
    draw = torch.Generator().manual_seed(11)
    q = torch.randn(B, H, T, D_HEAD, generator=draw)
    tokens, weight, keys, striped = _tokens_and_heads(draw)
    right = q @ keys.mT / D_HEAD**0.5
    mistakes = {
        "the scale is missing: divide by the root of D_head.": right * D_HEAD**0.5,
        "you divide by D_head; divide by its root.": right / D_HEAD**0.5,
        "you divide by the root of D; it is that of D_head.": right * (D_HEAD / D) ** 0.5,
        "queries and keys are swapped: (B, H, T, S).": right.mT,
        "these are the weights; give the scores, before the softmax.": right.softmax(-1),
        MIXED_UP: q @ striped.mT / D_HEAD**0.5,
    }
    # Each query goes through the weight, and then meets every token.
    most = B * H * T * (D_HEAD * D + S * D), "a key was projected"
    _compare(function, (q, tokens, weight), right, mistakes, most)


@check
def absorbed_values(function: Do) -> None:
    """Check ``function(weights, tokens, v_weight, v_bias)``: heads from values never made.

    ``weights`` is (B, H, T, S), and its rows need not sum to one; ``tokens`` (B, S, D);
    ``v_weight`` (H * D_head, D) and ``v_bias`` (H * D_head,). The result is (B, H, T, D_head).
    """
    draw = torch.Generator().manual_seed(12)
    weights = torch.randn(B, H, T, S, generator=draw).softmax(dim=-1)
    weights = weights * (torch.rand(B, H, T, S, generator=draw) < 0.7) / 0.7
    tokens, weight, values, striped = _tokens_and_heads(draw)
    bias = torch.randn(H * D_HEAD, generator=draw)
    mixed, sums = weights @ values, weights.sum(-1, keepdim=True)  # (B, H, T, D_head)
    shift = bias.view(H, 1, D_HEAD)
    right = mixed + sums * shift
    mistakes = {
        "the bias is missing.": mixed,
        "the bias is added once for each query; the sum of its weights counts.": mixed + shift,
        "the bias is added for each token; the weights share it out.": mixed + S * shift,
        "the weights were made to sum to one; take them as they are.": mixed / sums + shift,
        MIXED_UP: weights @ striped + sums * shift,
        "the heads stand side by side; give (B, H, T, D_head).": right.transpose(1, 2).flatten(2),
        "heads and queries are swapped.": right.transpose(1, 2),
    }
    # Each row mixes the tokens, then goes through the weight; sum and bias may be products too.
    most = B * H * T * (S * D + D * D_HEAD + S + D_HEAD), "a value was projected"
    _compare(function, (weights, tokens, weight, bias), right, mistakes, most)


@check
def row_asked_for(function: Do) -> None:
    """Check ``function(layer, x)``: the last row of self-attention, without the other rows.

    ``layer`` is an ``nn.MultiheadAttention``, batch first, and ``x`` (B, T, D). The result is the
    last row of ``layer(x, x, x)[0]``, (B, D).
    """
    rows, length, width = 3, 11, 12
    draw = torch.Generator().manual_seed(13)
    layer = nn.MultiheadAttention(width, 3, batch_first=True)
    for parameter in layer.parameters():
        nn.init.normal_(parameter, std=0.5, generator=draw)
    x = torch.randn(rows, length, width, generator=draw)
    with torch.no_grad():
        every, alone = layer(x, x, x)[0], layer(*[x[:, -1:]] * 3)[0][:, 0]
    mistakes = {
        "this is the first row; give the last.": every[:, 0],
        "these are all rows; give the last alone, (B, D).": every,
        "the row is right, and has a dimension too many: give (B, D).": every[:, -1:],
        "the last token attends to itself alone; every token is a key.": alone,
    }
    asked: list[bool] = []

    def note(_: nn.Module, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        asked.append(kwargs.get("need_weights", args[4] if len(args) > 4 else True))

    layer.register_forward_pre_hook(note, with_kwargs=True)
    # One query and one output, keys and values for all tokens, and one row of both products.
    work = rows * (2 * width**2 + 2 * length * width**2 + 2 * length * width)
    with torch.no_grad():
        most = work, "more rows were computed"
        _compare(function, (layer, x), every[:, -1], mistakes, most)
    if any(asked):
        raise FaultError("the row is right, but the weights were asked for: need_weights=False.")


@check
def padding_tokens(function: Do) -> None:
    """Check ``function(lengths, batch_size)``: padding in batches as given, and sorted by length.

    ``lengths`` is a list of ints. The result is two ints: how many padding tokens the batches hold
    when documents are taken in the order given, and when they are sorted by length first.
    """
    cases = [([5, 1, 4, 2], 2), ([3, 9, 2, 7, 7, 1, 8, 6], 3), ([4, 4, 3], 2), ([6], 4)]
    results = []
    for lengths, size in cases:
        results.append(call(function, list(lengths), size))
        require_parts(results[-1], 2, "two numbers: as given, and sorted")
    for i in range(2):
        found = [call(float, result[i]) for result in results]
        known = [_wrong_paddings(*case, is_sorted=bool(i)) for case in cases]
        named = mistake_in_all(found, known)
        for got, (lengths, size) in zip(found, cases, strict=True):
            order = sorted(lengths) if i else lengths
            if got != (right := _padding(order, size)):
                what = f"for lengths {order} in batches of {size}, the padding"
                raise FaultError(named or f"{what} is {got:g}; expected {right}.")


def _wrong_paddings(lengths: list[int], size: int, is_sorted: bool) -> dict[str, int]:
    orders = [lengths, sorted(lengths)]
    order, other = (orders[is_sorted], orders[not is_sorted])
    right, whole = _padding(order, size), order[: len(order) // size * size]
    missing = -len(order) % size * max(order[len(whole) :], default=0)
    known = {
        "these are all positions; subtract the tokens.": right + sum(order),
        "the last batch, which may be smaller, is left out.": _padding(whole, size),
        "the last batch, which may be smaller, is counted as full.": right + missing,
        "a batch is padded to its own longest document.": _padding(order, len(order)),
        "the two orders are the wrong way round.": _padding(other, size),
    }
    if is_sorted:
        longest_first = _padding(order[::-1], size)
        known["sort the shortest first; the longest come first here."] = longest_first
    return known


def _padding(lengths: list[int], size: int) -> int:
    parts = [lengths[i : i + size] for i in range(0, len(lengths), size)]
    return sum(len(part) * max(part) - sum(part) for part in parts)


def _tokens_and_heads(draw: torch.Generator) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """Give tokens (B, S, D), a weight, its heads (B, H, S, D_head), and heads cut wrongly."""
    tokens = torch.randn(B, S, D, generator=draw)
    weight = torch.randn(H * D_HEAD, D, generator=draw)
    projected = tokens @ weight.T  # (B, S, H * D_head)
    heads = projected.unflatten(-1, (H, D_HEAD)).transpose(1, 2)
    return tokens, weight, heads, projected.unflatten(-1, (D_HEAD, H)).permute(0, 3, 1, 2)


def _compare(do: Do, inputs: Any, right: Tensor, mistakes: dict[str, Tensor], most: Work) -> None:
    """Call the function; compare the result, and the multiply-adds of its products."""
    with FlopCounterMode(display=False) as counter:
        got = call(do, *inputs)
    compare(got, right, "the result", mistakes)
    enough, waste = most
    needed = counter.get_total_flops() // 2
    if needed > enough:
        raise FaultError(f"right, but {waste}: {needed:,} multiply-adds; {enough:,} are enough.")
