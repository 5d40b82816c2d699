"""Scaled dot-product attention, and multi-head attention written in two ways.

``NaiveMultiHeadAttention`` is the definition: a loop over heads, each with projections of its own.
``MultiHeadAttention`` is the same function with one projection each and a reshape. How they are
called, and how their weights convert from and to PyTorch's layer, is in ``utils.layer``.

Shapes: B sequences, T queries, S keys, H heads, D = ``embed_dim``, which is H * D_head unless a
layer is given a ``head_dim`` of its own.

Source: Vaswani and others 2017, "Attention Is All You Need", sections 3.2.1 and 3.2.2.
"""

from __future__ import annotations

import math

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from utils.layer import AttentionLayer
from utils.masks import causal_mask, check_mask_dtype, combine_masks, masked_softmax


def scaled_dot_product_attention(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    attn_mask: Tensor | None = None,
    dropout_p: float = 0.0,
    is_causal: bool = False,
) -> tuple[Tensor, Tensor]:
    """Compute softmax(Q K^T / sqrt(D_head)) V, and return the weights as well.

    Follows ``torch.nn.functional.scaled_dot_product_attention``: True in ``attn_mask`` means *may
    attend*, and dropout is applied whenever ``dropout_p`` is not 0.

    Parameters
    ----------
    query : Tensor of shape (..., T, D_head)
    key : Tensor of shape (..., S, D_head)
    value : Tensor of shape (..., S, D_value)
    attn_mask : Tensor that broadcasts to (..., T, S), True = allowed, or floats to add, or None
    dropout_p : float, the share of weights set to zero
    is_causal : bool, let query t attend to keys 0 … t only

    Returns
    -------
    output : Tensor of shape (..., T, D_value)
    weights : Tensor of shape (..., T, S), after dropout; a query that may attend to nothing has
        a row of zeros

    Raises
    ------
    ValueError
        if the shapes of query, key, value or mask do not fit each other
    TypeError
        if the mask is neither bool nor floating

    Source: Vaswani and others 2017, section 3.2.1, equation 1.
    """
    if min(query.dim(), key.dim(), value.dim()) < 2:
        raise ValueError("query, key and value need at least two dimensions: (length, width).")
    T, S = query.shape[-2], key.shape[-2]
    if query.shape[-1] != key.shape[-1] or value.shape[-2] != S:
        raise ValueError(
            f"query {tuple(query.shape)}, key {tuple(key.shape)} and value {tuple(value.shape)} do "
            "not fit: query and key need the same last size, key and value the same length."
        )
    # Dividing the query, (..., T, D_head), costs less than dividing all scores, and is the same.
    scores = query / math.sqrt(query.shape[-1]) @ key.transpose(-2, -1)  # (..., T, S)
    if attn_mask is not None:
        check_mask_dtype("attn_mask", attn_mask, true_means="allowed")
        _check_broadcast(attn_mask, scores)
    mask = combine_masks(attn_mask, causal_mask(T, S, query.device) if is_causal else None)
    weights = F.dropout(masked_softmax(scores, mask), dropout_p)
    return weights @ value, weights


def _check_broadcast(mask: Tensor, scores: Tensor) -> None:
    """Raise if the mask does not broadcast to the scores, (..., T, S), without enlarging them."""
    sizes = zip(reversed(mask.shape), reversed(scores.shape), strict=False)
    if mask.dim() > scores.dim() or any(m not in (1, s) for m, s in sizes):
        raise ValueError(
            f"attn_mask has shape {tuple(mask.shape)}, which does not broadcast to the scores' "
            f"shape {tuple(scores.shape)}, (..., queries, keys)."
        )


class Head(nn.Module):
    """One head: a small attention with projections of its own, from D to D_head dimensions."""

    def __init__(self, embed_dim: int, head_dim: int, kdim: int, vdim: int, bias: bool) -> None:
        super().__init__()
        self.q_proj = nn.Linear(embed_dim, head_dim, bias=bias)
        self.k_proj = nn.Linear(kdim, head_dim, bias=bias)
        self.v_proj = nn.Linear(vdim, head_dim, bias=bias)

    def forward(
        self, query: Tensor, key: Tensor, value: Tensor, mask: Tensor | None, dropout_p: float
    ) -> tuple[Tensor, Tensor]:
        """Return this head's output, (B, T, D_head), and its weights, (B, T, S)."""
        q, k, v = self.q_proj(query), self.k_proj(key), self.v_proj(value)
        return scaled_dot_product_attention(q, k, v, mask, dropout_p)


class NaiveMultiHeadAttention(AttentionLayer):
    """Multi-head attention as the paper defines it: a loop over heads, then one projection.

    Parameters, call and errors are those of ``utils.layer.AttentionLayer``.

    Source: Vaswani and others 2017, section 3.2.2.
    """

    def __init__(
        self,
        embed_dim: int,
        num_heads: int,
        dropout: float = 0.0,
        bias: bool = True,
        kdim: int | None = None,
        vdim: int | None = None,
    ) -> None:
        super().__init__(embed_dim, num_heads, dropout, bias, kdim, vdim)
        sizes = (embed_dim, self.head_dim, self.kdim, self.vdim)
        self.heads = nn.ModuleList(Head(*sizes, bias) for _ in range(num_heads))
        self.reset_parameters()

    def projections(self, name: str) -> list[nn.Linear]:
        """The H projections called ``name``, one a head, each of shape (D_head, width)."""
        return [getattr(head, f"{name}_proj") for head in self.heads]

    def attend(
        self, query: Tensor, key: Tensor, value: Tensor, mask: Tensor | None, need_weights: bool
    ) -> tuple[Tensor, Tensor | None]:
        """Run one head after the other and put their outputs side by side."""
        dropout_p = self.dropout if self.training else 0.0
        outputs, weights = [], []
        for h, head in enumerate(self.heads):
            head_mask = mask if mask is None or mask.dim() < 4 else mask[:, h % mask.shape[1]]
            output, weight = head(query, key, value, head_mask, dropout_p)
            outputs.append(output)  # (B, T, D_head)
            weights.append(weight)  # (B, T, S)
        joined = torch.cat(outputs, dim=-1)  # H times (B, T, D_head) -> (B, T, D)
        return joined, torch.stack(weights, dim=1) if need_weights else None  # (B, H, T, S)


class MultiHeadAttention(AttentionLayer):
    """Multi-head attention with one projection each for query, key and value, and a reshape.

    Parameters, call and errors are those of ``utils.layer.AttentionLayer``. One more parameter:

    positions : nn.Module or None, what tells the layer where the tokens stand. It is called with
        the queries (B, H, T, D_head), the keys (B, H, S, D_head) and the mask (in the convention of
        ``utils.masks``, or None), and returns the three as the layer is to use them. Its kinds are
        in ``utils.positions``

    Where there are few queries and many keys, the layer does not project the keys and values:
    products associate, and it is cheaper to bring the query to the keys (``_attend_absorbed``).
    With ``positions`` it always projects them, because these change the keys.

    Source: Vaswani and others 2017, section 3.2.2.
    """

    def __init__(
        self,
        embed_dim: int,
        num_heads: int,
        dropout: float = 0.0,
        bias: bool = True,
        kdim: int | None = None,
        vdim: int | None = None,
        *,
        head_dim: int | None = None,
        positions: nn.Module | None = None,
    ) -> None:
        super().__init__(embed_dim, num_heads, dropout, bias, kdim, vdim, head_dim=head_dim)
        inner_dim = num_heads * self.head_dim  # D, unless head_dim is given
        self.q_proj = nn.Linear(embed_dim, inner_dim, bias=bias)
        self.k_proj = nn.Linear(self.kdim, inner_dim, bias=bias)
        self.v_proj = nn.Linear(self.vdim, inner_dim, bias=bias)
        self.positions = positions
        self.reset_parameters()

    def projections(self, name: str) -> list[nn.Linear]:
        """The one projection called ``name``, (H * D_head, width): its rows are the heads' rows."""
        return [getattr(self, f"{name}_proj")]

    def _check_convertible(self) -> None:
        super()._check_convertible()
        if self.positions is not None:
            raise ValueError("PyTorch's layer knows no positions; take the layer without them.")

    def split_heads(self, x: Tensor) -> Tensor:
        """(B, T, H * D_head) -> (B, H, T, D_head)."""
        B, T, _ = x.shape
        return x.view(B, T, self.num_heads, self.head_dim).transpose(1, 2)

    def join_heads(self, x: Tensor) -> Tensor:
        """(B, H, T, D_head) -> (B, T, H * D_head)."""
        return x.transpose(1, 2).flatten(2)

    def attend(
        self, query: Tensor, key: Tensor, value: Tensor, mask: Tensor | None, need_weights: bool
    ) -> tuple[Tensor, Tensor | None]:
        """Run all heads at once, by the cheapest way that gives what is asked for."""
        dropout_p = self.dropout if self.training else 0.0
        q = self.split_heads(self.q_proj(query))  # (B, H, T, D_head)
        if self._absorbing_is_cheaper(query.shape[1], key.shape[1]):
            heads, weights = self._attend_absorbed(q, key, value, mask, dropout_p)
        else:
            k = self.split_heads(self.k_proj(key))  # (B, H, S, D_head)
            v = self.split_heads(self.v_proj(value))  # (B, H, S, D_head)
            if self.positions is not None:
                q, k, mask = self.positions(q, k, mask)
            if not need_weights:  # the fused kernel never stores the weights
                fused = F.scaled_dot_product_attention(q, k, v, mask, dropout_p)
                return self.join_heads(fused), None
            heads, weights = scaled_dot_product_attention(q, k, v, mask, dropout_p)
        return self.join_heads(heads), weights if need_weights else None

    def _absorbing_is_cheaper(self, T: int, S: int) -> bool:
        """Compare multiply-adds for each sequence: project every key and value, or bring q to them.

        With E = H * D_head,
        projecting: S (kdim + vdim) E for the projections, then 2 T S E
        absorbing: T (kdim + vdim) E to bring the queries there and back, then T S (kdim + vdim) H
        """
        width, inner_dim = self.kdim + self.vdim, self.num_heads * self.head_dim
        projecting = S * width * inner_dim + 2 * T * S * inner_dim
        absorbing = T * width * inner_dim + T * S * width * self.num_heads
        return absorbing < projecting and self.positions is None

    def _attend_absorbed(
        self, q: Tensor, key: Tensor, value: Tensor, mask: Tensor | None, dropout_p: float
    ) -> tuple[Tensor, Tensor]:
        """Attend without projecting a key or a value.

        Products associate: q (x Wk)^T = (q Wk^T) x^T, and w (x Wv) = (w x) Wv.
        Here ``q`` is (B, H, T, D_head), ``key`` (B, S, kdim) and ``value`` (B, S, vdim); returned
        are the heads, (B, H, T, D_head), and the weights, (B, H, T, S).
        """
        B, H, T, _ = q.shape
        S = key.shape[1]
        k_weight = self.k_proj.weight.view(H, self.head_dim, self.kdim)
        v_weight = self.v_proj.weight.view(H, self.head_dim, self.vdim)
        q = q / math.sqrt(self.head_dim)

        absorbed = (q @ k_weight).reshape(B, H * T, self.kdim)  # (B, H, T, kdim) -> (B, H*T, kdim)
        scores = (absorbed @ key.transpose(1, 2)).view(B, H, T, S)
        if self.k_proj.bias is not None:  # the same for every key, so the softmax does not see it
            scores = scores + (q * self.k_proj.bias.view(H, 1, -1)).sum(-1, keepdim=True)
        weights = F.dropout(masked_softmax(scores, mask), dropout_p)

        mixed = (weights.reshape(B, H * T, S) @ value).view(B, H, T, self.vdim)
        heads = mixed @ v_weight.transpose(1, 2)  # (B, H, T, vdim) -> (B, H, T, D_head)
        if self.v_proj.bias is not None:  # once for each unit of weight: dropout changes the sum
            heads = heads + weights.sum(-1, keepdim=True) * self.v_proj.bias.view(H, 1, -1)
        return heads, weights
