"""Multi-head attention with one projection each for query, key and value, and a reshape.

How a layer is called is in ``layer``, the definition of attention in ``dot_product``, the same
layer as a loop over heads in ``naive``, and by the cheapest order of its products in ``fast``.

Shapes: B sequences, T queries, S keys, H heads, H_kv heads of keys and values, D = ``embed_dim``,
which is H * D_head unless a layer is given a ``head_dim`` of its own.

Source: Vaswani and others 2017, "Attention Is All You Need", sections 3.2.1 and 3.2.2.
"""

from __future__ import annotations

from typing import Unpack

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from utils.attention.cache import KeyValueCache
from utils.attention.dot_product import scaled_dot_product_attention
from utils.attention.grouped import grouped_attention
from utils.attention.layer import AttentionLayer, LayerOptions
from utils.attention.masks import causal_mask, combine_masks
from utils.attention.validate import check_mask_type, check_tensors, check_whole
from utils.attention.weights import select


class MultiHeadAttention(AttentionLayer):
    """Multi-head attention with one projection each for query, key and value, and a reshape.

    Parameters, call and errors are those of ``AttentionLayer``. Two more parameters:

    positions : nn.Module or None, what tells the layer where the tokens stand. It is called with
        the queries (B, H, T, D_head), the keys (B, H_kv, S, D_head), the mask (in the convention
        of ``masks``, or None), and in ``decode`` also with the place of the first query and
        key. It returns the first three as the layer is to use them. Its kinds are in
        ``positions``
    num_kv_heads : int or None, H_kv, a divisor of H: so many heads have keys and values of their
        own, and H / H_kv queries share each ("grouped-query attention"; with 1 "multi-query").
        None means H

    Whatever the shapes, the layer calls its own ``q_proj``, ``k_proj``, ``v_proj`` and
    ``out_proj``: hooks on them fire, and what replaces one of them is used.

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
        **options: Unpack[LayerOptions],
    ) -> None:
        super().__init__(
            embed_dim, num_heads, dropout, bias, kdim, vdim, head_dim=head_dim, **options
        )
        self.num_kv_heads = num_heads if num_kv_heads is None else num_kv_heads
        check_whole("num_kv_heads", self.num_kv_heads)
        if self.num_kv_heads < 1 or num_heads % self.num_kv_heads:
            raise ValueError(
                f"num_kv_heads ({num_kv_heads}) must be a divisor of num_heads ({num_heads}): each "
                "key head serves as many query heads as any other."
            )
        kv_dim = self.num_kv_heads * self.head_dim
        self.q_proj = self._linear(embed_dim, num_heads * self.head_dim)
        self.k_proj = self._linear(self.kdim, kv_dim)
        self.v_proj = self._linear(self.vdim, kv_dim)
        self.positions = positions
        self.reset_parameters()

    def attend(
        self,
        query: Tensor,
        key: Tensor,
        value: Tensor,
        mask: Tensor | None,
        need_weights: bool,
        is_causal: bool = False,
    ) -> tuple[Tensor, Tensor | None]:
        """Project, split into heads, attend in all heads at once, and join them."""
        q = self.split_heads(self.q_proj(query))  # (B, T, D) -> (B, H, T, D_head)
        k = self.split_heads(self.k_proj(key))  # (B, S, kdim) -> (B, H_kv, S, D_head)
        v = self.split_heads(self.v_proj(value))  # (B, S, vdim) -> (B, H_kv, S, D_head)
        if self.positions is not None:
            q, k, mask, is_causal = self._place(q, k, mask, is_causal)
        dropout_p = self.dropout if self.training else 0.0
        heads, weights = self._attend_heads(q, k, v, mask, is_causal, dropout_p, need_weights)
        return self.join_heads(heads), weights

    def split_heads(self, x: Tensor) -> Tensor:
        """(B, T, H * D_head) -> (B, H, T, D_head)."""
        return x.unflatten(-1, (-1, self.head_dim)).transpose(1, 2)

    def join_heads(self, heads: Tensor) -> Tensor:
        """(B, H, T, D_head) -> (B, T, H * D_head)."""
        return heads.transpose(1, 2).flatten(2)

    def _attend_heads(
        self,
        q: Tensor,
        k: Tensor,
        v: Tensor,
        mask: Tensor | None = None,
        is_causal: bool = False,
        dropout_p: float = 0.0,
        need_weights: bool = False,
    ) -> tuple[Tensor, Tensor | None]:
        """Give each head's mixture, (B, H, T, D_head), and the weights, (B, H, T, S), or None.

        Without weights the fused kernel runs, which never stores them.
        """
        call = (mask, dropout_p, is_causal)
        if self.num_kv_heads < self.num_heads:
            return grouped_attention(q, k, v, *call, self.scale, need_weights)
        if need_weights:
            return scaled_dot_product_attention(q, k, v, *call, self.scale)
        return F.scaled_dot_product_attention(q, k, v, *call, scale=self.scale), None

    def projections(self, name: str) -> list[nn.Linear]:
        """The one projection called ``name``, (H * D_head, width): its rows are the heads' rows."""
        return [getattr(self, f"{name}_proj")]

    def unlike_torch(self) -> str | None:
        """Say what this layer does that PyTorch's cannot, or None."""
        if self.positions is not None:
            return "it has positions"
        if self.num_kv_heads != self.num_heads:
            return "its heads share keys and values"
        return super().unlike_torch()

    def select_heads(self, heads: list[int]) -> None:
        """Keep these heads alone, in this order; a head keeps its width.

        Raises
        ------
        ValueError
            for a layer with ``positions``, which may have parts for each head, or with shared keys
        """
        if self.positions is not None:
            raise ValueError("heads of a layer with positions cannot be cut out: remove these.")
        if self.num_kv_heads != self.num_heads:
            raise ValueError("heads that share their keys and values cannot be cut out one by one.")
        rows = torch.arange(self.num_heads * self.head_dim, device=self.out_proj.weight.device)
        rows = rows.view(self.num_heads, self.head_dim)[heads].flatten()
        for projection in (self.q_proj, self.k_proj, self.v_proj):
            select(projection, rows, dim=0)
        select(self.out_proj, rows, dim=1)
        self.num_heads = self.num_kv_heads = len(heads)

    def _place(
        self, q: Tensor, k: Tensor, mask: Tensor | None, is_causal: bool, start: int = 0
    ) -> tuple[Tensor, Tensor, Tensor | None, bool]:
        """Let ``positions`` change queries, keys and mask; a mask of theirs takes in the causal."""
        assert self.positions is not None
        q, k, mask = self.positions(q, k, mask, start) if start else self.positions(q, k, mask)
        if is_causal and mask is not None:
            mask = combine_masks(mask, causal_mask(q.shape[2], k.shape[2], q.device))
            is_causal = False
        return q, k, mask, is_causal

    # Writing token by token: the keys and values of the tokens before are kept.

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
        NotImplementedError
            if something between the heads and the last projection would have to remember as well
        """
        if self.between:
            raise NotImplementedError(f"a layer with {self.between} cannot decode with a cache.")
        check_tensors(x=x)
        if x.dim() != 3 or x.shape[1] < 1:
            raise ValueError(
                f"x has shape {tuple(x.shape)}; expected (B, T, {self.embed_dim}), with at least "
                "one token."
            )
        self._check_inputs(x, x, x)
        q, k, v = map(self.split_heads, (self.q_proj(x), self.k_proj(x), self.v_proj(x)))
        start, T, mask, is_causal = cache.length, x.shape[1], None, cache.length == 0
        if start and T > 1:  # one query that comes last may see all keys
            mask = causal_mask(T, start + T, q.device, start)
        if self.positions is not None:
            q, k, mask, is_causal = self._place(q, k, mask, is_causal, start)
        k, v = cache.append(k, v)  # (B, H_kv, S, D_head) each, S = start + T
        heads, _ = self._attend_heads(q, k, v, mask, is_causal)
        return self.out_proj(self.join_heads(heads))

    def project_memory(self, memory: Tensor) -> tuple[Tensor, Tensor]:
        """Give the keys and values of a sequence that is read again and again: ``attend_memory``.

        Parameters
        ----------
        memory : Tensor of shape (B, S, D)

        Returns
        -------
        keys, values : Tensors of shape (B, H_kv, S, D_head)

        Raises
        ------
        NotImplementedError
            if the layer has ``positions``, which change the keys with the queries, or something
            between the heads and the last projection, which would have to remember as well
        """
        if self.between or self.positions is not None:
            raise NotImplementedError(
                f"a layer with {self.between or 'positions'} cannot read keys that were kept; "
                "decode without a cache."
            )
        check_tensors(memory=memory)
        return self.split_heads(self.k_proj(memory)), self.split_heads(self.v_proj(memory))

    def attend_memory(
        self, query: Tensor, memory: tuple[Tensor, Tensor], allowed: Tensor | None = None
    ) -> Tensor:
        """Attend from ``query``, (B, T, D), to the keys and values of ``project_memory``.

        ``allowed`` broadcasts to (B, H, T, S), bool, True = allowed. Returns (B, T, D).
        """
        check_tensors(query=query)
        if allowed is not None:
            check_mask_type("allowed", allowed, true_means="allowed")
        heads, _ = self._attend_heads(self.split_heads(self.q_proj(query)), *memory, allowed)
        return self.out_proj(self.join_heads(heads))
