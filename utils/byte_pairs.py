"""Byte-pair encoding: a vocabulary that merges itself, from single bytes to frequent words.

A text is cut into words, and each word into bytes. The pair of neighbours that is most frequent
becomes a token of its own, again and again. So every text can be written, in any script, and what
is frequent is written in few tokens.

Sources: Sennrich, Haddow and Birch 2016, "Neural Machine Translation of Rare Words with Subword
Units"; on bytes: Radford and others 2019, "Language Models are Unsupervised Multitask Learners".
"""

from __future__ import annotations

import codecs
import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from heapq import heapify, heappop, heappush
from itertools import pairwise

import torch
from torch import Tensor

Pair = tuple[int, int]
END_OF_TEXT = 0  # the id that stands after each text; the 256 bytes follow it
# No pair goes over the end of a word: letters and digits, or other signs, with one space before
# them; or white space. Together these are every character.
WORD = re.compile(r" ?\w+| ?[^\w\s]+|\s+(?!\S)|\s+")
# The bytes in GPT-2's order, those with a printed character first: it settles ties between pairs.
_PRINTED = [*range(33, 127), *range(161, 173), *range(174, 256)]
_BYTES = [*_PRINTED, *sorted(set(range(256)) - set(_PRINTED))]
_ID_OF_BYTE = {byte: i for i, byte in enumerate(_BYTES, start=END_OF_TEXT + 1)}
_SIGNS = str.maketrans({" ": "·", "\n": "⏎", "\t": "⇥"})


def visible(text: str) -> str:
    """Write a dot for a space and arrows for the ends of lines and tabs, for a figure."""
    return text.translate(_SIGNS)


class BytePairs:
    """A vocabulary: the end of a text, the 256 bytes, and what was merged of two tokens before.

    Parameters
    ----------
    merges : pairs of ids, in the order in which they were learnt. (Two of them may make the same
        bytes; they are one token then.)
    """

    def __init__(self, merges: Iterable[Sequence[int]] = ()) -> None:
        self.merges: list[Pair] = []
        self.pieces = [b"", *(bytes([byte]) for byte in _BYTES)]  # the bytes of each token
        self._ids = {piece: i for i, piece in enumerate(self.pieces)}
        self._ranks: dict[Pair, int] = {}  # the place of each pair in ``merges``
        self._known: dict[str, list[int]] = {}  # the ids of words that were met
        for first, second in merges:
            self._add((first, second))

    def __len__(self) -> int:
        return len(self.pieces)

    @classmethod
    def learn(cls, texts: Iterable[str], vocab_size: int) -> BytePairs:
        """Merge the most frequent pair, and then the next, until there are so many tokens.

        Of pairs that are as frequent the one with the smaller ids comes first. The merges are those
        of the library ``tokenizers``, given the same words.

        Parameters
        ----------
        vocab_size : int, the most tokens: 257 are there before anything is merged. Short texts may
            have no pair left before

        Raises
        ------
        ValueError
            if ``vocab_size`` is below 257
        """
        found = cls()
        if vocab_size < len(found):
            raise ValueError(f"256 bytes and an end need 257 tokens; got vocab_size {vocab_size}.")
        times = Counter(word for text in texts for word in WORD.findall(text))
        words = [(_bytes_of(word), count) for word, count in times.items()]
        counts: Counter[Pair] = Counter()
        places: defaultdict[Pair, set[int]] = defaultdict(set)  # the words that hold a pair
        for i, (ids, count) in enumerate(words):
            for pair in pairwise(ids):
                counts[pair] += count
                places[pair].add(i)
        queue = [(-count, pair) for pair, count in counts.items()]  # the most frequent comes first
        heapify(queue)
        while queue and len(found) < vocab_size:
            count, best = heappop(queue)
            if -count != counts[best]:  # it has become rarer since it was put there
                if counts[best]:
                    heappush(queue, (-counts[best], best))
                continue
            new, changed = found._add(best), set()
            for i in places.pop(best):
                ids, count = words[i]
                merged = _merge(ids, best, new)
                words[i] = merged, count
                for pair in pairwise(ids):
                    counts[pair] -= count
                for pair in pairwise(merged):
                    counts[pair] += count
                    if new in pair:
                        places[pair].add(i)
                        changed.add(pair)
            for pair in changed:
                heappush(queue, (-counts[pair], pair))
        return found

    def encode(self, text: str) -> list[int]:
        """Give the ids of a text: in each word the pair that was learnt first is merged first.

        Raises
        ------
        UnicodeEncodeError
            if the text has half a surrogate pair, which no UTF-8 can write
        """
        ids: list[int] = []
        for word in WORD.findall(text):
            if word not in self._known:
                self._known[word] = self._encode_word(word)
            ids += self._known[word]
        return ids

    def encode_all(self, texts: Iterable[str]) -> Tensor:
        """Give the ids of all texts in one row, (N,) int64, an ``END_OF_TEXT`` after each."""
        rows = (torch.tensor([*self.encode(text), END_OF_TEXT]) for text in texts)
        return torch.cat([torch.empty(0, dtype=torch.int64), *rows])

    def decode(self, ids: Iterable[int]) -> str:
        """Give the text of some ids; bytes that are no UTF-8 become the sign for it, U+FFFD."""
        return b"".join(self.pieces[i] for i in ids).decode(errors="replace")

    def name(self, token: int) -> str:
        """Say what a figure calls a token: what it stands for, made visible, or its bytes."""
        text = visible(self.decode([token]))
        if text.isprintable() and "\N{REPLACEMENT CHARACTER}" not in text:
            return text or "end of text"
        return f"bytes {self.pieces[token].hex(' ')}"

    def decode_stream(self, ids: Iterable[int]) -> Iterator[str]:
        """Give the text of each id as it comes; a character of several tokens with its last one."""
        decoder = codecs.getincrementaldecoder("utf-8")(errors="replace")
        for i in ids:
            yield decoder.decode(self.pieces[i])
        yield decoder.decode(b"", final=True)

    def _add(self, pair: Pair) -> int:
        """Give what a pair is merged to, a new token unless its bytes are one."""
        self._ranks[pair] = len(self.merges)
        self.merges.append(pair)
        return self._id_of(pair, new=True)

    def _id_of(self, pair: Pair, new: bool = False) -> int:
        piece = self.pieces[pair[0]] + self.pieces[pair[1]]
        if new and piece not in self._ids:
            self._ids[piece] = len(self.pieces)
            self.pieces.append(piece)
        return self._ids[piece]

    def _encode_word(self, word: str) -> list[int]:
        ids = _bytes_of(word)
        while pairs := [pair for pair in pairwise(ids) if pair in self._ranks]:
            first = min(pairs, key=self._ranks.__getitem__)
            ids = _merge(ids, first, self._id_of(first))
        return ids


def _bytes_of(word: str) -> list[int]:
    return [_ID_OF_BYTE[byte] for byte in word.encode()]


def _merge(ids: list[int], pair: Pair, new: int) -> list[int]:
    """Write ``new`` wherever the pair stands, from left to right."""
    merged: list[int] = []
    for i in ids:
        if merged and (merged[-1], i) == pair:
            merged[-1] = new
        else:
            merged.append(i)
    return merged
