"""The usual layer, written down: what it measures stays the same while the course's changes."""

from __future__ import annotations

import torch.nn.functional as F
from torch import Tensor, nn

from utils.layer import AttentionLayer


class ReshapedAttention(AttentionLayer):
    """One projection each, a reshape, and two products with a softmax in between.

    It knows no mask and no dropout.
    """

    fused = False

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
        self.q_proj = nn.Linear(embed_dim, embed_dim, bias=bias)
        self.k_proj = nn.Linear(self.kdim, embed_dim, bias=bias)
        self.v_proj = nn.Linear(self.vdim, embed_dim, bias=bias)

    def projections(self, name: str) -> list[nn.Linear]:
        """The one projection called ``name``."""
        return [getattr(self, f"{name}_proj")]

    def attend(
        self, query: Tensor, key: Tensor, value: Tensor, mask: Tensor | None, need_weights: bool
    ) -> tuple[Tensor, Tensor | None]:
        """Attend from every query to every key."""
        q, k, v = self.q_proj(query), self.k_proj(key), self.v_proj(value)
        q, k, v = (x.unflatten(-1, (self.num_heads, -1)).transpose(1, 2) for x in (q, k, v))
        if self.fused:
            heads, weights = F.scaled_dot_product_attention(q, k, v), None  # (B, H, T, D_head)
        else:
            weights = (q @ k.transpose(-2, -1) * self.head_dim**-0.5).softmax(dim=-1)
            heads = weights @ v  # (B, H, T, S) @ (B, H, S, D_head) -> (B, H, T, D_head)
        return heads.transpose(1, 2).flatten(2), weights


class FusedAttention(ReshapedAttention):
    """The same with the fused kernel, which never stores the weights."""

    fused = True
