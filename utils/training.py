"""Train a classifier, and ask it for predictions."""

from __future__ import annotations

import time
from collections.abc import Sequence
from math import nan
from typing import Any

import pandas as pd
import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch.optim.lr_scheduler import ConstantLR, LRScheduler, OneCycleLR
from torch.utils.data import DataLoader
from tqdm import tqdm
from transformers import PreTrainedTokenizerFast


def train(
    model: nn.Module,
    train_dl: DataLoader[Any],
    val_dl: DataLoader[Any] | None,
    epochs: int,
    learning_rate: float = 1e-3,
    one_cycle: bool = False,
    name: str = "training",
) -> pd.DataFrame:
    """Minimise the cross-entropy with AdamW, under a progress bar.

    Parameters
    ----------
    model : nn.Module, from ids (B, T) to logits (B, C)
    train_dl : DataLoader of pairs: ids (B, T) and labels (B,)
    val_dl : the same, to watch how training goes; None leaves its two columns empty (NaN)
    learning_rate : float, constant, or the highest one if ``one_cycle``
    one_cycle : bool, whether the learning rate rises over the first 30 % of the steps and then
        falls to zero
    name : str, what the progress bar says

    Returns
    -------
    DataFrame with one row for each epoch: ``epoch`` (from 1), ``train_loss`` (mean over the epoch,
    in nats), ``val_loss``, ``val_accuracy`` (0 to 1) and ``seconds`` (training only)

    Raises
    ------
    ValueError
        if ``epochs`` is less than 1, or a loader is empty
    FloatingPointError
        if the loss is no longer finite

    Sources: AdamW, Loshchilov and Hutter 2019, "Decoupled Weight Decay Regularization"; one cycle,
    Smith and Topin 2018, "Super-Convergence", section 3.
    """
    if epochs < 1 or not len(train_dl) or (val_dl is not None and not len(val_dl)):
        raise ValueError("training needs at least one epoch and documents in both loaders.")
    steps = epochs * len(train_dl)
    optimizer = torch.optim.AdamW(model.parameters(), learning_rate, fused=True)
    schedule: LRScheduler = ConstantLR(optimizer, factor=1.0)
    if one_cycle:
        schedule = OneCycleLR(optimizer, learning_rate, steps)
    history = []
    with tqdm(total=steps, desc=name, mininterval=0.5, ncols=78) as bar:
        for epoch in range(1, epochs + 1):
            start = time.perf_counter()
            train_loss = _train_epoch(model, train_dl, optimizer, schedule, bar)
            seconds = time.perf_counter() - start
            val_loss, val_accuracy = evaluate(model, val_dl) if val_dl else (nan, nan)
            history.append((epoch, train_loss, val_loss, val_accuracy, seconds))
            accuracy = {"val_acc": f"{val_accuracy:.3f}"} if val_dl else {}
            bar.set_postfix({"loss": f"{train_loss:.3f}"} | accuracy)
    columns = ["epoch", "train_loss", "val_loss", "val_accuracy", "seconds"]
    return pd.DataFrame(history, columns=columns)


def _train_epoch(
    model: nn.Module,
    train_dl: DataLoader[Any],
    optimizer: torch.optim.Optimizer,
    schedule: LRScheduler,
    bar: tqdm[Any],
) -> float:
    """Go through the documents once; give the mean loss."""
    model.train()
    total, count = 0.0, 0
    for ids, labels in train_dl:
        loss = F.cross_entropy(model(ids), labels)
        if not loss.isfinite():
            raise FloatingPointError(
                f"the loss is {loss.item()}: lower the learning rate, or look for a row of the "
                "attention with nothing to attend to."
            )
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        schedule.step()
        total += loss.item() * len(labels)
        count += len(labels)
        bar.update()
    return total / count


@torch.no_grad()
def collect_logits(model: nn.Module, dataloader: DataLoader[Any]) -> tuple[Tensor, Tensor]:
    """Give the logits (N, C) and the labels (N,) of all documents, in the loader's order."""
    model.eval()
    pairs = [(model(ids), labels) for ids, labels in dataloader]
    return torch.cat([logits for logits, _ in pairs]), torch.cat([labels for _, labels in pairs])


def evaluate(model: nn.Module, dataloader: DataLoader[Any]) -> tuple[float, float]:
    """Give the mean cross-entropy, in nats, and the accuracy, 0 to 1."""
    logits, labels = collect_logits(model, dataloader)
    accuracy = (logits.argmax(dim=-1) == labels).double().mean().item()
    return F.cross_entropy(logits, labels).item(), accuracy


@torch.no_grad()
def predict(
    texts: Sequence[str],
    model: nn.Module,
    tokenizer: PreTrainedTokenizerFast,
    class_names: Sequence[str],
    max_length: int = 512,
) -> pd.DataFrame:
    """Give the probability of each class for each text.

    Returns
    -------
    DataFrame with one row for each text (its index) and one column for each class; rows sum to one

    Raises
    ------
    TypeError
        if ``texts`` is a single string
    ValueError
        if there are no texts, or one is empty
    """
    if isinstance(texts, str):
        raise TypeError("predict takes a list of texts; put the one text in brackets: [text].")
    if not texts or not all(text.strip() for text in texts):
        raise ValueError("predict needs at least one text, and none of them empty.")
    model.eval()
    encoded = tokenizer(
        list(texts), truncation=True, max_length=max_length, padding=True, return_tensors="pt"
    )
    probabilities = model(encoded["input_ids"]).softmax(dim=-1)  # (B, C)
    return pd.DataFrame(probabilities.numpy(), index=list(texts), columns=list(class_names))
