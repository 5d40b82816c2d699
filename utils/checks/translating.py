"""Checks of the exercises on translation: cross-attention, and the smoothed loss.

Shapes: B pairs, T tokens of the target, S of the source, D = the width, V = the vocabulary.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from numbers import Real
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor

from utils.checks.comparing import FaultError, call, check, compare


@check
def cross_attention(function: Callable[..., Any]) -> None:
    """Check ``function(y, memory, w_q, w_k, w_v, padding)``: one head that reads another text.

    ``y`` is (B, T, D), ``memory`` (B, S, D), the weights are (D, D_head), and ``padding`` is
    (B, S), True = padding. The result is (B, T, D_head).
    """
    generator = torch.Generator().manual_seed(14)
    for B, T, S, D, D_head in [(2, 3, 5, 6, 4), (3, 4, 4, 4, 2)]:
        y = torch.randn(B, T, D, generator=generator)
        memory = torch.randn(B, S, D, generator=generator)
        weights = torch.randn(3, D, D_head, generator=generator)
        padding = torch.arange(S) >= S - 1 - torch.arange(B).unsqueeze(1)  # (B, S)
        q, k, v = (x @ w for x, w in zip((y, memory, memory), weights, strict=True))
        y_k, y_v = y @ weights[1], y @ weights[2]
        root, blocked = math.sqrt(D_head), padding.unsqueeze(1)
        plain = q @ k.mT / root  # (B, T, S)
        scores = plain.masked_fill(blocked, -math.inf)
        mistakes = {
            "the padding is read; block it.": _mix(plain, v),
            "the mask is the wrong way round: True means padding.": _mix(
                plain.masked_fill(~blocked, -math.inf), v
            ),
            "the scale is missing: divide by sqrt(D_head).": _mix(scores * root, v),
            "the scale is the root of D_head, not of D.": _mix(scores * root / math.sqrt(D), v),
            "the softmax runs over the queries; it runs over the source.": _mix(scores, v, -2),
            "mask before the softmax: after it, the rows no longer sum to one.": (
                plain.softmax(-1).masked_fill(blocked, 0.0) @ v
            ),
            "there is no softmax: the weights of a query sum to one.": (
                plain.masked_fill(blocked, 0.0) @ v
            ),
            "the keys are mixed; mix the values.": _mix(scores, k),
            "the source asks; queries come from the target, keys and values from the source.": (
                _mix(memory @ weights[0] @ y_k.mT / root, y_v)
            ),
            "the target attends to itself; keys and values come from the source.": (
                _mix(q @ y_k.mT / root, y_v)
            ),
        }
        got = call(function, y.clone(), memory.clone(), *weights.clone(), padding.clone())
        compare(got, _mix(scores, v), "the output", mistakes)


def _mix(scores: Tensor, values: Tensor, dim: int = -1) -> Tensor:
    return scores.softmax(dim) @ values


@check
def smoothed_loss(function: Callable[..., Any]) -> None:
    """Check ``function(logits, labels, smoothing)``: the mean cross-entropy, smoothed.

    ``logits`` is (B, T, V), ``labels`` (B, T) int64, where 0 is padding and does not count. The
    result is a number, or a tensor of one.
    """
    generator = torch.Generator().manual_seed(14)
    for smoothing in (0.1, 0.3, 0.0):
        logits = 2 * torch.randn(3, 6, 7, generator=generator)
        labels = torch.randint(1, 7, (3, 6), generator=generator)
        labels[1, 4:], labels[2, 1:] = 0, 0
        got = call(function, logits.clone(), labels.clone(), smoothing)
        flat, wanted = logits.flatten(0, 1), labels.flatten()
        log_p, count = flat.log_softmax(-1), wanted != 0
        loss = F.cross_entropy(flat, wanted, ignore_index=0, label_smoothing=smoothing)
        of_label = log_p.gather(1, wanted.unsqueeze(1)).squeeze(1)
        others = (log_p.sum(1) - of_label) / 6
        mistakes = {
            "padding counts too; leave out the places whose label is 0.": F.cross_entropy(
                flat, wanted, label_smoothing=smoothing
            ),
            "the labels are not smoothed.": -of_label[count].mean(),
            "the share is spread over all tokens, the right one included.": (
                -((1 - smoothing) * of_label + smoothing * others)[count].mean()
            ),
            "this is the sum over the places; give the mean.": loss * count.sum(),
            "padding is left out of the sum, but counted in the number of places.": (
                loss * count.sum() / count.numel()
            ),
            "the shares are exchanged: 1 - smoothing goes to the label.": (
                -(smoothing * of_label + (1 - smoothing) * log_p.mean(1))[count].mean()
            ),
            "the sign is wrong: a loss is minus a log-probability.": -loss,
            "the share goes to each token; divide it by their number.": (
                -((1 - smoothing) * of_label + smoothing * log_p.sum(1))[count].mean()
            ),
        }
        what = f"with smoothing {smoothing}, the loss"
        if isinstance(got, Real):
            got = torch.tensor(float(got))
        if isinstance(got, Tensor) and got.numel() == 1:
            if all(abs(got - x) > 1e-4 for x in (loss, *mistakes.values())):
                raise FaultError(f"{what} is {got.item():.3f} instead of {loss.item():.3f}.")
            got = got.view(())
        compare(got, loss, what, mistakes)
