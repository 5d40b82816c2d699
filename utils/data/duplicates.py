"""Texts that stand in the test and, nearly word for word, in the training as well."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Sequence

Shingle = tuple[str, ...]


def near_duplicates(
    train: Sequence[str], test: Sequence[str], share: float = 0.8, words: int = 8
) -> list[tuple[int, int]]:
    """Find the texts of the test that a training text repeats, all or nearly all of them.

    A text is taken as the set of its shingles, its runs of ``words`` words, without case and
    punctuation; a shorter text is one shingle. A training text repeats a text of the test if it
    holds at least this share of its shingles.

    Parameters
    ----------
    train, test : lists of texts
    share : float above 0 and up to 1, of the shingles of the text in the test
    words : int, of a shingle

    Returns
    -------
    list of pairs, row in ``train`` and row in ``test``, in the order of ``test``, then of ``train``

    Raises
    ------
    TypeError
        if ``train`` or ``test`` is a single string
    ValueError
        if ``share`` is not a share, or ``words`` is less than 1

    Source: Broder 1997, "On the Resemblance and Containment of Documents" (this share is
    the containment).
    """
    if isinstance(train, str) or isinstance(test, str):
        raise TypeError("near_duplicates takes two lists of texts; put a single one in brackets.")
    if not 0.0 < share <= 1.0 or words < 1:
        raise ValueError(
            f"expected a share above 0 and up to 1, and at least one word in a shingle; got "
            f"share={share} and words={words}."
        )
    holders: defaultdict[Shingle, list[int]] = defaultdict(list)
    for i, text in enumerate(train):
        for shingle in _shingles(text, words):
            holders[shingle].append(i)
    pairs = []
    for j, text in enumerate(test):
        own = _shingles(text, words)
        shared = Counter(i for shingle in own for i in holders.get(shingle, ()))
        pairs += sorted((i, j) for i, count in shared.items() if count >= share * len(own))
    return pairs


def _shingles(text: str, words: int) -> set[Shingle]:
    """Give the runs of so many words; a shorter text is one run, and one without words has none."""
    found = re.findall(r"\w+", text.lower())
    last = max(len(found) - words, 0)
    return {tuple(found[i : i + words]) for i in range(last + 1)} if found else set()
