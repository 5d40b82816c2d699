"""The batches of chapter 8, made once as tensors: what every variant is trained on."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from utils.data import class_names, drop_duplicates, load_news
from utils.timing import seconds
from utils.tokens import make_dataloader, train_tokenizer

Batch = tuple[Tensor, Tensor]  # ids (B, T) and labels (B,)


@dataclass(frozen=True)
class Documents:
    """The batches of every epoch, on the device, and those for validation."""

    epochs: list[list[Batch]]
    validation: list[Batch]
    vocab_size: int
    num_classes: int
    seconds: float  # that making the batches of all epochs took

    @property
    def largest(self) -> Batch:
        """The largest batch of the first epoch: with it a single step is measured."""
        return max(self.epochs[0], key=lambda batch: batch[0].numel())

    @property
    def count(self) -> int:
        """Documents in an epoch."""
        return sum(len(labels) for _, labels in self.epochs[0])


def load_documents(
    epochs: int, device: torch.device, limit: int | None = None, max_length: int = 512
) -> Documents:
    """Load, split and tokenise the news as chapter 8 does, and make the batches of all epochs.

    Parameters
    ----------
    limit : int or None, documents to keep of the part for training, and of that for validation
    """
    news = drop_duplicates(load_news())
    tokenizer = train_tokenizer(news["train"]["text"][:], vocab_size=1000)
    parts = news["train"].train_test_split(test_size=0.25, seed=0)
    train, validation = (
        part if limit is None else part.select(range(min(limit, len(part))))
        for part in (parts["train"], parts["test"])
    )
    loader = make_dataloader(train, tokenizer, max_length=max_length, seed=0)
    val_loader = make_dataloader(validation, tokenizer, 64, max_length=max_length)
    made: list[list[Batch]] = []
    taken = seconds(lambda: made.extend(_move(loader, device) for _ in range(epochs)), device)
    sizes = (len(tokenizer), len(class_names(news)))
    return Documents(made, _move(val_loader, device), *sizes, taken)


def _move(batches: Iterable[Any], device: torch.device) -> list[Batch]:
    return [(ids.to(device), labels.to(device)) for ids, labels in batches]
