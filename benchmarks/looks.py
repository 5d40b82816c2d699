"""Where heads look: so many tokens away, or at the like of their token.

Shapes: B texts, H heads, T tokens.
"""

from __future__ import annotations

import torch
from torch import Tensor

from chapters.ch18_heads import text_length


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
    T = text_length(weights)
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
    T = text_length(weights)
    same = ids.unsqueeze(1) == ids.unsqueeze(2)  # (B, T, T)
    same &= ~torch.eye(T, dtype=torch.bool, device=ids.device)
    twice = same.any(dim=-1)  # (B, T)
    if not twice.any():
        raise ValueError("no token stands twice in a text.")
    found = (weights * same.unsqueeze(1)).sum(dim=-1)  # (B, H, T)
    return found.movedim(1, -1)[twice].mean(dim=0)  # of (queries, H)
