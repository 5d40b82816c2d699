"""Counting: probabilities that sum to one, by hand and by tables."""

from collections import Counter

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from chapters.ch18_ngrams import NGramModel

few_examples = settings(max_examples=20)


def by_hand(train, history, token, vocab_size, highest=True):
    """Kneser and Ney's interpolation, from the definition."""
    if history is None:
        return 1 / vocab_size
    n = len(history) + 1
    if highest:
        grams = [tuple(train[i : i + n]) for i in range(len(train) - n + 1)]
    else:  # a gram counts once for each token that it was seen after
        longer = {tuple(train[i : i + n + 1]) for i in range(len(train) - n)}
        grams = [gram[1:] for gram in longer]
    after = Counter(gram[-1] for gram in grams if gram[:-1] == history)
    lower = by_hand(train, history[1:] if history else None, token, vocab_size, False)
    if not after:
        return lower
    return (max(after[token] - 0.75, 0) + 0.75 * len(after) * lower) / after.total()


train_ids = st.lists(st.integers(0, 4), min_size=1, max_size=25)


@given(train_ids, st.lists(st.integers(0, 5), max_size=9))
@few_examples
def test_probabilities_are_those_of_the_definition(train, text):
    model = NGramModel(torch.tensor(train), 3, 6)
    for order in (1, 2, 3):
        found = model.probabilities(torch.tensor(text, dtype=torch.int64), order)
        expected = [
            by_hand(train, tuple(text[max(0, i + 1 - order) : i]), text[i], 6, i + 1 >= order)
            for i in range(len(text))
        ]
        np.testing.assert_allclose(found, expected, rtol=1e-12)


def test_many_tokens_of_five_fit_and_more_do_not():
    NGramModel(torch.arange(50) % 4096, 5, 4096)
    for order, vocab_size in ((6, 2049), (0, 5)):
        with pytest.raises(ValueError, match=f"got {order}"):
            NGramModel(torch.tensor([1]), order, vocab_size)
    with pytest.raises(ValueError, match="orders 1 to 2; got 3"):
        NGramModel(torch.tensor([1]), 2, 5).probabilities(torch.tensor([1]), 3)
