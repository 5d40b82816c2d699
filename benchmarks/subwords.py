"""Subwords: one vocabulary for both languages, and batches of sentences of about one length.

Source: Sennrich, Haddow and Birch 2016, "Neural Machine Translation of Rare Words with Subword
Units" (pairs that are frequent are merged).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import torch
from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers
from torch import Tensor

from utils.text import BEGIN, END, PADDING, pad_rows

PairOfIds = tuple[list[int], list[int]]
Batch = tuple[Tensor, Tensor]  # ids (B, S) and (B, T), padded at their ends
SPECIAL = {PADDING: "<padding>", BEGIN: "<begin>", END: "<end>"}


class Subwords:
    """A joint vocabulary of subwords, with the ids 0, 1 and 2 for padding, begin and end.

    Any text can be written with it: what was never merged is written in bytes.
    """

    def __init__(self, tokenizer: Tokenizer) -> None:
        tokenizer.encode_special_tokens = True  # "<end>" in a text is five characters, no end
        self.tokenizer = tokenizer

    @classmethod
    def train(cls, texts: Iterable[str], vocab_size: int) -> Subwords:
        """Make the vocabulary from these texts; the same texts always give the same.

        Raises
        ------
        ValueError
            if ``vocab_size`` is too small for the bytes and the special ones
        """
        alphabet = sorted(pre_tokenizers.ByteLevel.alphabet())
        if vocab_size < len(alphabet) + len(SPECIAL):
            raise ValueError(
                f"{len(alphabet)} bytes and {len(SPECIAL)} special ids need a larger vocabulary; "
                f"got {vocab_size}."
            )
        tokenizer = Tokenizer(models.BPE())
        tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=True)
        tokenizer.decoder = decoders.ByteLevel()
        trainer = trainers.BpeTrainer(
            vocab_size=vocab_size,
            special_tokens=[SPECIAL[i] for i in sorted(SPECIAL)],
            initial_alphabet=alphabet,
            show_progress=False,
        )
        tokenizer.train_from_iterator(texts, trainer)
        return cls(tokenizer)

    @property
    def size(self) -> int:
        """V, how many subwords there are, special ones included."""
        return self.tokenizer.get_vocab_size()

    def encode(self, texts: Sequence[str]) -> list[list[int]]:
        """Give the ids of each text, without begin and end."""
        return [encoding.ids for encoding in self.tokenizer.encode_batch(list(texts))]

    def decode(self, ids: Tensor) -> list[str]:
        """Give the text of each row (B, T), up to its end; special ids write nothing."""
        rows = [row[: row.index(END)] if END in row else row for row in ids.tolist()]
        return [text.strip() for text in self.tokenizer.decode_batch(rows)]


def encode_pairs(
    subwords: Subwords, sources: Sequence[str], targets: Sequence[str]
) -> list[PairOfIds]:
    """Give the ids of each pair: the source with its end, the target with begin and end."""
    pairs = zip(subwords.encode(sources), subwords.encode(targets), strict=True)
    return [([*source, END], [BEGIN, *target, END]) for source, target in pairs]


def length_batches(
    pairs: Sequence[PairOfIds], tokens: int, seed: int | None = None
) -> list[list[int]]:
    """Put pairs of about the same length together, up to ``tokens`` ids of one side in a batch.

    Parameters
    ----------
    tokens : int, the most ids of the source, and of the target, padding included; a pair that is
        longer is a batch of its own
    seed : int or None, for who is with whom, and for the order of the batches; None gives them from
        short to long

    Returns
    -------
    list of batches, each a list of places in ``pairs``. How many there are does not depend on the
    seed
    """
    order = list(range(len(pairs)))
    generator = torch.Generator().manual_seed(0 if seed is None else seed)
    if seed is not None:
        order = torch.randperm(len(pairs), generator=generator).tolist()
    order.sort(key=lambda i: (len(pairs[i][1]), len(pairs[i][0])))  # equals stay shuffled
    found: list[list[int]] = []
    longest = 0
    for i in order:
        longest = max(longest, *map(len, pairs[i]))
        if not found or longest * (len(found[-1]) + 1) > tokens:
            found.append([])
            longest = max(map(len, pairs[i]))
        found[-1].append(i)
    if seed is not None:
        found = [found[i] for i in torch.randperm(len(found), generator=generator).tolist()]
    return found


def pad(pairs: Sequence[PairOfIds], rows: Sequence[int]) -> Batch:
    """Give the ids of these pairs, padded at their ends."""
    source, target = (pad_rows([pairs[i][side] for i in rows]) for side in (0, 1))
    return source, target
