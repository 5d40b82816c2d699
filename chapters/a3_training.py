"""Train the classifier whose heads are taken out, and measure it."""

from __future__ import annotations

from math import nan
from typing import Any

import pandas as pd
import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch.optim.lr_scheduler import OneCycleLR
from torch.utils.data import DataLoader

from utils.training import classification_loss, train_epochs


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
    schedule = OneCycleLR(optimizer, learning_rate, steps) if one_cycle else None

    def validate() -> dict[str, float]:
        loss, accuracy = evaluate(model, val_dl) if val_dl else (nan, nan)
        return {"val_loss": loss, "val_accuracy": accuracy}

    return train_epochs(
        model, lambda _: train_dl, epochs, steps, classification_loss, optimizer, schedule,
        validate, name,
    )  # fmt: skip


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
