"""Cut one long row of tokens into pieces to train on, and measure a model in bits a byte.

Shapes: N tokens of a text, B pieces of it, T tokens of a piece, V tokens in the vocabulary.
"""

from __future__ import annotations

import math

import torch
import torch.nn.functional as F
from torch import Tensor

from chapters.ch18_model import LanguageModel


def piece_starts(count: int, length: int, seed: int | None = None) -> Tensor:
    """Cut a text into pieces of one length, and give where they begin, (pieces,) int64.

    Parameters
    ----------
    count : int, N, the tokens of the text
    length : int, T, the tokens of a piece that are read; the one after them is predicted as well
    seed : int or None, for where the first piece begins, and for their order. None begins at 0 and
        keeps the order. How many there are does not depend on it

    Raises
    ------
    ValueError
        if the text is not twice as long as a piece
    """
    pieces = (count - length) // length if length > 0 else 0
    if pieces < 1:
        raise ValueError(
            f"{count} tokens are not enough for pieces of {length}: twice as many are the least."
        )
    starts = torch.arange(pieces) * length
    if seed is None:
        return starts
    generator = torch.Generator().manual_seed(seed)
    first = torch.randint(length, (), generator=generator)
    return (first + starts)[torch.randperm(pieces, generator=generator)]


def cut_pieces(ids: Tensor, starts: Tensor, length: int) -> tuple[Tensor, Tensor]:
    """Give what is read and what follows each token of it, (B, T) int64 twice, from ids (N,)."""
    places = starts.unsqueeze(1) + torch.arange(length + 1)  # (B, T + 1)
    pieces = ids[places]
    return pieces[:, :-1], pieces[:, 1:]


def language_loss(model: LanguageModel, ids: Tensor, following: Tensor) -> Tensor:
    """Give the mean cross-entropy, in nats, of the token that follows each: (B, T) int64 twice."""
    return F.cross_entropy(model(ids).flatten(0, 1), following.flatten())


@torch.no_grad()
def language_nats(
    model: LanguageModel, ids: Tensor, length: int = 256, batch_size: int = 16
) -> float:
    """Give the cross-entropy of a text, all tokens but the first together, in nats.

    The text is read in pieces, so that a token has at most ``length`` tokens before it, and the
    first of a piece has one.

    Parameters
    ----------
    ids : Tensor of shape (N,), int64, at least 2 tokens
    length : int, T, of a piece
    batch_size : int, pieces at once
    """
    model.eval()
    device = next(model.parameters()).device
    whole = (len(ids) - 1) // length * length
    starts = torch.arange(0, whole, length)
    parts = [cut_pieces(ids, rows, length) for rows in starts.split(batch_size)]
    if whole < len(ids) - 1:  # what is left at the end
        parts.append((ids[None, whole:-1], ids[None, whole + 1 :]))
    return sum(
        language_loss(model, read.to(device), following.to(device)).item() * read.numel()
        for read, following in parts
        if read.numel()
    )


def bits_per_byte(nats: float, num_bytes: int) -> float:
    """Turn nats of a whole text into bits for each of its bytes."""
    return nats / math.log(2) / num_bytes
