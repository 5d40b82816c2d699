"""Multi-head attention as the paper defines it: a loop over heads with projections of their own.

Source: Vaswani and others 2017, "Attention Is All You Need", section 3.2.2.
"""

from __future__ import annotations

from typing import Any, Unpack

import torch
from torch import Tensor, nn

from utils.attention.dot_product import scaled_dot_product_attention
from utils.attention.layer import AttentionLayer, LayerOptions


class Head(nn.Module):
    """One head: a small attention with projections of its own, from D to D_head dimensions."""

    def __init__(
        self, embed_dim: int, head_dim: int, kdim: int, vdim: int, bias: bool, **like: Any
    ) -> None:
        super().__init__()
        self.q_proj = nn.Linear(embed_dim, head_dim, bias, **like)
        self.k_proj = nn.Linear(kdim, head_dim, bias, **like)
        self.v_proj = nn.Linear(vdim, head_dim, bias, **like)

    def forward(
        self,
        query: Tensor,
        key: Tensor,
        value: Tensor,
        mask: Tensor | None,
        dropout_p: float,
        is_causal: bool = False,
        scale: float | None = None,
    ) -> tuple[Tensor, Tensor]:
        """Return this head's output, (B, T, D_head), and its weights, (B, T, S)."""
        q, k, v = self.q_proj(query), self.k_proj(key), self.v_proj(value)
        return scaled_dot_product_attention(q, k, v, mask, dropout_p, is_causal, scale)


class NaiveMultiHeadAttention(AttentionLayer):
    """Multi-head attention as the paper defines it: a loop over heads, then one projection.

    Parameters, call and errors are those of ``AttentionLayer``.

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
        **options: Unpack[LayerOptions],
    ) -> None:
        super().__init__(embed_dim, num_heads, dropout, bias, kdim, vdim, **options)
        sizes, weight = (embed_dim, self.head_dim, self.kdim, self.vdim), self.out_proj.weight
        like: dict[str, Any] = {"device": weight.device, "dtype": weight.dtype}
        self.heads = nn.ModuleList(Head(*sizes, bias, **like) for _ in range(num_heads))
        self.reset_parameters()

    def projections(self, name: str) -> list[nn.Linear]:
        """The H projections called ``name``, one a head, each of shape (D_head, width)."""
        return [getattr(head, f"{name}_proj") for head in self.heads]

    def attend(
        self,
        query: Tensor,
        key: Tensor,
        value: Tensor,
        mask: Tensor | None,
        need_weights: bool,
        is_causal: bool = False,
    ) -> tuple[Tensor, Tensor | None]:
        """Run one head after the other and put their outputs side by side."""
        dropout_p = self.dropout if self.training else 0.0
        outputs, weights = [], []
        for h, head in enumerate(self.heads):
            # (B or 1, H or 1, T, S) -> (B or 1, T, S), or none
            head_mask = None if mask is None else mask[:, h % mask.shape[1]]
            output, weight = head(query, key, value, head_mask, dropout_p, is_causal, self.scale)
            outputs.append(output)  # (B, T, D_head)
            weights.append(weight)  # (B, T, S)
        joined = torch.cat(outputs, dim=-1)  # H times (B, T, D_head) -> (B, T, D)
        return joined, torch.stack(weights, dim=1) if need_weights else None  # (B, H, T, S)
