"""The batches and the loss of a Transformer on pairs, and how many translations are exact.

Shapes: N pairs, S tokens of the source, T of the target, begin and end included.
"""

from __future__ import annotations

from collections.abc import Iterator

import torch
import torch.nn.functional as F
from torch import Tensor

from chapters.ch17_transformer import Transformer
from chapters.ch17_writing import greedy
from utils.text import PADDING


def batches(
    source: Tensor, target: Tensor, batch_size: int, seed: int | None = None
) -> Iterator[tuple[Tensor, Tensor]]:
    """Go through the pairs once, in batches without columns that are all padding.

    Parameters
    ----------
    source, target : Tensors of shape (N, S) and (N, T), int64, padded at their ends
    seed : int or None; shuffles the pairs. None leaves their order, and the last, smaller batch
        is given too; with a seed it is left out, unless it is the only one

    Raises
    ------
    ValueError
        if there are no pairs, or not as many sources as targets, or ``batch_size`` is below 1
    """
    if not 0 < len(source) == len(target) or batch_size < 1:
        raise ValueError(
            f"{len(source)} sources and {len(target)} targets in batches of {batch_size}: there "
            "must be as many of both, and at least one."
        )
    order = torch.arange(len(source))
    if seed is not None:
        order = torch.randperm(len(source), generator=torch.Generator().manual_seed(seed))
        order = order[: max(len(order) // batch_size * batch_size, batch_size)]
    for rows in order.split(batch_size):
        yield _trim(source[rows]), _trim(target[rows])


def _trim(ids: Tensor) -> Tensor:
    """Leave out the columns at the end that are all padding."""
    return ids[:, : int((ids != PADDING).sum(1).max())]


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
