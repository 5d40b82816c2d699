"""Train a Transformer on pairs, and count how many translations are exact.

Shapes: N pairs, S tokens of the source, T of the target, begin and end included.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial

import pandas as pd
import torch
import torch.nn.functional as F
from torch import Tensor
from torch.optim.lr_scheduler import LambdaLR

from utils.data import PADDING, batches
from utils.models import Transformer, greedy
from utils.training.loop import train_epochs


def paper_rate(step: int, embed_dim: int, warmup: int = 4000) -> float:
    """Give the paper's learning rate: it rises for ``warmup`` steps, then falls as 1 / sqrt(step).

    D^-0.5 * min(step^-0.5, step * warmup^-1.5), for steps from 1.

    Source: Vaswani and others 2017, "Attention Is All You Need", section 5.3, equation 3.
    """
    return embed_dim**-0.5 * min(step**-0.5, step * warmup**-1.5)


def linear_rate(step: int, steps: int, highest: float, warmup: float = 0.1) -> float:
    """Rise to ``highest`` over a share ``warmup`` of the steps, then fall to nearly zero.

    The steps count from 1; a straight line both ways. Made for a training whose end is known.
    """
    rise = max(1.0, warmup * steps)
    return highest * min(step / rise, (steps + 1 - step) / (steps + 1 - rise))


def translation_loss(
    model: Transformer, source: Tensor, target: Tensor, label_smoothing: float = 0.0
) -> Tensor:
    """Give the mean cross-entropy of each token of the target after those before it, in nats.

    Parameters
    ----------
    source, target : Tensors of shape (B, S) and (B, T), int64, padded at their ends; the target
        with its begin and its end
    label_smoothing : float, the share of the probability that is spread over all tokens

    Source: label smoothing, Vaswani and others 2017, section 5.4, with 0.1.
    """
    logits = model(source, target[:, :-1])  # (B, T - 1, V): after the begin, …, the last token
    return F.cross_entropy(
        logits.flatten(0, 1),
        target[:, 1:].flatten(),
        ignore_index=model.padding_idx,
        label_smoothing=label_smoothing,
    )


def train_translation(
    model: Transformer,
    source: Tensor,
    target: Tensor,
    epochs: int,
    batch_size: int = 128,
    rate: Callable[[int], float] | None = None,
    label_smoothing: float = 0.1,
    seed: int = 0,
    name: str = "training",
) -> pd.DataFrame:
    """Minimise ``translation_loss`` with Adam, under a progress bar.

    Parameters
    ----------
    source, target : Tensors of shape (N, S) and (N, T), see ``translation_loss``
    rate : the learning rate of each step, from 1; None means ``paper_rate`` with a warm-up of a
        tenth of the steps
    seed : int, of the order of the pairs

    Returns
    -------
    DataFrame with one row for each epoch: ``epoch`` (from 1), ``train_loss`` (mean over the epoch,
    in nats, with the label smoothing) and ``seconds``

    Raises
    ------
    ValueError
        if ``epochs`` is less than 1, or the pairs do not fit
    FloatingPointError
        if the loss is no longer finite

    Source: Adam's constants, Vaswani and others 2017, section 5.3.
    """
    if epochs < 1:
        raise ValueError(f"training needs at least one epoch; got {epochs}.")
    steps = epochs * max(len(source) // batch_size, 1)

    def default(step: int) -> float:
        return paper_rate(step, model.embed_dim, max(steps // 10, 1))

    optimizer = torch.optim.Adam(model.parameters(), 1.0, (0.9, 0.98), 1e-9, fused=True)
    schedule = LambdaLR(optimizer, lambda step: (rate or default)(step + 1))

    def epoch_of(epoch: int) -> Iterator[tuple[Tensor, Tensor]]:
        return batches(source, target, batch_size, seed=seed * epochs + epoch)

    loss_of = partial(translation_loss, label_smoothing=label_smoothing)
    return train_epochs(model, epoch_of, epochs, steps, loss_of, optimizer, schedule, name=name)


def exact_matches(
    model: Transformer,
    source: Tensor,
    target: Tensor,
    batch_size: int = 500,
    *,
    cached: bool = True,
) -> Tensor:
    """Say of each pair whether the greedy translation is the target, token for token.

    Parameters
    ----------
    cached : bool, see ``greedy``

    Returns
    -------
    Tensor of shape (N,), bool
    """
    found = []
    for ids, expected in batches(source, target, batch_size):
        length = expected.shape[1] - 1  # without the begin
        written = greedy(model, ids, length, cached=cached)
        padded = F.pad(written, (0, length - written.shape[1]), value=PADDING)
        found.append((padded == expected[:, 1:]).all(1))
    return torch.cat(found)
