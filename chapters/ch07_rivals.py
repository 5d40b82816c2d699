"""What stands beside the classifier of chapter 7: its articles, words, a mean, and positions."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor, nn
from torch.utils.data import DataLoader

from utils.news import class_names, drop_duplicates, load_news, near_duplicates
from utils.positions import SinusoidalPositionalEncoding

if TYPE_CHECKING:
    from datasets import Dataset
    from transformers import PreTrainedTokenizerFast


def drop_near(documents: Dataset, held_out: Dataset) -> Dataset:
    """Leave out what nearly repeats a text that we will be tested on."""
    pairs = near_duplicates(documents["text"][:], held_out["text"][:])
    seen = {i for i, _ in pairs}
    return documents.select([i for i in range(len(documents)) if i not in seen])


def load_docs() -> tuple[dict[str, Dataset], list[str]]:
    """Load the news in four parts, and the names of the classes.

    They are ``test``, ``train``, and the two into which this falls, ``fit`` and ``val``. What
    nearly repeats a text that we are tested on is left out.
    """
    news = drop_duplicates(load_news())
    train = drop_near(news["train"], news["test"])
    parts = train.train_test_split(test_size=0.25, seed=0)
    fit, val = drop_near(parts["train"], parts["test"]), parts["test"]
    return {"fit": fit, "val": val, "train": train, "test": news["test"]}, class_names(news)


def pieces(
    documents: Dataset,
    tokenizer: PreTrainedTokenizerFast,
    glued: bool = False,
    max_length: int = 512,
) -> list[str]:
    """Give what the classifier reads of each text, its tokens, or the words that these make."""
    return _read(documents["text"][:], tokenizer, glued, truncation=True, max_length=max_length)


def _read(
    texts: list[str], tokenizer: PreTrainedTokenizerFast, glued: bool, **cut: Any
) -> list[str]:
    coded = tokenizer(texts, **cut)["input_ids"]
    read = [" ".join(tokenizer.convert_ids_to_tokens(row)) for row in coded]
    return [text.replace(" ##", "") for text in read] if glued else read


class Words:
    """A tokenizer whose tokens are the whole words that the pieces of another make.

    Padding is 0, and 1 stands for a word that is not at least twice in ``documents``.
    """

    pad_token_id = 0

    def __init__(self, documents: Dataset, tokenizer: PreTrainedTokenizerFast) -> None:
        self.tokenizer = tokenizer
        texts = pieces(documents, tokenizer, glued=True)
        seen = Counter(word for text in texts for word in text.split())
        often = (word for word, times in seen.items() if times > 1)
        self.ids = {word: i for i, word in enumerate(often, start=2)}

    def __len__(self) -> int:
        return 2 + len(self.ids)

    def __call__(self, texts: list[str], **cut: Any) -> dict[str, list[list[int]]]:
        """Encode texts; ``cut`` says how many of the pieces are read."""
        rows = _read(texts, self.tokenizer, glued=True, **cut)
        return {"input_ids": [[self.ids.get(word, 1) for word in row.split()] for row in rows]}


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
