"""How a layer learns where its tokens stand: three positional encodings.

Attention treats a sequence as a bag. ``SinusoidalPositionalEncoding`` is added to the token vectors
before any layer. The other two change the scores inside a layer, and are given to it:
``MultiHeadAttention(..., positions=...)`` with ``RotaryPositionalEncoding`` or ``ALiBi``.

Positions count from 0, for queries and for keys: query t and key t stand at the same place.

Shapes: B sequences, T queries, S keys, H heads, D = ``embed_dim``.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn

from utils.attention import combine_masks

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


class ALiBi(nn.Module):
    """Lower each score in proportion to the distance between query and key ("linear biases").

    The paper is causal: a key never comes after its query. Here it may, and the distance counts
    the same in both directions; where the mask is causal, the two are the same.

    Parameters
    ----------
    num_heads : int, H; each head has a slope of its own, see ``alibi_slopes``

    Raises
    ------
    ValueError
        if ``num_heads`` is less than 1

    Source: Press, Smith and Lewis 2022, "Train Short, Test Long: Attention with Linear Biases
    Enables Input Length Extrapolation", section 3.
    """

    def __init__(self, num_heads: int) -> None:
        super().__init__()
        self.slopes = alibi_slopes(num_heads)

    def forward(
        self, q: Tensor, k: Tensor, mask: Tensor | None, start: int = 0
    ) -> tuple[Tensor, Tensor, Tensor]:
        """Leave q, (B, H, T, D_head), and k alone, and add the bias to the mask: (…, H, T, S).

        The first query and the first key stand at the place ``start``, and the bias is for all
        keys, those before them too.
        """
        if q.shape[1] != len(self.slopes):
            raise ValueError(f"ALiBi was built for {len(self.slopes)} heads; got {q.shape[1]}.")
        T, S = start + q.shape[-2], start + k.shape[-2]
        bias = self.bias(T, S, q.dtype, q.device)[:, start:]  # (H, T - start, S)
        combined = combine_masks(mask, bias.unsqueeze(0))
        assert combined is not None  # one of the two masks is there
        return q, k, combined

    def bias(
        self,
        num_queries: int,
        num_keys: int,
        dtype: torch.dtype = torch.float32,
        device: torch.device | None = None,
    ) -> Tensor:
        """What is added to the scores of each head, (H, T, S): minus slope times distance."""
        queries = torch.arange(num_queries, device=device).unsqueeze(-1)  # (T, 1)
        distance = (queries - torch.arange(num_keys, device=device)).abs()  # (T, S)
        slopes = torch.tensor(self.slopes, dtype=_precise(dtype), device=device)
        return (-slopes.view(-1, 1, 1) * distance).to(dtype)


def alibi_slopes(num_heads: int) -> list[float]:
    """Give the slope of each head: for H a power of two 2^(-8/H), 2^(-16/H), …, 2^(-8).

    For other H the paper's code takes the slopes of the next lower power of two, and then every
    other slope of the next higher one, from its first, until there are enough.

    Raises
    ------
    ValueError
        if ``num_heads`` is less than 1

    Source: Press, Smith and Lewis 2022, section 3, and the function ``get_slopes`` of their code.
    """
    if num_heads < 1:
        raise ValueError(f"num_heads must be at least 1; got {num_heads}.")
    lower = 2 ** (num_heads.bit_length() - 1)
    slopes = [2 ** (-8 * h / lower) for h in range(1, lower + 1)]
    between = [2 ** (-4 * h / lower) for h in range(1, 2 * lower + 1, 2)]
    return slopes + between[: num_heads - lower]


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
