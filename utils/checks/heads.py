"""Checks of chapter 4: one head, how heads are joined, what each adds, and the whole loop."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import torch
from torch import Tensor

from utils.checks.comparing import call, check, compare, require_parts

B, T, S, H, D_HEAD, KDIM, VDIM = 2, 4, 5, 3, 2, 7, 8
D = H * D_HEAD


@check
def one_head(function: Callable[..., Any]) -> None:
    """Check one head of attention.

    ``function(query, key, value, w_q, w_k, w_v)`` takes query (B, T, D), key (B, S, kdim), value
    (B, S, vdim), and the projections (D, D_head), (kdim, D_head) and (vdim, D_head). It returns the
    output, (B, T, D_head), and the weights, (B, T, S).
    """
    query, key, value, heads, _, _ = _inputs()
    q, k, v = _project(query, key, value, heads[0])
    products = q @ k.transpose(1, 2)  # (B, T, S)
    expected = (products / D_HEAD**0.5).softmax(dim=-1)
    output, weights = _two(call(function, query, key, value, *heads[0]))
    compare(weights, expected, "the tensor of weights", _wrong_weights(products, torch.softmax))
    compare(output, expected @ v, "the output", {"w_v is not used.": expected @ value})


@check
def join_and_project(function: Callable[..., Any]) -> None:
    """Check the joining of the heads and the last projection.

    ``function(outputs, w_o, b_o)`` takes a list of H tensors (B, T, D_head), a matrix (D, D) and a
    bias (D,). It returns the heads side by side times the matrix plus the bias, (B, T, D).
    """
    outputs, (w_o, b_o) = _outputs(), _inputs()[-2:]
    expected, mistakes = torch.cat(outputs, -1) @ w_o + b_o, _wrong_outputs(outputs, w_o, b_o)
    compare(call(function, list(outputs), w_o, b_o), expected, "the output", mistakes)


@check
def contributions_of_heads(function: Callable[..., Any]) -> None:
    """Check what each head adds to the output.

    ``function(outputs, w_o)`` takes a list of H tensors (B, T, D_head) and a matrix (D, D). It
    returns the contribution of each head, (H, B, T, D); their sum is the output without bias.
    """
    outputs, w_o = _outputs(), _inputs()[-2]
    stacked = torch.stack(outputs)  # (H, B, T, D_head)
    blocks = w_o.view(H, 1, D_HEAD, D)
    strided = w_o.view(D_HEAD, H, D).transpose(0, 1).unsqueeze(1)  # (H, 1, D_head, D)
    expected = stacked @ blocks  # (H, B, T, D)
    mistakes = {
        "this is the sum over the heads; keep them apart, (H, B, T, D).": expected.sum(dim=0),
        "the axis of the heads should come first, (H, B, T, D).": expected.transpose(0, 1),
        "head h takes columns of w_o; it should take rows.": stacked @ w_o.T.reshape(blocks.shape),
        "heads mixed up: head h takes every H-th row; its rows stand together.": stacked @ strided,
        "heads mixed up: the rows of w_o are taken in reverse order.": stacked @ blocks.flip(0),
    }
    compare(call(function, list(outputs), w_o), expected, "the tensor of contributions", mistakes)


@check
def loop_over_heads(function: Callable[..., Any]) -> None:
    """Check multi-head attention as a loop over heads.

    ``function(query, key, value, heads, w_o, b_o, allowed)`` takes query, key, value and a list of
    H triples (w_q, w_k, w_v) as in ``one_head``, w_o (D, D), b_o (D,), and a mask (T, S), bool,
    True = may attend, with a True in each row. It returns the output, (B, T, D), and the weights
    of each head, (B, H, T, S).
    """
    query, key, value, heads, w_o, b_o = _inputs()
    allowed = torch.ones(T, S).tril().bool()
    projected = [_project(query, key, value, head) for head in heads]
    products = torch.stack([q @ k.transpose(1, 2) for q, k, _ in projected], dim=1)  # (B, H, T, S)
    scores = products / D_HEAD**0.5

    def masked(scores: Tensor, dim: int = -1, keep: Tensor = allowed) -> Tensor:
        return scores.masked_fill(~keep, float("-inf")).softmax(dim=dim)

    expected, unmasked = masked(scores), scores.softmax(dim=-1)
    output, weights = _two(call(function, query, key, value, heads, w_o, b_o, allowed))
    mistakes = _wrong_weights(products, masked) | {
        "the mask is ignored.": unmasked,
        "the mask is the wrong way round: True means may attend.": masked(scores, keep=~allowed),
        "the mask comes after the softmax, so the rows no longer sum to 1.": unmasked * allowed,
        "the weights are averaged over the heads; keep them apart, (B, H, T, S).": expected.mean(1),
        "the axis of the heads should come second, (B, H, T, S).": expected.transpose(0, 1),
        "heads mixed up: all use the first one's w_q and w_k.": expected[:, [0] * H],
    }
    compare(weights, expected, "the tensor of weights", mistakes)
    outputs = [expected[:, h] @ v for h, (_, _, v) in enumerate(projected)]
    expected = torch.cat(outputs, dim=-1) @ w_o + b_o
    compare(output, expected, "the output", _wrong_outputs(outputs, w_o, b_o))


def _inputs() -> tuple[Tensor, Tensor, Tensor, list[tuple[Tensor, ...]], Tensor, Tensor]:
    """Query, key, value, the projections of each head, the last projection and its bias."""
    normal = partial(torch.randn, generator=torch.Generator().manual_seed(4))
    heads = [tuple(normal(width, D_HEAD) for width in (D, KDIM, VDIM)) for _ in range(H)]
    return normal(B, T, D), normal(B, S, KDIM), normal(B, S, VDIM), heads, normal(D, D), normal(D)


def _outputs() -> list[Tensor]:
    return list(torch.randn(H, B, T, D_HEAD, generator=torch.Generator().manual_seed(5)))


def _project(query: Tensor, key: Tensor, value: Tensor, head: tuple[Tensor, ...]) -> list[Tensor]:
    return [x @ w for x, w in zip((query, key, value), head, strict=True)]


def _two(result: Any) -> tuple[Any, Any]:
    require_parts(result, 2, "two things: the output and the weights")
    return result[0], result[1]


def _wrong_weights(products: Tensor, softmax: Callable[..., Tensor]) -> dict[str, Tensor]:
    """Mistakes on the way from the products (..., T, S) to the weights."""
    scores = products / D_HEAD**0.5
    return {
        "the softmax is missing.": scores,
        "the softmax runs over the queries; it should run over the keys.": softmax(scores, dim=-2),
        "the scores are not divided by the root of D_head.": softmax(products, dim=-1),
        "the scores are divided by the root of D, not D_head.": softmax(products / D**0.5, dim=-1),
    }


def _wrong_outputs(outputs: list[Tensor], w_o: Tensor, b_o: Tensor) -> dict[str, Tensor]:
    """Mistakes on the way from the heads, H times (B, T, D_head), to the output (B, T, D)."""
    joined = torch.cat(outputs, dim=-1)
    mixed = {
        "they are interleaved; all of head 0 comes first.": torch.stack(outputs, -1).flatten(2),
        "they stand in reverse order.": torch.cat(outputs[::-1], dim=-1),
        "reshape is no torch.cat along the last axis.": torch.stack(outputs).reshape(B, T, D),
    }
    return {
        "the bias b_o is missing.": joined @ w_o,
        "the bias b_o is added for each head; add it once.": joined @ w_o + H * b_o,
        "the last projection is missing.": joined,
        "w_o is transposed: its rows belong to the joined heads.": joined @ w_o.T + b_o,
        **{f"heads mixed up: {how}": wrong @ w_o + b_o for how, wrong in mixed.items()},
    }
