"""A model that fills gaps: it says what stands at a place from the other tokens of the text.

It is one layer that looks both ways, so what its heads look at can be read off: where each of them
looks for a token that is hidden. ``make train-heads`` trains it on sentences of the documentation
of installed libraries, and keeps its weights as those of ``writer`` are kept.

Shapes: B texts, T tokens, H heads, D = ``embed_dim``, V = ``vocab_size``.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from utils.attention import MultiHeadAttention
from utils.blocks import GELUNetwork
from utils.byte_pairs import BytePairs
from utils.kept import load_kept
from utils.positions import RotaryPositionalEncoding

SIZES = ("vocab_size", "embed_dim", "num_heads", "hidden_dim")


class GapFiller(nn.Module):
    """Hide each token in turn, let one layer look for it, and compare what it brings with all.

    Every place asks with the same query, as a hidden token has no name; rotary positions say where
    it stands. It may look at all places but its own. So one pass fills all T gaps of a text.

    Parameters
    ----------
    vocab_size, embed_dim, num_heads : int, V, D and H
    hidden_dim : int, the width inside the network on what the layer brings

    Source: the task, Devlin and others 2019, "BERT: Pre-training of Deep Bidirectional
    Transformers", section 3.1, which hides some tokens at once.
    """

    def __init__(self, vocab_size: int, embed_dim: int, num_heads: int, hidden_dim: int) -> None:
        super().__init__()
        self.embedding = nn.Embedding(vocab_size, embed_dim)
        nn.init.normal_(self.embedding.weight, std=0.02)  # it is the output layer too
        self.gap = nn.Parameter(torch.randn(embed_dim))  # what a hidden token asks with
        self.mha_norm = nn.LayerNorm(embed_dim)
        positions = RotaryPositionalEncoding(embed_dim // num_heads)
        self.mha = MultiHeadAttention(embed_dim, num_heads, positions=positions)
        self.ff_norm = nn.LayerNorm(embed_dim)
        self.ff = GELUNetwork(embed_dim, hidden_dim)
        self.norm = nn.LayerNorm(embed_dim)

    def forward(self, ids: Tensor) -> Tensor:
        """Give the logits of what stands at each place, (B, T, V), from ids (B, T), int64."""
        y, _ = self._look(ids, need_weights=False)
        y = y + self.ff(self.ff_norm(y))
        return F.linear(self.norm(y), self.embedding.weight)

    def weights(self, ids: Tensor) -> Tensor:
        """Give each head's weights, (B, H, T, T), from ids (B, T), int64: a row for each gap."""
        return cast(Tensor, self._look(ids, need_weights=True)[1])

    def _look(self, ids: Tensor, need_weights: bool) -> tuple[Tensor, Tensor | None]:
        x = self.mha_norm(self.embedding(ids))  # (B, T, D)
        own = torch.eye(ids.shape[1], dtype=torch.bool, device=ids.device)  # True = blocked
        query = self.gap.expand_as(x)
        output, weights = self.mha(query, x, x, None, need_weights, own, False)
        return output, weights


@dataclass(frozen=True)
class KeptGapFiller:
    """A gap filler in evaluation mode, its vocabulary, and its recipe as it was kept."""

    model: GapFiller
    vocabulary: BytePairs
    recipe: dict[str, Any]

    def encode(self, text: str) -> list[int]:
        """Give the ids of a sentence, as in the training: see ``as_read``."""
        return self.vocabulary.encode(as_read(text))


def as_read(text: str) -> str:
    """Give a sentence without capitals, a single blank before each word, the first one too."""
    return "".join(f" {word}" for word in text.lower().split())


def load_gap_filler(folder: Path | str, name: str = "03-heads") -> KeptGapFiller:
    """Load the weights of ``name``.safetensors, once their sum is that in ``name``.json.

    Raises
    ------
    RuntimeError
        see ``load_kept``
    """
    return KeptGapFiller(*load_kept(GapFiller, SIZES, folder, name, "make train-heads"))
