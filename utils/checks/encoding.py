"""Checks of the exercises on encoder blocks: norms, residuals, names of weights, what heads do.

Shapes: B texts, T tokens, H heads, L layers, D numbers a token.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import Tensor
from torch.nn.functional import layer_norm

from utils.checks.comparing import FaultError, call, check, compare
from utils.minilm_table import TABLE, UNUSED

Part = Callable[[Tensor], Tensor]


@check
def rms_norm(function: Callable[..., Any]) -> None:
    """Check ``function(x, weight, eps)``: each token of (B, T, D) brought to size one, same shape.

    ``weight`` is (D,); ``eps`` is added to the mean of the squares. No mean is subtracted.

    Source: Zhang and Sennrich 2019, "Root Mean Square Layer Normalization".
    """
    generator = torch.Generator().manual_seed(13)
    for shape, eps in [((2, 5, 6), 0.1), ((3, 4, 4), 1e-5), ((1, 3, 8), 1.0)]:
        x = 3 + 2 * torch.randn(shape, generator=generator)
        weight = 1 + torch.randn(shape[-1], generator=generator)
        squares = x.pow(2).mean(-1, keepdim=True)
        tokens = x.pow(2).mean(1, keepdim=True)
        expected, centred = x / (squares + eps).sqrt(), layer_norm(x, shape[-1:], eps=eps)
        by_sum, by_tokens = (x / (size + eps).sqrt() for size in (squares * shape[-1], tokens))
        mistakes = {
            "the mean is subtracted, as in layer norm; RMSNorm keeps it.": centred,
            "it is divided by the sum's root; take the mean of the squares.": by_sum,
            "eps stands inside the root, beside the mean.": x / (squares.sqrt() + eps),
            "eps is missing.": x / squares.sqrt(),
            "it is divided by the mean of the squares; divide by its root.": x / (squares + eps),
            "it is normalised over the tokens; take the numbers of each.": by_tokens,
            "it is not divided by anything.": x,
        }
        mistakes = {said: weight * wrong for said, wrong in mistakes.items()}
        mistakes["the weight is missing."] = expected
        got = call(function, x.clone(), weight.clone(), eps)
        compare(got, weight * expected, f"for eps = {eps}, the result", mistakes, atol=1e-4)


@check
def encoder_block(function: Callable[..., Any]) -> None:
    """Check ``function(x, attend, feed_forward, first, second, norm_first)``: a block's output.

    ``attend``, ``feed_forward`` and the norms ``first`` and ``second`` are functions from (B, T, D)
    to (B, T, D). With ``norm_first`` a norm stands before each part, else after each sum.
    """
    generator = torch.Generator().manual_seed(13)
    x = torch.randn(2, 5, 4, generator=generator)
    mix, matrix = torch.randn(2, 4, 4, generator=generator)

    def attend(y: Tensor) -> Tensor:
        return (y @ mix).cumsum(1)

    def feed_forward(y: Tensor) -> Tensor:
        return (y @ matrix).relu()

    def first(y: Tensor) -> Tensor:
        return layer_norm(y, (4,)) + 0.3

    def second(y: Tensor) -> Tensor:
        return 2 * layer_norm(y, (4,)) - 0.2

    def block(
        pre: bool,
        parts: Sequence[Part] = (attend, feed_forward),
        norms: Sequence[Part] = (first, second),
        keep: str = "sum",
    ) -> Tensor:
        y = x
        for part, norm in zip(parts, norms, strict=True):
            kept = {"sum": y, "nothing": 0 * y, "start": x, "normed": norm(y)}[keep]
            y = kept + part(norm(y)) if pre else norm(kept + part(y))
        return y

    for pre in (False, True):
        mistakes = {
            "this is pre-norm and post-norm the wrong way round.": block(not pre),
            "the residuals are missing: add what came in.": block(pre, keep="nothing"),
            "the second sum takes what the first made, not the first x.": block(pre, keep="start"),
            "the sum keeps x itself, not the normed x.": block(pre, keep="normed"),
            "first and second are swapped.": block(pre, norms=(second, first)),
            "attention comes first.": block(pre, parts=(feed_forward, attend)),
            "there is no norm.": block(pre, norms=(Tensor.clone, Tensor.clone)),
            "the feed-forward part is missing.": block(pre, (attend,), (first,)),
        }
        got = call(function, x.clone(), attend, feed_forward, first, second, pre)
        compare(got, block(pre), f"{'pre' if pre else 'post'}-norm: the output", mistakes)


@check
def new_name(function: Callable[..., Any]) -> None:
    """Check ``function(old)``: from a published name of a tensor, a str, to that in our model.

    None stands for a tensor that our model has no place for.
    """
    names: dict[str, str | None] = dict.fromkeys(UNUSED) | {old: new for old, new, _ in TABLE}
    for old, new in names.items():
        got = call(function, old)
        if got != new:
            place = f"is called {new}" if new else "has no place, so return None,"
            raise FaultError(f"{old} {place} in our model; you return {got!r}.")


@check
def offset_share(function: Callable[..., Any]) -> None:
    """Check ``function(weights, padding, offset)``: what each head gives to a neighbour, (H,).

    ``weights`` is (B, H, T, T), ``padding`` (B, T) with True = padding. The mean, over all queries
    t of all texts for which query and key t + offset are real tokens, of the weight on that key.
    """
    generator = torch.Generator().manual_seed(13)
    lengths = torch.tensor([6, 3, 5])
    padding = torch.arange(6) >= lengths.unsqueeze(1)  # (B, T)
    for offset in (1, -1, 2, 0):
        scores = 2 * torch.randn(3, 4, 6, 6, generator=generator)
        weights = scores.masked_fill(padding[:, None, None], float("-inf")).softmax(-1)
        expected = _neighbours(weights, padding, offset)
        by_text = [_neighbours(weights[[b]], padding[[b]], offset) for b in range(3)]
        behind = _neighbours(weights, padding, -offset)
        everything = _neighbours(weights, torch.zeros_like(padding), offset)
        pairs = (lengths - abs(offset)).sum()
        mistakes = {
            "it looks the wrong way; the key is t + offset.": behind,
            "padding counts as well; take real tokens only.": everything,
            "this is a mean of the texts' means; take all queries.": torch.stack(by_text).mean(0),
            "the heads are averaged; give a number for each.": expected.mean(),
            "the sum is not divided by the number of queries.": expected * pairs,
        }
        got = call(function, weights.clone(), padding.clone(), offset)
        compare(got, expected, f"for offset {offset}, the result", mistakes)


def _neighbours(weights: Tensor, padding: Tensor, offset: int) -> Tensor:
    place, real = torch.arange(weights.shape[-1]), ~padding
    pairs = (place - place.unsqueeze(1) == offset) & real.unsqueeze(1) & real.unsqueeze(2)
    return (weights * pairs.unsqueeze(1)).sum((0, 2, 3)) / pairs.sum()
