"""Byte-pair encoding: a vocabulary that merges itself, from single bytes to frequent words.

A text is cut into words, and each word into bytes. The pair of neighbours that is most frequent
becomes a token of its own, again and again. So every text can be written, in any script, and what
is frequent is written in few tokens. Chapter 18 writes that loop; here the library ``tokenizers``
does the same, faster.

Sources: Sennrich, Haddow and Birch 2016, "Neural Machine Translation of Rare Words with Subword
Units"; on bytes: Radford and others 2019, "Language Models are Unsupervised Multitask Learners".
"""

from __future__ import annotations

import codecs
import json
import re
from collections.abc import Iterable, Iterator, Sequence

import torch
from tokenizers import Tokenizer
from tokenizers.models import BPE
from tokenizers.pre_tokenizers import ByteLevel
from tokenizers.trainers import BpeTrainer
from torch import Tensor

END_OF_TEXT = 0  # the id that stands after each text; the 256 bytes follow it
END = "<|endoftext|>"
# No pair goes over the end of a word: letters and digits, or other signs, with one space before
# them; or white space. Together these are every character.
WORD = re.compile(r" ?\w+| ?[^\w\s]+|\s+(?!\S)|\s+")
# The library writes a byte as one character: GPT-2's, those with a printed one first.
_PRINTED = [*range(33, 127), *range(161, 173), *range(174, 256)]
_BYTES = [*_PRINTED, *sorted(set(range(256)) - set(_PRINTED))]
_CHARACTERS = [chr(byte) for byte in _PRINTED] + [chr(256 + i) for i in range(256 - len(_PRINTED))]
_BYTE_OF = dict(zip(_CHARACTERS, _BYTES, strict=True))
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
        self.merges = [(first, second) for first, second in merges]
        names = {END: END_OF_TEXT, **{sign: i for i, sign in enumerate(_CHARACTERS, start=1)}}
        written, pairs = list(names), []
        for first, second in self.merges:
            pairs.append((written[first], written[second]))
            if (new := "".join(pairs[-1])) not in names:
                names[new] = len(written)
                written.append(new)
        self.pieces = [b"", *(bytes(map(_BYTE_OF.__getitem__, name)) for name in written[1:])]
        self._tokenizer = _of_words(BPE(names, pairs))

    def __len__(self) -> int:
        return len(self.pieces)

    @classmethod
    def learn(cls, texts: Iterable[str], vocab_size: int) -> BytePairs:
        """Merge the most frequent pair, and then the next, until there are so many tokens.

        Of pairs that are as frequent the one with the smaller ids comes first.

        Parameters
        ----------
        vocab_size : int, the most tokens: 257 are there before anything is merged. Short texts may
            have no pair left before

        Raises
        ------
        ValueError
            if ``vocab_size`` is below 257
        """
        if vocab_size <= len(_BYTES):
            raise ValueError(f"256 bytes and an end need 257 tokens; got vocab_size {vocab_size}.")
        trainer = BpeTrainer(
            vocab_size=vocab_size,
            special_tokens=[END],
            initial_alphabet=_CHARACTERS,
            show_progress=False,
        )
        tokenizer = _of_words(BPE())
        tokenizer.train_from_iterator((w for text in texts for w in WORD.findall(text)), trainer)
        ids = tokenizer.get_vocab()
        merges = json.loads(tokenizer.to_str())["model"]["merges"]
        return cls((ids[first], ids[second]) for first, second in merges)

    def encode(self, text: str) -> list[int]:
        """Give the ids of a text: in each word the pair that was learnt first is merged first.

        Raises
        ------
        UnicodeEncodeError
            if the text has half a surrogate pair, which no UTF-8 can write
        """
        text.encode()  # here half a surrogate pair is refused
        return self._tokenizer.encode(WORD.findall(text), is_pretokenized=True).ids

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


def _of_words(model: BPE) -> Tokenizer:
    tokenizer = Tokenizer(model)
    tokenizer.pre_tokenizer = ByteLevel(add_prefix_space=False, use_regex=False)
    return tokenizer
