"""Positions as learnt vectors, one for each place.

Shapes: B sequences, T tokens, D = ``embed_dim``.
"""

from __future__ import annotations

from torch import Tensor, nn


class LearnedPositionalEncoding(nn.Module):
    """Add a learnt vector for each position, of which there are ``max_length``.

    Parameters
    ----------
    max_length : int, positions in the table
    embed_dim : int, D
    scale : float, the standard deviation of the normal distribution that the table is drawn from;
        1 is that of ``nn.Embedding``

    Raises
    ------
    ValueError
        if a size is less than 1

    Source: Gehring and others 2017, "Convolutional Sequence to Sequence Learning", section 3.1.
    """

    def __init__(self, max_length: int, embed_dim: int, *, scale: float = 1.0) -> None:
        super().__init__()
        if max_length < 1 or embed_dim < 1:
            raise ValueError(f"the table needs both sizes; got {max_length} and {embed_dim}.")
        self.embedding = nn.Embedding(max_length, embed_dim)
        nn.init.normal_(self.embedding.weight, std=scale)

    def forward(self, x: Tensor) -> Tensor:
        """Add the table's first T rows to x, (B, T, D) or (T, D).

        Raises
        ------
        ValueError
            if the sequence is longer than the table
        """
        max_length, embed_dim = self.embedding.weight.shape
        if x.dim() < 2 or x.shape[-1] != embed_dim:
            raise ValueError(f"x has shape {tuple(x.shape)}; expected (..., length, {embed_dim}).")
        if x.shape[-2] > max_length:
            raise ValueError(
                f"the sequence has {x.shape[-2]} tokens and the table {max_length} positions: a "
                "position beyond it was never learnt. Cut the sequence, or build a longer table."
            )
        return x + self.embedding.weight[: x.shape[-2]]
