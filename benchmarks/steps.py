"""The steps of a training, which goes on or stops between any two of them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence

import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch.nn.utils import clip_grad_norm_
from torch.optim.lr_scheduler import LRScheduler

Batch = Sequence[Tensor]


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


def classification_loss(model: nn.Module, ids: Tensor, labels: Tensor) -> Tensor:
    """Give the mean cross-entropy, in nats, of ids (B, T) and labels (B,)."""
    return F.cross_entropy(model(ids), labels)
