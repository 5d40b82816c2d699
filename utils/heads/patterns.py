"""Where the heads of a model that writes look: at the token before, or behind an earlier copy.

Shapes: B texts, H heads, T tokens, which are queries and keys.
"""

from __future__ import annotations

import torch
from torch import Tensor


def previous_token(weights: Tensor) -> Tensor:
    """Give the mean weight of each head on the token before, (H,).

    Parameters
    ----------
    weights : Tensor of shape (B, H, T, T); the first query, which has none before it, does not
        count

    Raises
    ------
    ValueError
        if the weights are not square, or of fewer than two tokens

    Source: Elhage and others 2021, "A Mathematical Framework for Transformer Circuits".
    """
    _square(weights)
    return weights.diagonal(-1, dim1=-2, dim2=-1).mean(dim=(0, 2))  # of (B, H, T - 1)


def prefix_matching(weights: Tensor) -> Tensor:
    """Give the mean weight of each head on what followed the first copy of the token, (H,).

    The second half of each text repeats the first. So query t of the second half finds its first
    copy T / 2 tokens before it, and the token that followed it at T / 2 - 1.

    Parameters
    ----------
    weights : Tensor of shape (B, H, T, T)

    Raises
    ------
    ValueError
        if the weights are not square, or T is odd or below 4

    Source: Olsson and others 2022, "In-context Learning and Induction Heads".
    """
    T = _square(weights)
    if T % 2 or T < 4:
        raise ValueError(f"a half of at least 2 tokens and its copy are needed; got {T} tokens.")
    late = torch.arange(T // 2, T, device=weights.device)
    return weights[:, :, late, late + 1 - T // 2].mean(dim=(0, 2))  # of (B, H, T / 2)


def _square(weights: Tensor) -> int:
    if weights.dim() != 4 or weights.shape[2] != weights.shape[3] or weights.shape[3] < 2:
        raise ValueError(
            f"weights have shape {tuple(weights.shape)}; expected (B, H, T, T) of two tokens or "
            "more."
        )
    return weights.shape[3]
