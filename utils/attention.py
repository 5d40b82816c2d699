"""Multi-head attention with one projection each, a reshape, and the cheapest way to what is asked.

The definition of attention is in ``utils.dot_product``, the loop over heads in ``utils.naive``;
both can be imported from here. How a layer is called, and how its weights convert from and to
PyTorch's, is in ``utils.layer``.

Shapes: B sequences, T queries, S keys, H heads, D = ``embed_dim``, which is H * D_head unless a
layer is given a ``head_dim`` of its own.

Source: Vaswani and others 2017, "Attention Is All You Need", sections 3.2.1 and 3.2.2.
"""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from utils.absorbed import absorbed_attention
from utils.cache import KeyValueCache
from utils.dot_product import scaled_dot_product_attention
from utils.layer import AttentionLayer
from utils.masks import causal_mask, combine_masks
from utils.naive import NaiveMultiHeadAttention

__all__ = ["MultiHeadAttention", "NaiveMultiHeadAttention", "scaled_dot_product_attention"]


class MultiHeadAttention(AttentionLayer):
    """Multi-head attention with one projection each for query, key and value, and a reshape.

    Parameters, call and errors are those of ``utils.layer.AttentionLayer``. Two more parameters:

    positions : nn.Module or None, what tells the layer where the tokens stand. It is called with
        the queries (B, H, T, D_head), the keys (B, H_kv, S, D_head), the mask (in the convention
        of ``utils.masks``, or None), and in ``decode`` also with the place of the first query and
        key. It returns the first three as the layer is to use them. Its kinds are in
        ``utils.positions``
    num_kv_heads : int or None, H_kv, a divisor of H: so many heads have keys and values of their
        own, and H / H_kv queries share each ("grouped-query attention"; with 1 "multi-query").
        None means H

    Where there are few queries and many keys, the layer does not project the keys and values: it
    is cheaper to bring the query to the keys (``utils.absorbed``). With ``positions`` it always
    projects them, because these change the keys.

    Sources: Vaswani and others 2017, section 3.2.2; Ainslie and others 2023, "GQA: Training
    Generalized Multi-Query Transformer Models from Multi-Head Checkpoints", section 2.2.
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
        num_kv_heads: int | None = None,
    ) -> None:
        super().__init__(embed_dim, num_heads, dropout, bias, kdim, vdim, head_dim=head_dim)
        self.num_kv_heads = num_heads if num_kv_heads is None else num_kv_heads
        if self.num_kv_heads < 1 or num_heads % self.num_kv_heads:
            raise ValueError(
                f"num_kv_heads ({num_kv_heads}) must be a divisor of num_heads ({num_heads}): each "
                "key head serves as many query heads as any other."
            )
        kv_dim = self.num_kv_heads * self.head_dim
        self.q_proj = nn.Linear(embed_dim, num_heads * self.head_dim, bias=bias)
        self.k_proj = nn.Linear(self.kdim, kv_dim, bias=bias)
        self.v_proj = nn.Linear(self.vdim, kv_dim, bias=bias)
        self.positions = positions
        self.reset_parameters()

    def projections(self, name: str) -> list[nn.Linear]:
        """The one projection called ``name``, (H * D_head, width): its rows are the heads' rows."""
        return [getattr(self, f"{name}_proj")]

    def _check_convertible(self) -> None:
        super()._check_convertible()
        if self.positions is not None:
            raise ValueError("PyTorch's layer knows no positions; take the layer without them.")
        if self.num_kv_heads != self.num_heads:
            raise ValueError("PyTorch's layer has keys and values of its own for every head.")

    def split_heads(self, x: Tensor) -> Tensor:
        """(B, T, H * D_head) -> (B, H, T, D_head)."""
        return x.unflatten(-1, (-1, self.head_dim)).transpose(1, 2)

    def join_heads(self, x: Tensor) -> Tensor:
        """(B, H, T, D_head) -> (B, T, H * D_head)."""
        return x.transpose(1, 2).flatten(2)

    def attend(
        self, query: Tensor, key: Tensor, value: Tensor, mask: Tensor | None, need_weights: bool
    ) -> tuple[Tensor, Tensor | None]:
        """Run all heads at once, by the cheapest way that gives what is asked for."""
        dropout_p = self.dropout if self.training else 0.0
        if self._absorbing_is_cheaper(query.shape[1], key.shape[1]):
            q = self.q_proj(query)  # (B, T, H * D_head)
            joined, weights = absorbed_attention(
                q, key, value, *self._absorbed_parts(), mask, dropout_p
            )
            return joined, weights if need_weights else None
        q, k, v = self._project(query, key, value)
        if self.positions is not None:
            q, k, mask = self.positions(q, k, mask)
        if not need_weights:
            return self.join_heads(self._fused(q, k, v, mask, dropout_p)), None
        return self._attend_with_weights(q, k, v, mask, dropout_p)

    def attend_causal(
        self, query: Tensor, key: Tensor, value: Tensor, need_weights: bool
    ) -> tuple[Tensor, Tensor | None]:
        """Let the fused kernel skip what a causal mask blocks, without a mask of T x S numbers."""
        if self._absorbing_is_cheaper(query.shape[1], key.shape[1]):
            return super().attend_causal(query, key, value, need_weights)
        dropout_p = self.dropout if self.training else 0.0
        q, k, v = self._project(query, key, value)
        q, k, mask = self._causal(q, k)
        if not need_weights:
            return self.join_heads(self._fused(q, k, v, mask, dropout_p, mask is None)), None
        return self._attend_with_weights(q, k, v, mask, dropout_p, mask is None)

    @torch.no_grad()
    def decode(self, x: Tensor, cache: KeyValueCache) -> Tensor:
        """Attend from the newest tokens to all tokens so far, and remember the new ones.

        Token for token this is what ``forward(x, x, x, is_causal=True)`` gives for all tokens at
        once. No gradient is kept.

        Parameters
        ----------
        x : Tensor of shape (B, T, D), the T tokens that follow those in the cache
        cache : the keys and values of the tokens before; those of ``x`` are added to it

        Returns
        -------
        Tensor of shape (B, T, D)

        Raises
        ------
        ValueError
            if the shape does not fit, or the cache has no room
        """
        if x.dim() != 3 or x.shape[1] < 1:
            raise ValueError(
                f"x has shape {tuple(x.shape)}; expected (B, T, {self.embed_dim}), with at least "
                "one token."
            )
        self._check_inputs(x, x, x)
        start = cache.length
        q, k, v = self._project(x, x, x)
        q, k, mask = self._causal(q, k, start)
        k, v = cache.append(k, v)  # (B, H_kv, S, D_head) each, S = start + T
        causal = start == 0 and mask is None
        return self.out_proj(self.join_heads(self._fused(q, k, v, mask, is_causal=causal)))

    def _project(self, query: Tensor, key: Tensor, value: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """Give q, (B, H, T, D_head), and k and v, (B, H_kv, S, D_head)."""
        q, k, v = self.q_proj(query), self.k_proj(key), self.v_proj(value)
        return self.split_heads(q), self.split_heads(k), self.split_heads(v)

    def _causal(self, q: Tensor, k: Tensor, start: int = 0) -> tuple[Tensor, Tensor, Tensor | None]:
        """Put queries and keys into their places, and give the causal mask, unless it goes without.

        Where nothing came before, and ``positions`` has no mask of its own, the kernel knows what
        causal means; one query that comes last may see all. None stands for both.
        """
        T, S = q.shape[2], start + k.shape[2]
        mask = causal_mask(T, S, q.device, start) if start and T > 1 else None
        if self.positions is not None:
            q, k, mask = self.positions(q, k, mask, start) if start else self.positions(q, k, None)
            if mask is not None and start == 0:
                mask = combine_masks(mask, causal_mask(T, S, q.device))
        return q, k, mask

    def _attend_with_weights(
        self,
        q: Tensor,
        k: Tensor,
        v: Tensor,
        mask: Tensor | None,
        dropout_p: float,
        is_causal: bool = False,
    ) -> tuple[Tensor, Tensor]:
        """Give the heads side by side, (B, T, H * D_head), and the weights, (B, H, T, S)."""
        groups = self.num_heads // self.num_kv_heads
        if groups > 1:  # (B, H_kv, S, D_head) -> (B, H, S, D_head)
            k, v = k.repeat_interleave(groups, dim=1), v.repeat_interleave(groups, dim=1)
        heads, weights = scaled_dot_product_attention(q, k, v, mask, dropout_p, is_causal)
        return self.join_heads(heads), weights

    def _fused(
        self,
        q: Tensor,
        k: Tensor,
        v: Tensor,
        mask: Tensor | None,
        dropout_p: float = 0.0,
        is_causal: bool = False,
    ) -> Tensor:
        """Run the fused kernel, which never stores the weights: (B, H, T, D_head)."""
        (B, H, T, _), H_kv = q.shape, self.num_kv_heads
        if H_kv == H or T > 1 or is_causal:
            return F.scaled_dot_product_attention(
                q, k, v, mask, dropout_p, is_causal, enable_gqa=H_kv != H
            )
        # One query: let the heads that share a key be queries of one head. No key is copied then.
        if mask is not None and mask.shape[1] == H:
            mask = mask.reshape(-1, H_kv, H // H_kv, k.shape[2])
        q = q.view(B, H_kv, H // H_kv, self.head_dim)
        return F.scaled_dot_product_attention(q, k, v, mask, dropout_p).view(B, H, 1, -1)

    def _absorbing_is_cheaper(self, T: int, S: int) -> bool:
        """Compare multiply-adds for each sequence: project every key and value, or bring q to them.

        With E = H * D_head, the width of all heads, and E_kv = H_kv * D_head,
        projecting: S (kdim + vdim) E_kv for the projections, then 2 T S E
        absorbing: T (kdim + vdim) E to bring the queries there and back, then T S (kdim + vdim) H
        """
        width, inner_dim = self.kdim + self.vdim, self.num_heads * self.head_dim
        projecting = S * width * self.num_kv_heads * self.head_dim + 2 * T * S * inner_dim
        absorbing = T * width * inner_dim + T * S * width * self.num_heads
        return absorbing < projecting and self.positions is None

    def _absorbed_parts(self) -> tuple[Tensor, Tensor, Tensor | None, Tensor | None]:
        """Weights of key and value projection, (H, D_head, width), and the biases of both."""
        k_proj, v_proj = self.k_proj, self.v_proj
        heads = (self.num_kv_heads, self.head_dim, -1)
        k_weight, v_weight = k_proj.weight.view(heads), v_proj.weight.view(heads)
        v_bias: Tensor | None = v_proj.bias
        groups = self.num_heads // self.num_kv_heads
        if groups > 1:
            k_weight = k_weight.repeat_interleave(groups, dim=0)
            v_weight = v_weight.repeat_interleave(groups, dim=0)
            if v_bias is not None:
                v_bias = v_bias.view(heads[:2]).repeat_interleave(groups, dim=0).flatten()
        return k_weight, v_weight, k_proj.bias, v_bias
