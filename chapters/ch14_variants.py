"""Multi-head attention whose heads are as wide as the model, as forums propose it.

Both layers are ``FastMultiHeadAttention`` with other sizes, so that masks, dropout, the padding of
the keys and the cheap order for few queries are those of ``utils/fast.py``.

Shapes: B sequences, T queries, S keys, H heads, D = ``embed_dim``, D_head = the width of a head.
"""

from __future__ import annotations

from typing import Any

import torch.nn.functional as F
from torch import Tensor, nn

from utils.fast import FastMultiHeadAttention


class WideMultiHeadAttention(FastMultiHeadAttention):
    """Multi-head attention in which every head is D wide.

    The projections of query, key and value map D to H * D, the last projection maps H * D to D.
    Parameters, call and errors are those of ``utils.attention.MultiHeadAttention``; ``embed_dim``
    need not be a multiple of ``num_heads``. With one head it is the standard layer, and only then
    are there weights of PyTorch's layer that fit.

    Source: Vaswani and others 2017, "Attention Is All You Need", section 3.2.2, which chooses
    D_head = D / H instead, so that all heads together cost what one head of width D does.
    """

    def __init__(self, embed_dim: int, num_heads: int, *more: Any, **options: Any) -> None:
        super().__init__(embed_dim, num_heads, *more, head_dim=embed_dim, **options)


class ConvMultiHeadAttention(FastMultiHeadAttention):
    """Multi-head attention with wide heads, each reduced to D / H channels by a convolution.

    The convolution runs over the queries: what a head gives for query t is made of what it found
    for the queries t - kernel_size + 1 … t, and of zeros where there are none. It never looks
    ahead, so a causal mask keeps its meaning, and padding at the end of a sequence touches no query
    before it. (Padding at the start would be seen by the queries after it.)

    Parameters
    ----------
    embed_dim, num_heads : as in ``MultiHeadAttention``, and so is what follows; ``bias`` holds for
        the convolution as well, and a ``head_dim`` of None means ``embed_dim``
    kernel_size : int, how many queries the convolution sees. With 1 it is a linear map for each
        head, which ``v_proj`` could do as well

    Raises
    ------
    ValueError
        if ``kernel_size`` is less than 1 or ``embed_dim`` no multiple of ``num_heads``
    """

    between = "a convolution"

    def __init__(
        self,
        embed_dim: int,
        num_heads: int,
        *more: Any,
        kernel_size: int = 1,
        head_dim: int | None = None,
        **options: Any,
    ) -> None:
        if kernel_size < 1:
            raise ValueError(f"kernel_size ({kernel_size}) must be at least 1.")
        head_dim = embed_dim if head_dim is None else head_dim
        super().__init__(embed_dim, num_heads, *more, head_dim=head_dim, **options)
        if embed_dim % num_heads:
            raise ValueError(
                f"embed_dim ({embed_dim}) must be a multiple of num_heads ({num_heads}): each head "
                "is reduced to embed_dim / num_heads channels."
            )
        self.kernel_size = kernel_size
        inner_dim, like = num_heads * head_dim, self.out_proj
        self.reduce = nn.Conv1d(
            inner_dim,
            embed_dim,
            kernel_size,
            groups=num_heads,
            bias=like.bias is not None,
            device=like.weight.device,
            dtype=like.weight.dtype,
        )
        self.out_proj = self.linear(embed_dim, embed_dim)  # in the place of the parent's
        self.reset_parameters()

    def attend(
        self, query: Tensor, key: Tensor, value: Tensor, mask: Tensor | None, **how: bool
    ) -> tuple[Tensor, Tensor | None]:
        """Run the wide heads, then reduce each: the heads are (B, T, D) in the end."""
        heads, weights = super().attend(query, key, value, mask, **how)
        channels = heads.transpose(1, 2)  # (B, T, H * D_head) -> (B, H * D_head, T)
        channels = F.pad(channels, (self.kernel_size - 1, 0))  # zeros before the first query
        return self.reduce(channels).transpose(1, 2), weights  # (B, D, T) -> (B, T, D)
