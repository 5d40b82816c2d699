"""The training loop, a classifier trained with it, and a learning rate."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from math import nan
from typing import Any

import pandas as pd
import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch.nn.utils import clip_grad_norm_
from torch.optim.lr_scheduler import LRScheduler, OneCycleLR
from torch.utils.data import DataLoader
from tqdm import tqdm

Batch = Sequence[Tensor]
SHOWN = {"train_loss": "loss", "val_accuracy": "val_acc"}  # columns, and what the bar calls them


def gradient_steps(
    model: nn.Module,
    batches: Iterable[Batch],
    loss_of: Callable[..., Tensor],
    optimizer: torch.optim.Optimizer,
    schedule: LRScheduler | None = None,
    max_norm: float | None = None,
) -> Iterator[tuple[Batch, Tensor]]:
    """Take a step on each batch; after it, give the batch and the loss that it had.

    Between two steps nothing is under way: whoever goes through them may save all, or stop.

    Parameters
    ----------
    loss_of : function, called as ``loss_of(model, *batch)``, that gives the loss, ()
    schedule : LRScheduler or None, which sets the learning rate of the next step
    max_norm : float or None; a longer gradient is scaled down to this length

    Raises
    ------
    FloatingPointError
        if the loss, or the length of a gradient to be clipped, is not finite; the step is not taken
    """
    model.train()
    for batch in batches:
        loss = loss_of(model, *batch)
        optimizer.zero_grad()
        loss.backward()
        checked = loss.detach()
        if max_norm is not None:
            checked = checked + clip_grad_norm_(model.parameters(), max_norm)
        if not checked.isfinite():
            raise FloatingPointError(
                f"the loss is {loss.item()}, and it and its gradient must be finite: lower the "
                "learning rate, or look for a row of the attention with nothing to attend to."
            )
        optimizer.step()
        if schedule is not None:
            schedule.step()
        yield batch, loss.detach()


def train_epochs(
    model: nn.Module,
    batches: Callable[[int], Iterable[Batch]],
    epochs: int,
    steps: int,
    loss_of: Callable[..., Tensor],
    optimizer: torch.optim.Optimizer,
    schedule: LRScheduler | None = None,
    validate: Callable[[], dict[str, float]] = dict,
    name: str = "training",
) -> pd.DataFrame:
    """Take the steps of all epochs, under a progress bar.

    Parameters
    ----------
    batches : function that gives the batches of an epoch, which counts from 1
    steps : int, of all epochs, for the progress bar
    loss_of, optimizer, schedule : see ``gradient_steps``
    validate : function that gives more columns, called after each epoch

    Returns
    -------
    DataFrame with one row for each epoch: ``epoch``, ``train_loss`` (the mean over the rows of the
    batches), what ``validate`` gave, and ``seconds`` (training only)
    """
    history = []
    with tqdm(total=steps, desc=name, mininterval=0.5, ncols=78) as bar:
        for epoch in range(1, epochs + 1):
            start, total, count = time.perf_counter(), 0.0, 0
            for batch, loss in gradient_steps(model, batches(epoch), loss_of, optimizer, schedule):
                total += loss.item() * len(batch[0])
                count += len(batch[0])
                bar.update()
            seconds = time.perf_counter() - start
            row = {"epoch": epoch, "train_loss": total / count, **validate(), "seconds": seconds}
            shown = {k: row[k] for k in SHOWN if pd.notna(row.get(k))}
            bar.set_postfix({SHOWN[k]: f"{value:.3f}" for k, value in shown.items()})
            history.append(row)
    return pd.DataFrame(history)


def classification_loss(model: nn.Module, ids: Tensor, labels: Tensor) -> Tensor:
    """Give the mean cross-entropy, in nats, of ids (B, T) and labels (B,)."""
    return F.cross_entropy(model(ids), labels)


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


def linear_rate(step: int, steps: int, highest: float, warmup: float = 0.1) -> float:
    """Rise to ``highest`` over a share ``warmup`` of the steps, then fall to nearly zero.

    The steps count from 1; a straight line both ways. Made for a training whose end is known.
    """
    rise = max(1.0, warmup * steps)
    return highest * min(step / rise, (steps + 1 - step) / (steps + 1 - rise))
