"""The usual layer, written down: what it measures stays the same while the course's changes."""

from __future__ import annotations

import torch.nn.functional as F
from torch import Tensor

from utils.attention import MultiHeadAttention


class ReshapedAttention(MultiHeadAttention):
    """One projection each, a reshape, and two products with a softmax in between.

    It has the parameters of the course's layer, and knows no mask and no dropout.
    """

    fused = False

    def attend(
        self,
        query: Tensor,
        key: Tensor,
        value: Tensor,
        mask: Tensor | None,
        need_weights: bool,
        is_causal: bool = False,
    ) -> tuple[Tensor, Tensor | None]:
        """Attend from every query to every key."""
        projected = (self.q_proj(query), self.k_proj(key), self.v_proj(value))
        q, k, v = (self.split_heads(x) for x in projected)
        if self.fused:
            heads, weights = F.scaled_dot_product_attention(q, k, v), None  # (B, H, T, D_head)
        else:
            weights = (q @ k.transpose(-2, -1) * self.head_dim**-0.5).softmax(dim=-1)
            heads = weights @ v  # (B, H, T, S) @ (B, H, S, D_head) -> (B, H, T, D_head)
        return self.join_heads(heads), weights


class FusedAttention(ReshapedAttention):
    """The same with the fused kernel, which never stores the weights."""

    fused = True
