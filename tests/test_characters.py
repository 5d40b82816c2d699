"""Texts come back as they were, and batches hold every pair once."""

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from utils.characters import BEGIN, END, PADDING, CharacterVocabulary, batches

texts = st.lists(st.text("abcé年\u202f ", max_size=9), min_size=1, max_size=9)


@given(texts)
@settings(max_examples=50)
def test_texts_come_back_as_they_were(some):
    vocabulary = CharacterVocabulary(some)
    ids = vocabulary.encode(some)
    assert vocabulary.decode(ids) == some
    assert vocabulary.decode(ids[:, 1:]) == some
    assert ids.shape == (len(some), max(map(len, some)) + 2)
    assert (ids[:, 0] == BEGIN).all()
    assert ((ids == END).sum(1) == 1).all()
    assert ids.max() < len(vocabulary)


def test_ids_are_those_of_the_order_of_unicode():
    vocabulary = CharacterVocabulary(["ba", "年"])
    assert vocabulary.encode(["ab年", "b"]).tolist() == [[1, 3, 4, 5, 2], [1, 4, 2, 0, 0]]
    assert len(vocabulary) == 6
    assert vocabulary.decode(torch.tensor([[1, 3, 2, 4], [4, 4, 0, 0]])) == ["a", "bb"]


def test_what_cannot_be_encoded_is_refused():
    vocabulary = CharacterVocabulary(["ab"])
    with pytest.raises(ValueError, match="no character 'c'"):
        vocabulary.encode(["abc"])
    with pytest.raises(ValueError, match="at least one text"):
        vocabulary.encode([])
    with pytest.raises(TypeError, match="in brackets"):
        vocabulary.encode("ab")


def numbers(count):
    """Pairs that say which they are: (n, n) against (n, n), of different lengths."""
    rows = torch.arange(3, 3 + count)
    source = rows.unsqueeze(1).repeat(1, 4)
    source[::2, 2:] = PADDING
    return source, rows.unsqueeze(1).repeat(1, 3)


@given(st.integers(1, 20), st.integers(1, 25), st.integers(0, 9))
@settings(max_examples=50)
def test_each_pair_comes_once_and_stays_together(count, batch_size, seed):
    source, target = numbers(count)
    plain = list(batches(source, target, batch_size))
    assert torch.equal(torch.cat([rows for _, rows in plain]), target)
    shuffled = list(batches(source, target, batch_size, seed))
    for first, second in plain + shuffled:
        assert torch.equal(first[:, 0], second[:, 0])
        assert len(first) <= batch_size
        assert (first != PADDING).any(0).all()
    seen = torch.cat([rows[:, 0] for _, rows in shuffled])
    assert len(set(seen.tolist())) == len(seen)
    assert len(seen) == (count // batch_size * batch_size or count)


def test_another_seed_is_another_order_and_the_same_the_same():
    source, target = numbers(50)
    first, again, other = (
        torch.cat([rows for _, rows in batches(source, target, 8, seed)]) for seed in (1, 1, 2)
    )
    assert torch.equal(first, again)
    assert not torch.equal(first, other)


def test_pairs_that_do_not_fit_are_refused():
    source, target = numbers(5)
    for arguments in [(source, target[1:], 2), (source[:0], target[:0], 2), (source, target, 0)]:
        with pytest.raises(ValueError, match="as many of both"):
            list(batches(*arguments))
