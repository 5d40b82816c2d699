"""A model of BERT's kind: embeddings, then encoder blocks.

Shapes: B sequences, T tokens, H heads, L blocks, D = ``embed_dim``.

Source: Devlin and others 2019, "BERT: Pre-training of Deep Bidirectional Transformers", section 3.
"""

from __future__ import annotations

from collections.abc import Iterator

from torch import Tensor, nn

from utils.models.blocks import EncoderBlock


class TextEncoder(nn.Module):
    """Embed tokens and their positions, then blocks: BERT without pairs, and what it predicts.

    Parameters
    ----------
    vocab_size : int, number of tokens
    embed_dim, num_heads, hidden_dim, dropout, eps : as for ``EncoderBlock``
    num_layers : int, L
    max_length : int, the most tokens of a sequence
    """

    def __init__(
        self,
        vocab_size: int,
        embed_dim: int,
        num_heads: int,
        hidden_dim: int,
        num_layers: int,
        max_length: int = 512,
        dropout: float = 0.0,
        eps: float = 1e-5,
    ) -> None:
        super().__init__()
        self.tokens = nn.Embedding(vocab_size, embed_dim)
        self.positions = nn.Embedding(max_length, embed_dim)
        self.types = nn.Embedding(2, embed_dim)  # the first sentence of a pair, which all are here
        self.norm = nn.LayerNorm(embed_dim, eps)
        self.dropout = nn.Dropout(dropout)
        self.blocks = nn.ModuleList(
            EncoderBlock(embed_dim, num_heads, hidden_dim, dropout, eps=eps)
            for _ in range(num_layers)
        )

    def embed(self, input_ids: Tensor) -> Tensor:
        """Give what goes into the first block, (B, T, D), from ids (B, T)."""
        if input_ids.dim() != 2 or input_ids.shape[1] > self.positions.num_embeddings:
            raise ValueError(
                f"input_ids has shape {tuple(input_ids.shape)}; expected (B, T) with at most "
                f"{self.positions.num_embeddings} tokens."
            )
        x = self.tokens(input_ids) + self.types.weight[0]
        x = x + self.positions.weight[: input_ids.shape[1]]  # (B, T, D)
        return self.dropout(self.norm(x))

    def forward(self, input_ids: Tensor, key_padding_mask: Tensor | None = None) -> Tensor:
        """Give what leaves the last block, (B, T, D).

        ``key_padding_mask`` is (B, T), True = padding. Raises ValueError if there are more tokens
        than ``max_length``.
        """
        *_, (x, _) = self.layers(input_ids, key_padding_mask, need_weights=False)
        return x

    def layers(
        self,
        input_ids: Tensor,
        key_padding_mask: Tensor | None = None,
        need_weights: bool = True,
    ) -> Iterator[tuple[Tensor, Tensor | None]]:
        """Give, one after the other, what ``embed`` and each block make, with the block's weights.

        Each is (B, T, D) and (B, H, T, T); the weights of the first, the embeddings, are None.
        """
        x, weights = self.embed(input_ids), None
        yield x, weights
        for block in self.blocks:
            x, weights = block(x, key_padding_mask, need_weights)
            yield x, weights
