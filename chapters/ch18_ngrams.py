"""Count instead of learn: n-gram models of tokens, to compare a model with.

Sources: Kneser and Ney 1995, "Improved Backing-Off for M-gram Language Modeling"; interpolated, as
in Chen and Goodman 1999, "An Empirical Study of Smoothing Techniques for Language Modeling".
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from torch import Tensor

Counts = tuple[NDArray[np.int64], NDArray[np.int64]]  # what was found, in order, and how often


class NGramModel:
    """The probability of a token after the n - 1 before it, as often as it was seen there.

    Each count is lowered by ``discount``, and what is left over goes to the model that looks back
    one token less; the last gives all tokens 1 / V. The models that look back less count in how
    many places a token was seen, not how often ("Kneser-Ney").

    Parameters
    ----------
    ids : Tensor of shape (N,), int64, the text to count in
    order : int, n, at least 1
    vocab_size : int, V
    discount : float, from 0 to 1

    Raises
    ------
    ValueError
        if the order is below 1, or n tokens of V do not fit into 63 bits
    """

    def __init__(self, ids: Tensor, order: int, vocab_size: int, discount: float = 0.75) -> None:
        self.bits = max(1, (vocab_size - 1).bit_length())
        if order < 1 or order * self.bits > 63:
            raise ValueError(
                f"an order from 1 to {63 // self.bits} fits {vocab_size} tokens; got {order}."
            )
        self.order, self.vocab_size, self.discount = order, vocab_size, discount
        tokens = ids.cpu().numpy()
        grams = [_counted(self._grams(tokens, n)) for n in range(1, order + 1)]
        # In how many places: after how many different tokens, which stand first in longer grams.
        ends = [values & ((1 << n * self.bits) - 1) for n, (values, _) in enumerate(grams)][1:]
        self._often = [self._table(found) for found in grams]
        self._places = [self._table(_counted(found)) for found in ends]

    def probabilities(self, ids: Tensor, order: int | None = None) -> NDArray[np.float64]:
        """Give the probability of each token after those before it: (N,) ids to (N,) float64.

        At the beginning, where there are fewer than n - 1 tokens, as many as there are count.

        Parameters
        ----------
        order : int or None, up to that of the model; None means that one

        Raises
        ------
        ValueError
            if the order is not from 1 to that of the model
        """
        order = self.order if order is None else order
        if not 1 <= order <= self.order:
            raise ValueError(f"the model knows the orders 1 to {self.order}; got {order}.")
        tokens = ids.cpu().numpy()
        found = np.full(len(tokens), 1 / self.vocab_size)
        tables = [*self._places[: order - 1], self._often[order - 1]]
        for n, (grams, seen, distinct) in enumerate(tables, start=1):
            asked = self._grams(tokens, n)
            histories = asked >> self.bits
            count, total = _look_up(grams, asked), _look_up(seen, histories)
            lower = found[n - 1 :]
            left = self.discount * _look_up(distinct, histories) * lower
            mixed = (np.maximum(count - self.discount, 0) + left) / np.maximum(total, 1)
            found[n - 1 :] = np.where(total > 0, mixed, lower)  # all is left where nothing was seen
        return found

    def bits_of(self, ids: Tensor, order: int | None = None) -> float:
        """Give how many bits a text costs, all its tokens together; see ``probabilities``."""
        return float(-np.log2(self.probabilities(ids, order)).sum())

    def _table(self, grams: Counts) -> tuple[Counts, Counts, Counts]:
        """Give the counts, and for each history their sum, and how many they are."""
        histories = grams[0] >> self.bits
        distinct = _counted(histories)
        first = np.flatnonzero(np.diff(histories, prepend=-1))
        seen = np.add.reduceat(grams[1], first) if len(first) else first
        return grams, (distinct[0], seen), distinct

    def _grams(self, tokens: NDArray[np.int64], n: int) -> NDArray[np.int64]:
        """Give n neighbours as one number, (N - n + 1,): the last in the lowest bits."""
        count = max(len(tokens) - n + 1, 0)
        grams = np.zeros(count, dtype=np.int64)
        for i in range(n):
            grams = (grams << self.bits) | tokens[i : i + count]
        return grams


def _counted(numbers: NDArray[np.int64]) -> Counts:
    values, counts = np.unique(numbers, return_counts=True)
    return values, counts


def _look_up(table: Counts, asked: NDArray[np.int64]) -> NDArray[np.int64]:
    """Give the counts of what is asked for; 0 for what is not in the table."""
    values, counts = table
    if not len(values):
        return np.zeros(len(asked), dtype=np.int64)
    places = np.searchsorted(values, asked).clip(max=len(values) - 1)
    return np.where(values[places] == asked, counts[places], 0)
