"""Checks of chapter 8: how large the classifier is, and a layer that only averages."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor, nn

from utils.attention import MultiHeadAttention
from utils.checks.comparing import FaultError, call, check, compare
from utils.classifier import TextClassifier


@check
def classifier_size(function: Callable[..., Any]) -> None:
    """Check the number of parameters of ``TextClassifier``.

    ``function(vocab_size, embed_dim, num_heads, hidden_dim, num_classes)`` takes and returns ints.
    """
    for sizes in [(1000, 64, 8, 128, 5), (50, 12, 3, 7, 2), (50, 12, 1, 7, 2)]:
        V, D, H, hidden_dim, C = sizes
        model = TextClassifier(V, D, C, MultiHeadAttention(D, H), hidden_dim)
        expected = sum(parameter.numel() for parameter in model.parameters())
        got = call(function, *sizes)
        known = {
            "the bias of each of the attention's four projections is missing": 4 * D,
            "the attention's last projection is missing": D * D + D,
            "the embedding is missing": V * D,
            "the two biases of the classifier are missing": hidden_dim + C,
        }
        for mistake, missing in known.items():
            if got == expected - missing:
                raise FaultError(f"{mistake}: {got} instead of {expected}.")
        if got != expected:
            raise FaultError(f"with {V} tokens, D = {D} and H = {H}: {got} instead of {expected}.")


@check
def mean_layer(layer: nn.Module) -> None:
    """Check a layer that gives the mean of the values that are not blocked.

    ``layer(query, key, value, key_padding_mask=None, need_weights=True)`` takes query (B, T, D),
    key and value (B, S, D) and the mask (B, S), bool, True = blocked. It returns the mean of the
    values, (B, 1, D), and None. Where every key is blocked the mean is zero.
    """
    value = torch.tensor([[1.0, 2.0], [3.0, 4.0], [9.0, 9.0]]).repeat(3, 1, 1)  # (B, S, D)
    blocked = torch.tensor([[0, 0, 1], [0, 0, 0], [1, 1, 1]]).bool()  # (B, S)
    query = torch.tensor([[[5.0, 5.0]]]).expand(3, 1, 2)  # (B, T, D)
    kept = (~blocked).unsqueeze(-1) * value
    expected = torch.tensor([[[2.0, 3.0]], [[13 / 3, 5.0]], [[0.0, 0.0]]])
    mistakes = {
        "the blocked values take part.": value.mean(dim=1, keepdim=True),
        "blocked values are zero, but still counted: divide by how many are left.": kept.mean(
            dim=1, keepdim=True
        ),
        "this is the sum; divide it by how many values are left.": kept.sum(dim=1, keepdim=True),
        "the mask is the wrong way round: True means blocked.": _mean(value, blocked),
        "this is the query.": query,
        "this is the first value, not the mean.": value[:, :1],
    }
    got = _first(call(layer, query, value, value, key_padding_mask=blocked))
    if isinstance(got, Tensor) and got.isnan().any() and not got[:2].isnan().any():
        raise FaultError("where every key is blocked, the mean is 0/0; it should be zero.")
    compare(got, expected, "the output", mistakes)
    got = _first(call(layer, query, value, value, need_weights=False))
    compare(got, value.mean(dim=1, keepdim=True), "the output without a mask")


def _first(result: Any) -> Any:
    if not isinstance(result, tuple) or len(result) != 2:
        raise FaultError("a layer returns two things: its output and the weights, here None.")
    return result[0]


def _mean(value: Tensor, keep: Tensor) -> Tensor:
    total = (keep.unsqueeze(-1) * value).sum(dim=1, keepdim=True)  # (B, 1, D)
    return total / keep.sum(dim=1).clamp(min=1).view(-1, 1, 1)
