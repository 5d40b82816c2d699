"""Exact attention that never holds the matrix of weights, forward or backward.

The softmax can be computed while the keys are read piece by piece (online softmax), so the T x S
scores exist one tile at a time. Going back, each tile is computed again, from one number that is
kept for each query: the logarithm of the sum of the exponentials of its scores (log-sum-exp).
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any, cast

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable

from utils import refusals
from utils.attention import check_mask, to_additive


def tiled_attention(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    attn_mask: Tensor | None = None,
    is_causal: bool = False,
    window: int | None = None,
    tile: int = 256,
) -> Tensor:
    """Compute softmax(Q K^T / sqrt(D_head)) V, and its gradient, in tiles of ``tile`` x ``tile``.

    The same output as ``utils.attention.scaled_dot_product_attention``; beyond it and the inputs
    one number a query is kept. Half precision is computed in float32. Differentiable once.

    Parameters
    ----------
    query : Tensor of shape (..., T, D_head)
    key : Tensor of shape (..., S, D_head)
    value : Tensor of shape (..., S, D_value)
    attn_mask : Tensor that broadcasts to (..., T, S), True = allowed, or floats to add, or None.
        It is never expanded: one of keys alone, (B, 1, 1, S), stays that small. To block, add
        -inf: the gradient of a row whose scores all lie below -1e5 is inexact, because its
        log-sum-exp is then rounded
    is_causal : bool, let query t attend to keys 0 … t only
    window : int or None, with ``is_causal``: let query t attend to its last ``window`` keys only,
        t - window + 1 … t. Tiles in which no query sees a key are not computed
    tile : int, queries and keys in a tile

    Returns
    -------
    Tensor of shape (..., T, D_value); a query that may attend to nothing gives zeros

    Raises
    ------
    ValueError, TypeError
        for shapes or a mask that ``scaled_dot_product_attention`` refuses, an impossible ``window``
        or ``tile``, a mask that wants a gradient, or inputs that are not floats of one dtype

    Source: Milakov and Gimelshein 2018, "Online normalizer calculation for softmax"; Rabe and
    Staats 2021, "Self-attention Does Not Need O(n^2) Memory"; Dao and others 2022,
    "FlashAttention", section 3; Dao 2023, "FlashAttention-2", whose loops and whose
    one number a query these are. Windows: Beltagy and others 2020, "Longformer".
    """
    _check(query, key, value)
    if tile < 1 or (window is not None and (window < 1 or not is_causal)):
        raise ValueError(f"tile {tile}, window {window}: at least 1, a window with is_causal.")
    batch = torch.broadcast_shapes(query.shape[:-2], key.shape[:-2], value.shape[:-2])
    inputs = (x.expand(*batch, *x.shape[-2:]) for x in (query, key, value))  # views
    if attn_mask is not None:
        check_mask("attn_mask", attn_mask, (*batch, query.shape[-2], key.shape[-2]), "allowed")
        if attn_mask.requires_grad:
            raise ValueError("attn_mask wants a gradient, which tiled attention does not give.")
        attn_mask = torch.atleast_2d(attn_mask)
    reach = None  # how far a query looks back
    if is_causal:
        reach = query.shape[-2] if window is None else window
    with torch.autocast(query.device.type, enabled=False):
        return cast(Tensor, _TiledAttention.apply(*inputs, attn_mask, reach, tile))


def _check(query: Tensor, key: Tensor, value: Tensor) -> None:
    """Raise ValueError or TypeError where these cannot be multiplied with each other."""
    inputs, dtypes = (query, key, value), {getattr(x, "dtype", None) for x in (query, key, value)}
    fit = dtypes <= refusals.FLOATS and all(x.dim() > 1 for x in inputs)
    fit = fit and (len(dtypes) == 1 or torch.is_autocast_enabled(query.device.type))
    if not fit or query.shape[-1] != key.shape[-1] or key.shape[-2] != value.shape[-2]:
        raise refusals.no_products(query, key, value)


class _TiledAttention(torch.autograd.Function):
    @staticmethod
    def forward(
        ctx: Any, q: Tensor, k: Tensor, v: Tensor, mask: Tensor | None, reach: int | None, tile: int
    ) -> Tensor:
        dtype, scale = torch.promote_types(q.dtype, torch.float32), 1 / math.sqrt(q.shape[-1])
        output = q.new_empty(*q.shape[:-1], v.shape[-1])  # (..., T, D_value)
        log_sum = q.new_empty(*q.shape[:-1], 1, dtype=dtype)  # (..., T, 1)
        for rows, tiles in _tiles(q.shape[-2], k.shape[-2], reach, tile):
            q_i = q[..., rows, :].to(dtype) * scale
            top = q_i.new_full((*q_i.shape[:-1], 1), torch.finfo(dtype).min)  # -inf - -inf is NaN
            total = torch.zeros_like(top)  # the sum of exp(score - top)
            mixed = torch.zeros_like(output[..., rows, :], dtype=dtype)  # the same, times values
            for part in tiles:
                scores = _scores(q_i, k, mask, reach, rows, part)
                higher = torch.maximum(top, scores.amax(dim=-1, keepdim=True))
                weights, rescale = scores.sub_(higher).exp_(), (top - higher).exp_()
                total = total * rescale + weights.sum(dim=-1, keepdim=True)
                mixed = mixed * rescale + weights @ v[..., part, :].to(dtype)
                top = higher
            output[..., rows, :] = mixed / total.clamp_(min=1.0)  # 0: nothing allowed
            log_sum[..., rows, :] = top + total.log()
        ctx.save_for_backward(q, k, v, output, log_sum, mask)
        ctx.reach, ctx.tile = reach, tile
        return output

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, d_output: Tensor) -> tuple[Tensor | None, ...]:
        q, k, v, output, log_sum, mask = ctx.saved_tensors
        dtype, scale = log_sum.dtype, 1 / math.sqrt(q.shape[-1])
        dq, dk, dv = (torch.zeros_like(x, dtype=dtype) for x in (q, k, v))
        for rows, tiles in _tiles(q.shape[-2], k.shape[-2], ctx.reach, ctx.tile):
            q_i, d_i = q[..., rows, :].to(dtype) * scale, d_output[..., rows, :].to(dtype)
            delta = (d_i * output[..., rows, :]).sum(dim=-1, keepdim=True)  # (..., rows, 1)
            for part in tiles:
                scores = _scores(q_i, k, mask, ctx.reach, rows, part)
                weights = scores.sub_(log_sum[..., rows, :]).exp_()
                dv[..., part, :] += weights.mT @ d_i
                d_scores = (d_i @ v[..., part, :].to(dtype).mT).sub_(delta).mul_(weights)
                dq[..., rows, :] += d_scores @ k[..., part, :].to(dtype) * scale
                dk[..., part, :] += d_scores.mT @ q_i
        return dq.to(q.dtype), dk.to(k.dtype), dv.to(v.dtype), None, None, None


def _tiles(T: int, S: int, reach: int | None, tile: int) -> Iterator[tuple[slice, list[slice]]]:
    """Give the tiles of queries, each with those tiles of keys that one of its queries may see."""
    for start in range(0, T, tile):
        stop = min(start + tile, T)
        first = 0 if reach is None else max(0, start - reach + 1) // tile * tile
        last = S if reach is None else min(stop, S)
        yield slice(start, stop), [slice(j, min(j + tile, last)) for j in range(first, last, tile)]


def _scores(
    q_i: Tensor, k: Tensor, mask: Tensor | None, reach: int | None, rows: slice, part: slice
) -> Tensor:
    """Compute the scores of one tile, (..., rows, part), -inf where a query may not look."""
    scores = q_i @ k[..., part, :].to(q_i.dtype).mT
    if mask is not None:  # a side of length 1 is the same for all tiles
        mask = mask[..., rows if mask.shape[-2] > 1 else slice(1), :]
        mask = mask[..., part if mask.shape[-1] > 1 else slice(1)]
        scores += to_additive(mask, scores.dtype)
    if reach is not None and (part.stop - 1 > rows.start or rows.stop - part.start > reach):
        queries = torch.arange(rows.start, rows.stop, device=k.device).unsqueeze(-1)
        back = queries - torch.arange(part.start, part.stop, device=k.device)  # (rows, part)
        scores.masked_fill_((back < 0) | (back >= reach), -math.inf)
    return scores
