"""Where heads look: at the token before, at an equal token, or behind an earlier copy.

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


def at_offset(weights: Tensor, offset: int) -> Tensor:
    """Give the mean weight of each head on the token ``offset`` places on, (H,).

    Parameters
    ----------
    weights : Tensor of shape (B, H, T, T); queries without such a token do not count
    offset : int, between -T and T: 0 the token itself, negative before it

    Raises
    ------
    ValueError
        if the weights are not square, or there is no token so far away
    """
    T = _square(weights)
    if abs(offset) >= T:
        raise ValueError(f"in {T} tokens none is {offset} places from another.")
    return weights.diagonal(offset, dim1=-2, dim2=-1).mean(dim=(0, 2))


def same_token(weights: Tensor, ids: Tensor) -> Tensor:
    """Give the mean weight of each head on all other places with the query's token, (H,).

    Parameters
    ----------
    weights : Tensor of shape (B, H, T, T); queries whose token stands alone do not count
    ids : Tensor of shape (B, T), the tokens

    Raises
    ------
    ValueError
        if the weights are not square, or no token stands twice in a text
    """
    T = _square(weights)
    same = ids.unsqueeze(1) == ids.unsqueeze(2)  # (B, T, T)
    same &= ~torch.eye(T, dtype=torch.bool, device=ids.device)
    twice = same.any(dim=-1)  # (B, T)
    if not twice.any():
        raise ValueError("no token stands twice in a text.")
    found = (weights * same.unsqueeze(1)).sum(dim=-1)  # (B, H, T)
    return found.movedim(1, -1)[twice].mean(dim=0)  # of (queries, H)


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
