"""Pieces of one row of tokens, their loss, and bits a byte."""

import pytest
import torch
import torch.nn.functional as F
from hypothesis import given, settings
from hypothesis import strategies as st

from chapters.ch18_model import LanguageModel
from chapters.ch18_training import cut_pieces, language_nats, piece_starts

V = 11


def build():
    torch.manual_seed(0)
    return LanguageModel(V, 16, 2, 1, 24, 2)


@given(st.integers(1, 9), st.integers(0, 60), st.integers(0, 99))
@settings(max_examples=15)
def test_pieces_follow_each_other_and_fit(length, more, seed):
    count = 2 * length + more
    ids = torch.arange(count)
    starts = piece_starts(count, length, seed)
    assert len(starts) == (count - length) // length
    read, following = cut_pieces(ids, starts, length)
    assert read.shape == following.shape == (len(starts), length)
    assert torch.equal(read + 1, following)
    assert torch.equal(read.flatten().sort().values, read.min() + torch.arange(read.numel()))
    assert torch.equal(starts, piece_starts(count, length, seed))


def test_another_seed_cuts_elsewhere_and_a_text_that_is_too_short_is_refused():
    one, other = piece_starts(200, 10, 1), piece_starts(200, 10, 2)
    assert not torch.equal(one.sort().values, other.sort().values)
    assert not torch.equal(one, one.sort().values), "in another order"
    assert piece_starts(200, 10).tolist() == [*range(0, 190, 10)]
    for count, length in [(7, 4), (0, 1), (5, 0)]:
        with pytest.raises(ValueError, match=f"{count} tokens"):
            piece_starts(count, length)


@given(st.integers(2, 40), st.integers(1, 12), st.integers(1, 4))
@settings(max_examples=5)
def test_the_nats_are_those_of_every_token_once(count, length, batch_size):
    model = build().double()
    ids = torch.randint(V, (count,), generator=torch.Generator().manual_seed(count))
    expected = sum(
        F.cross_entropy(model(read[None])[0], following, reduction="sum").item()
        for read, following in zip(ids[:-1].split(length), ids[1:].split(length), strict=True)
    )
    assert language_nats(model, ids, length, batch_size) == pytest.approx(expected)
