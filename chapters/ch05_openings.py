"""The first words of the news articles, as numbers: what the classifier of chapter 5 reads."""

from __future__ import annotations

import re
from collections import Counter
from typing import NamedTuple

import torch
from torch import Tensor

from utils.news import class_names, drop_duplicates, load_news

RARE = 1  # the number of every rare word; 0 is that of padding


class Openings(NamedTuple):
    """Texts of as many words each, (B, length), with their classes, (B,)."""

    train_ids: Tensor
    train_labels: Tensor
    ids: Tensor  # of test articles
    labels: Tensor
    names: list[str]  # of the classes
    vocab_size: int
    longest: int  # words in the longest test article


def load_openings(length: int, count: int = 500, often: int = 3) -> Openings:
    """Load the first ``length`` words of each article that has as many, of ``count`` to test on.

    A word is known if it stands in the openings of ``often`` training articles.
    """
    news = drop_duplicates(load_news())
    openings = {}
    for split in ("train", "test"):
        words = [re.findall(r"\w+", text.lower()) for text in news[split]["text"]]
        pairs = zip(words, news[split]["label"], strict=True)
        openings[split] = [(text[:length], label) for text, label in pairs if len(text) >= length]
    longest = max(map(len, words))  # of the test, which came last
    seen = Counter(word for text, _ in openings["train"] for word in set(text))
    known = sorted(word for word, n in seen.items() if n >= often)
    word_id = {word: i for i, word in enumerate(known, start=RARE + 1)}

    def as_tensors(pairs: list[tuple[list[str], int]]) -> tuple[Tensor, Tensor]:
        ids = [[word_id.get(word, RARE) for word in text] for text, _ in pairs]
        return torch.tensor(ids), torch.tensor([label for _, label in pairs])

    vocab_size = len(known) + RARE + 1
    parts = as_tensors(openings["train"]), as_tensors(openings["test"][:count])
    return Openings(*parts[0], *parts[1], class_names(news), vocab_size, longest)
