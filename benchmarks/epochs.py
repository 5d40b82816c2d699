"""Whole trainings of the classifier: the batches of chapter 7, on which all ways take turns.

Once more in double precision, where rounding does not hide that they are the same: in single
precision the last bits of a sum depend on its order, and training carries them on from step to
step, until after some epochs losses differ in their fourth digit, also those of PyTorch's layer
with and without its own fused kernel.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import partial
from typing import Any

import pandas as pd
import torch
from torch import Tensor, nn
from tqdm import tqdm

from benchmarks.timing import seconds
from benchmarks.variants import VARIANTS, build, build_optimizer, train_epoch
from utils.news import class_names, drop_duplicates, load_news
from utils.text import make_dataloader, train_tokenizer

Batch = tuple[Tensor, Tensor]  # ids (B, T) and labels (B,)
BASELINE = "torch"
COLUMNS = ("epoch", "seconds", "step_seconds", "train_loss", "val_accuracy", "logits_difference")
# PyTorch's layer is asked for the one row that counts: the same function, in a bearable time.
DOUBLE = ("row", "ours", "bag")


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
    """Load, split and tokenise the news as chapter 7 does, and make the batches of all epochs.

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


def train_in_turns(
    documents: Documents, epochs: dict[str, int], device: torch.device
) -> tuple[pd.DataFrame, dict[str, list[float]]]:
    """Train each variant for its number of epochs; in each epoch all have a turn.

    Returns
    -------
    epochs : DataFrame with a row for each variant and epoch: ``seconds`` (making the batches, the
        steps, the validation), ``step_seconds`` (the steps alone), mean ``train_loss``, and
        ``val_accuracy`` and ``logits_difference`` (the largest from the baseline's) on the
        documents for validation. Epoch 0 is before training
    losses : dict with the loss of each step, for each variant
    """
    sizes = (documents.vocab_size, documents.num_classes, device)
    models = {name: build(name, *sizes) for name in epochs}
    optimizers = {name: build_optimizer(model) for name, model in models.items()}
    losses: dict[str, list[float]] = {name: [] for name in epochs}
    labels = torch.cat([batch_labels for _, batch_labels in documents.validation])
    making = documents.seconds / len(documents.epochs)
    rows = []
    with tqdm(total=sum(epochs.values()), desc="training", ncols=78) as bar:
        for epoch in range(max(epochs.values()) + 1):
            turn = [name for name in epochs if epoch <= epochs[name]]
            first = epoch % len(turn)
            logits: dict[str, Tensor] = {}
            found: dict[str, tuple[float, ...]] = {}
            for name in turn[first:] + turn[:first]:
                steps: list[Tensor] = []
                step_seconds = loss = float("nan")
                if epoch:
                    batches = documents.epochs[epoch - 1]
                    train = partial(train_epoch, models[name], optimizers[name], batches, steps)
                    step_seconds = seconds(train, device)
                    losses[name] += torch.stack(steps).tolist()
                    loss = sum(losses[name][-len(steps) :]) / len(steps)
                    bar.update()
                validate = partial(_validate, name, models[name], documents.validation, logits)
                taken = making + step_seconds + seconds(validate, device)
                found[name] = (taken, step_seconds, loss)
            for name in turn:
                right = (logits[name].argmax(-1) == labels).double().mean().item()
                gap = (logits[name] - logits[BASELINE]).abs().max().item()
                rows.append((name, epoch, *found[name], right, gap))
    return pd.DataFrame(rows, columns=["variant", *COLUMNS]), losses


@torch.no_grad()
def _validate(name: str, model: nn.Module, batches: list[Batch], logits: dict[str, Tensor]) -> None:
    model.eval()
    logits[name] = torch.cat([model(ids) for ids, _ in batches])


def double_losses(documents: Documents, device: torch.device) -> pd.DataFrame:
    """Train in float64, for as many epochs as there are batches.

    Returns
    -------
    DataFrame with a row for each epoch and a column for each variant: the mean loss of the steps
    """
    columns = {}
    with tqdm(total=len(DOUBLE) * len(documents.epochs), desc="float64", ncols=78) as bar:
        for name in DOUBLE:
            sizes = (documents.vocab_size, documents.num_classes, device)
            model = build(name, *sizes).double()
            optimizer = build_optimizer(model)
            losses = []
            for batches in documents.epochs:
                steps: list[Tensor] = []
                train_epoch(model, optimizer, batches, steps)
                losses.append(torch.stack(steps).mean())
                bar.update()
            columns[VARIANTS[name].name] = torch.stack(losses).tolist()
    return pd.DataFrame(columns)
