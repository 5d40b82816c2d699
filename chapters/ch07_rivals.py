"""What stands beside the classifier of chapter 7: counted words, a mean, and positions."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from numpy.typing import NDArray
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.linear_model import LogisticRegression
from torch import Tensor, nn
from torch.utils.data import DataLoader

from utils.news import near_duplicates
from utils.positions import SinusoidalPositionalEncoding

if TYPE_CHECKING:
    from datasets import Dataset
    from transformers import PreTrainedTokenizerFast


def drop_near(documents: Dataset, held_out: Dataset) -> Dataset:
    """Leave out what nearly repeats a text that we will be tested on."""
    pairs = near_duplicates(documents["text"][:], held_out["text"][:])
    seen = {i for i, _ in pairs}
    return documents.select([i for i in range(len(documents)) if i not in seen])


def pieces(
    documents: Dataset,
    tokenizer: PreTrainedTokenizerFast,
    glued: bool = False,
    max_length: int = 512,
) -> list[str]:
    """Give what the classifier reads of each text, its tokens, or the words that these make."""
    coded = tokenizer(documents["text"][:], truncation=True, max_length=max_length)["input_ids"]
    texts = [" ".join(tokenizer.convert_ids_to_tokens(row)) for row in coded]
    return [text.replace(" ##", "") for text in texts] if glued else texts


def counter(
    read: Callable[[Dataset], list[str]], own: Dataset, asked: Dataset, C: float
) -> NDArray[np.float64]:
    """Learn to classify ``own`` by TF-IDF of what ``read`` gives; say where it is right, (N,)."""
    count = TfidfVectorizer(sublinear_tf=True, token_pattern=r"\S+")
    linear = LogisticRegression(C=C, max_iter=1000)
    linear.fit(count.fit_transform(read(own)), own["label"])
    guess = linear.predict(count.transform(read(asked)))
    return (guess == np.array(asked["label"])).astype(np.float64)


class Mean(nn.Module):
    """The mean of the values that are not blocked, whatever is asked; called as attention is."""

    def forward(
        self, query: Tensor, key: Tensor, value: Tensor, key_padding_mask: Tensor
    ) -> tuple[Tensor, None]:
        """Give the mean, (B, 1, D), and no weights."""
        kept = (~key_padding_mask).to(value.dtype).unsqueeze(1)  # (B, 1, S)
        return kept @ value / kept.sum(dim=-1, keepdim=True), None


class Numbered:
    """Batches whose ids say where a token stands: it keeps its place where others are hidden.

    An id becomes the token's, plus ``vocab_size`` times its position; padding stays 0.
    """

    def __init__(self, batches: DataLoader[Any], vocab_size: int) -> None:
        self.batches, self.vocab_size = batches, vocab_size

    def __len__(self) -> int:
        return len(self.batches)

    def __iter__(self) -> Iterator[tuple[Tensor, Tensor]]:
        for ids, labels in self.batches:
            places = self.vocab_size * torch.arange(ids.shape[1])
            yield ids + places * (ids != 0), labels


class NumberedEmbedding(nn.Embedding):
    """An embedding of such ids: ``size`` times the sinusoidal encoding is added to a token."""

    def __init__(self, vocab_size: int, embed_dim: int, size: float, max_length: int = 512) -> None:
        super().__init__(vocab_size, embed_dim)
        self.table = size * SinusoidalPositionalEncoding(embed_dim).table(max_length)

    def forward(self, ids: Tensor) -> Tensor:
        """Embed ids (B, T) into (B, T, D)."""
        V = self.num_embeddings
        return super().forward(ids % V) + self.table[ids // V]


def number(model: Any, size: float, *batches: DataLoader[Any]) -> list[Numbered]:
    """Give a model an embedding with positions, and number the tokens of batches for it."""
    V, embed_dim = model.embedding.weight.shape
    model.embedding = NumberedEmbedding(V, embed_dim, size)
    return [Numbered(each, V) for each in batches]
