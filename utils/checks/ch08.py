"""Checks of chapter 8: how large the classifier is, and a layer that only averages."""

from typing import Any

import torch
from torch import Tensor, nn

from utils.attention import MultiHeadAttention
from utils.checks.comparing import (
    Code,
    FaultError,
    call,
    check,
    compare,
    compare_numbers,
    require_parts,
)
from utils.checks.mistakes import wrong_means
from utils.models import TextClassifier

__all__ = ["classifier_size", "mean_layer"]


@check
def classifier_size(function: Code) -> None:
    """Check the number of parameters of ``TextClassifier``.

    ``function(vocab_size, embed_dim, num_heads, hidden_dim, num_classes)`` takes and returns ints.
    """
    cases = []
    for sizes in [(1000, 64, 8, 128, 5), (50, 12, 3, 7, 2), (50, 12, 1, 7, 2)]:
        V, D, H, hidden_dim, C = sizes
        model = TextClassifier(V, D, C, MultiHeadAttention(D, H), hidden_dim)
        right = sum(parameter.numel() for parameter in model.parameters())
        mistakes = {
            "the bias of each of the attention's four projections is missing.": right - 4 * D,
            "the attention's last projection is missing.": right - D * D - D,
            "the embedding is missing.": right - V * D,
            "the two biases of the classifier are missing.": right - hidden_dim - C,
            "all biases are missing.": right - 4 * D - hidden_dim - C,
            "the attention does not grow with H.": right + (H - 1) * 4 * (D * D + D),
        }
        where = f"with {V} tokens, D = {D} and H = {H}"
        cases.append((call(function, *sizes), right, where, mistakes))
    compare_numbers(cases, "{what}: {got} instead of {right}.")


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
    expected = torch.tensor([[[2.0, 3.0]], [[13 / 3, 5.0]], [[0.0, 0.0]]])
    counts = ~blocked.unsqueeze(-1)  # (B, S, 1)
    mistakes = wrong_means(value, counts, "blocked", dim=1, keepdim=True) | {
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
    require_parts(result, 2, "two things: a layer's output and the weights, here None")
    return result[0]
