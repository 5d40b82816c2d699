"""The loss of a Transformer on pairs, a learning rate, and how many translations are exact.

Shapes: N pairs, S tokens of the source, T of the target, begin and end included.
"""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor

from utils.data import PADDING, batches
from utils.models import Transformer, greedy


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
