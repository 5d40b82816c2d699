"""Multi-head attention as the paper defines it: a loop over heads with projections of their own.

It is slow, and there to be compared with: ``utils/attention.py`` does the same at once.

Source: Vaswani and others 2017, "Attention Is All You Need", section 3.2.2.
"""

from __future__ import annotations

from typing import cast

import torch
from torch import Tensor, nn

from utils.attention import MultiHeadAttention, scaled_dot_product_attention


class Head(nn.Module):
    """The three projections of one head, from D to D_head dimensions."""

    def __init__(self, q_proj: nn.Linear, k_proj: nn.Linear, v_proj: nn.Linear) -> None:
        super().__init__()
        self.q_proj, self.k_proj, self.v_proj = q_proj, k_proj, v_proj


class NaiveMultiHeadAttention(MultiHeadAttention):
    """Multi-head attention as a loop over heads, then one projection.

    Parameters, call and errors are those of ``MultiHeadAttention``, but for ``positions`` and
    ``num_kv_heads``, which it refuses with ValueError.

    Source: Vaswani and others 2017, section 3.2.2.
    """

    def add_projections(self) -> None:
        """Make three linear maps for each head."""
        if self.positions is not None or self.num_kv_heads != self.num_heads:
            raise ValueError("the naive layer has no positions and no num_kv_heads; take another.")
        widths = (self.embed_dim, self.kdim, self.vdim)
        self.heads = nn.ModuleList(
            Head(*(self.linear(width, self.head_dim) for width in widths))
            for _ in range(self.num_heads)
        )

    def projections(self, name: str) -> list[nn.Linear]:
        """The H projections called ``name``, one a head, each of shape (D_head, width)."""
        return [getattr(head, f"{name}_proj") for head in self.heads]

    def attend(
        self,
        query: Tensor,
        key: Tensor,
        value: Tensor,
        mask: Tensor | None,
        *,
        need_weights: bool,
        is_causal: bool,
    ) -> tuple[Tensor, Tensor | None]:
        """Run one head after the other and put their outputs side by side."""
        dropout_p = self.dropout if self.training else 0.0
        outputs, weights = [], []
        for h, head in enumerate(cast(list[Head], self.heads)):
            q, k, v = head.q_proj(query), head.k_proj(key), head.v_proj(value)  # (B, …, D_head)
            # (B or 1, H or 1, T, S) -> (B or 1, T, S), or none
            head_mask = None if mask is None else mask[:, h % mask.shape[1]]
            output, weight = scaled_dot_product_attention(
                q, k, v, head_mask, dropout_p, is_causal, self.scale
            )
            outputs.append(output)  # (B, T, D_head)
            weights.append(weight)  # (B, T, S)
        joined = torch.cat(outputs, dim=-1)  # H times (B, T, D_head) -> (B, T, H * D_head)
        return joined, torch.stack(weights, dim=1) if need_weights else None  # (B, H, T, S)
