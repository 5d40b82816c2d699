"""How a layer learns where its tokens stand: two positional encodings.

Attention treats a sequence as a bag. ``SinusoidalPositionalEncoding`` is added to the token vectors
before any layer. ``RotaryPositionalEncoding`` changes the scores inside a layer, and is given to
it: ``MultiHeadAttention(..., positions=RotaryPositionalEncoding(head_dim))``.

Positions count from 0, for queries and for keys: query t and key t stand at the same place.

Shapes: B sequences, T queries, S keys, H heads, D = ``embed_dim``.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn

BASE = 10_000.0  # the wavelengths go from 2 pi to nearly BASE * 2 pi positions


class SinusoidalPositionalEncoding(nn.Module):
    """Add sines and cosines of the position, of a wavelength for each pair of dimensions.

    The table is computed for the length that is asked for, so no sequence is too long, and there
    is nothing to learn or to store.

    Parameters
    ----------
    embed_dim : int, D, even or odd
    scale : float, what the table is multiplied by before it is added; the paper has 1

    Raises
    ------
    ValueError
        if ``embed_dim`` is less than 1

    Source: Vaswani and others 2017, "Attention Is All You Need", section 3.5.
    """

    def __init__(self, embed_dim: int, *, scale: float = 1.0) -> None:
        super().__init__()
        if embed_dim < 1:
            raise ValueError(f"embed_dim must be at least 1; got {embed_dim}.")
        self.embed_dim, self.scale = embed_dim, scale

    def forward(self, x: Tensor) -> Tensor:
        """Add the table to x, (B, T, D) or (T, D)."""
        _check_width(x, self.embed_dim)
        return x + self.scale * self.table(x.shape[-2], x.dtype, x.device)

    def table(
        self, length: int, dtype: torch.dtype = torch.float32, device: torch.device | None = None
    ) -> Tensor:
        """The encoding of the first ``length`` positions, (length, D), before it is scaled."""
        angles = position_angles(length, self.embed_dim, _precise(dtype), device)
        pairs = torch.stack([angles.sin(), angles.cos()], dim=-1)  # (length, pairs, 2)
        return pairs.flatten(1)[:, : self.embed_dim].to(dtype)  # an odd D ends with a sine


class RotaryPositionalEncoding(nn.Module):
    """Rotate queries and keys by angles proportional to the position.

    A rotated query times a rotated key depends on the distance between the two, not on where they
    stand. Dimensions i and i + D_head / 2 are a pair, as in Hugging Face's Llama. (The paper pairs
    2i with 2i + 1. The order of the dimensions is the only difference, and a learnt projection may
    put them in any order.)

    Parameters
    ----------
    head_dim : int, D_head, even
    base : float, from which the pairs' frequencies are computed

    Raises
    ------
    ValueError
        if ``head_dim`` is not a positive even number

    Source: Su and others 2021, "RoFormer: Enhanced Transformer with Rotary Position Embedding",
    section 3.2.
    """

    def __init__(self, head_dim: int, base: float = BASE) -> None:
        super().__init__()
        if head_dim < 2 or head_dim % 2:
            raise ValueError(f"head_dim must be even, since pairs are rotated; got {head_dim}.")
        self.head_dim, self.base = head_dim, base

    def forward(
        self, q: Tensor, k: Tensor, mask: Tensor | None, start: int = 0
    ) -> tuple[Tensor, Tensor, Tensor | None]:
        """Rotate q, (B, H, T, D_head), and k, (B, H, S, D_head); the mask stays as it is.

        The first query and the first key stand at the place ``start``.
        """
        return self.rotate(q, start), self.rotate(k, start), mask

    def rotate(self, x: Tensor, start: int = 0) -> Tensor:
        """Rotate the pairs of x, (..., T, D_head), row t by start + t times their frequencies."""
        _check_width(x, self.head_dim)
        precise, end = _precise(x.dtype), start + x.shape[-2]
        angles = position_angles(end, self.head_dim, precise, x.device, self.base)[start:]
        cos, sin = angles.cos().to(x.dtype), angles.sin().to(x.dtype)  # (T, D_head / 2)
        first, second = x.chunk(2, dim=-1)  # twice (..., T, D_head / 2)
        return torch.cat([first * cos - second * sin, second * cos + first * sin], dim=-1)


def position_angles(
    length: int,
    width: int,
    dtype: torch.dtype = torch.float32,
    device: torch.device | None = None,
    base: float = BASE,
) -> Tensor:
    """Give position times frequency, (length, pairs): the frequency of pair i is base^(-2i/width).

    Source: Vaswani and others 2017, section 3.5; Su and others 2021, section 3.2.2.
    """
    exponents = torch.arange(0, width, 2, dtype=dtype, device=device) / width  # (pairs,)
    return torch.arange(length, dtype=dtype, device=device).unsqueeze(-1) * base**-exponents


def _precise(dtype: torch.dtype) -> torch.dtype:
    """At least float32: in half precision the position 2049 would not be a number of its own."""
    return torch.promote_types(dtype, torch.float32)


def _check_width(x: Tensor, width: int) -> None:
    if x.dim() < 2 or x.shape[-1] != width:
        raise ValueError(f"x has shape {tuple(x.shape)}; expected (..., length, {width}).")
