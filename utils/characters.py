"""Text as characters: a vocabulary, and batches of pairs of texts."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

import torch
from torch import Tensor
from torch.nn.utils.rnn import pad_sequence

PADDING, BEGIN, END = 0, 1, 2  # the ids before those of the characters


class CharacterVocabulary:
    """An id for each character, from 3 on, in the order of Unicode.

    Parameters
    ----------
    texts : the texts whose characters it knows
    """

    def __init__(self, texts: Iterable[str]) -> None:
        self.characters = sorted({character for text in texts for character in text})
        self._ids = {character: i for i, character in enumerate(self.characters, start=END + 1)}

    def __len__(self) -> int:
        return END + 1 + len(self.characters)

    def encode(self, texts: Sequence[str]) -> Tensor:
        """Give the ids of the texts, each with a begin and an end, (B, T) int64, padded.

        Raises
        ------
        TypeError
            if ``texts`` is a single string
        ValueError
            if there are no texts, or one has a character that is not in the vocabulary
        """
        if isinstance(texts, str):
            raise TypeError("encode takes a list of texts; put the one text in brackets: [text].")
        if not texts:
            raise ValueError("encode needs at least one text.")
        try:
            rows = [[BEGIN, *(self._ids[character] for character in text), END] for text in texts]
        except KeyError as error:
            raise ValueError(f"the vocabulary has no character {error}.") from None
        return pad_sequence([torch.tensor(row) for row in rows], True, PADDING)

    def decode(self, ids: Tensor) -> list[str]:
        """Give the texts of ids (B, T): the characters before the first end."""
        return ["".join(self._characters(row)) for row in ids.tolist()]

    def _characters(self, row: list[int]) -> Iterator[str]:
        for i in row:
            if i == END:
                return
            if i > END:
                yield self.characters[i - END - 1]


def batches(
    source: Tensor, target: Tensor, batch_size: int, seed: int | None = None
) -> Iterator[tuple[Tensor, Tensor]]:
    """Go through the pairs once, in batches without columns that are all padding.

    Parameters
    ----------
    source, target : Tensors of shape (N, S) and (N, T), int64, padded at their ends
    seed : int or None; shuffles the pairs. None leaves their order, and the last, smaller batch
        is given too; with a seed it is left out, unless it is the only one

    Raises
    ------
    ValueError
        if there are no pairs, or not as many sources as targets, or ``batch_size`` is below 1
    """
    if not 0 < len(source) == len(target) or batch_size < 1:
        raise ValueError(
            f"{len(source)} sources and {len(target)} targets in batches of {batch_size}: there "
            "must be as many of both, and at least one."
        )
    order = torch.arange(len(source))
    if seed is not None:
        order = torch.randperm(len(source), generator=torch.Generator().manual_seed(seed))
        order = order[: max(len(order) // batch_size * batch_size, batch_size)]
    for rows in order.split(batch_size):
        yield _trim(source[rows]), _trim(target[rows])


def _trim(ids: Tensor) -> Tensor:
    """Leave out the columns at the end that are all padding."""
    return ids[:, : int((ids != PADDING).sum(1).max())]
