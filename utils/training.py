"""The training loop, and a learning rate."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Sequence

import pandas as pd
import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch.nn.utils import clip_grad_norm_
from torch.optim.lr_scheduler import LRScheduler
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


def linear_rate(step: int, steps: int, highest: float, warmup: float = 0.1) -> float:
    """Rise to ``highest`` over a share ``warmup`` of the steps, then fall to nearly zero.

    The steps count from 1; a straight line both ways. Made for a training whose end is known.
    """
    rise = max(1.0, warmup * steps)
    return highest * min(step / rise, (steps + 1 - step) / (steps + 1 - rise))
