"""A model that writes: it reads the tokens so far, and gives the logits of the next one.

Blocks of causal attention with rotary positions and shared key heads, and of a network on each
token; its embedding is its output layer too. As it stands it is a small Llama, see ``ch18_llama``.

Shapes: B texts, T tokens, H heads, H_kv heads of keys and values, D = ``embed_dim``, V =
``vocab_size``.
"""

from __future__ import annotations

import math
from functools import partial

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from utils.attention import MultiHeadAttention
from utils.positions import RotaryPositionalEncoding

RMSNorm = partial(nn.RMSNorm, eps=1e-6)


class SwiGLU(nn.Module):
    """A network on each token, in which one half of what is inside gates the other.

    Parameters
    ----------
    embed_dim : int, D
    hidden_dim : int, the width inside. There are three matrices: with 2/3 of the width it has as
        many weights as a network of two

    Source: Shazeer 2020, "GLU Variants Improve Transformer".
    """

    def __init__(self, embed_dim: int, hidden_dim: int) -> None:
        super().__init__()
        self.gate_proj = nn.Linear(embed_dim, hidden_dim, bias=False)
        self.up_proj = nn.Linear(embed_dim, hidden_dim, bias=False)
        self.down_proj = nn.Linear(hidden_dim, embed_dim, bias=False)

    def forward(self, x: Tensor) -> Tensor:
        """(B, T, D) -> (B, T, D)."""
        return self.down_proj(F.silu(self.gate_proj(x)) * self.up_proj(x))


class CausalBlock(nn.Module):
    """Causal attention and a network on each token; each reads what is normalised, and is added.

    Parameters are those of ``LanguageModel``.

    Source: Xiong and others 2020, "On Layer Normalization in the Transformer Architecture"
    (pre-norm).
    """

    def __init__(
        self, embed_dim: int, num_heads: int, num_kv_heads: int, hidden_dim: int, dropout: float
    ) -> None:
        super().__init__()
        self.mha_norm = RMSNorm(embed_dim)
        self.mha = MultiHeadAttention(
            embed_dim,
            num_heads,
            bias=False,
            positions=RotaryPositionalEncoding(embed_dim // num_heads),
            num_kv_heads=num_kv_heads,
        )
        self.ff_norm = RMSNorm(embed_dim)
        self.ff = SwiGLU(embed_dim, hidden_dim)
        self.dropout = nn.Dropout(dropout)

    def forward(self, x: Tensor) -> Tensor:
        """(B, T, D) -> (B, T, D)."""
        y = self.mha_norm(x)
        x = x + self.dropout(self.mha(y, y, y, need_weights=False, is_causal=True)[0])
        return x + self.dropout(self.ff(self.ff_norm(x)))


class LanguageModel(nn.Module):
    """Embed the tokens, run the blocks, and compare what leaves them with every embedding.

    Parameters
    ----------
    vocab_size : int, V
    embed_dim : int, D
    num_heads, num_kv_heads : int, H and H_kv; None for the second means H
    hidden_dim : int, the width inside the network on each token
    num_layers : int, blocks
    dropout : float, of the embeddings, and of what the two parts of a block add

    Raises
    ------
    ValueError
        if there is no token or no block, or the heads do not fit

    Sources: Touvron and others 2023, "LLaMA: Open and Efficient Foundation Language Models" (all
    but the shared key heads); RMSNorm, Zhang and Sennrich 2019, "Root Mean Square Layer
    Normalization"; one embedding, Press and Wolf 2017, "Using the Output Embedding to Improve
    Language Models".
    """

    def __init__(
        self,
        vocab_size: int,
        embed_dim: int = 128,
        num_heads: int = 4,
        num_kv_heads: int | None = None,
        hidden_dim: int = 384,
        num_layers: int = 4,
        dropout: float = 0.0,
    ) -> None:
        super().__init__()
        if min(vocab_size, num_layers) < 1:
            raise ValueError(
                "a language model needs at least one token and one block; got "
                f"vocab_size {vocab_size} and num_layers {num_layers}."
            )
        self.embedding = nn.Embedding(vocab_size, embed_dim)
        size = (embed_dim, num_heads, num_kv_heads or num_heads, hidden_dim, dropout)
        self.blocks = nn.ModuleList(CausalBlock(*size) for _ in range(num_layers))
        self.norm = RMSNorm(embed_dim)
        self.dropout = nn.Dropout(dropout)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Draw every matrix from a normal distribution, of 0.02, and less for what a block adds.

        What the 2L parts of L blocks add has 0.02 / sqrt(2L), so that the sum of all is as wide as
        one.

        Source: Radford and others 2019, "Language Models are Unsupervised Multitask Learners".
        """
        added = 0.02 / math.sqrt(2 * len(self.blocks))
        for name, parameter in self.named_parameters():
            if parameter.dim() > 1:
                last = name.endswith(("out_proj.weight", "down_proj.weight"))
                nn.init.normal_(parameter, std=added if last else 0.02)

    def forward(self, ids: Tensor) -> Tensor:
        """Give the logits of the token after each, (B, T, V), from ids (B, T), int64.

        Raises
        ------
        ValueError
            if the ids are not (B, T), or one is not in the vocabulary
        """
        x = self.embed(ids)
        for block in self.blocks:
            x = block(x)
        return self.logits(x)

    def embed(self, ids: Tensor) -> Tensor:
        """(B, T) -> (B, T, D)."""
        if ids.dim() != 2 or ids.dtype != torch.int64:
            raise ValueError(f"expected ids (B, T), int64; got {tuple(ids.shape)}, {ids.dtype}.")
        try:
            return self.dropout(self.embedding(ids))
        except IndexError:
            raise ValueError(f"ids go from 0 to {self.embedding.num_embeddings - 1}.") from None

    def logits(self, x: Tensor) -> Tensor:
        """(B, T, D) -> (B, T, V): how well what leaves the last block fits each embedding."""
        return F.linear(self.norm(x), self.embedding.weight)
