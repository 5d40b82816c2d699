"""What runs of chapter 7 note can be read again; rivals compute what their names say."""

import numpy as np
import pandas as pd
import pytest
import torch
from datasets import Dataset
from scipy import stats
from torch import nn

from chapters.ch07_rivals import Mean, Numbered, NumberedEmbedding, Words
from chapters.ch07_runs import interval, noted, right_of
from utils.text import train_tokenizer


class First(nn.Module):
    """Answers with the id of the first token."""

    def forward(self, ids):
        return 9.0 * nn.functional.one_hot(ids[:, 0], 4)


def test_which_texts_are_right_can_be_read_again():
    batches = [
        (torch.tensor([[0, 1], [2, 3]]), torch.tensor([0, 3])),
        (torch.tensor([[1, 1]]), torch.tensor([1])),
    ]
    row = noted(First(), batches, lengths=(1, 2))
    assert row["right 2"] == pytest.approx(2 / 3)
    assert row["sure 1"] > 0.99
    rows = pd.DataFrame([row | {"layer": "a"}, row | {"layer": "b"}])
    assert right_of(rows, layer="b").tolist() == [[1, 0, 1]]


def test_the_interval_is_students_over_what_varies():
    runs = np.array([0.1, 0.2, 0.4])
    mean, low, high = interval(np.repeat(runs[:, None], 5, axis=1))
    assert (low, high) == pytest.approx(stats.t.interval(0.95, 2, runs.mean(), stats.sem(runs)))
    assert mean == pytest.approx(runs.mean())


def test_where_articles_vary_most_the_interval_has_their_degrees_of_freedom():
    gain = np.random.default_rng(0).normal(size=(8, 500)) / 100 + np.linspace(-1, 1, 500)
    mean, _, high = interval(gain)
    wide = stats.sem(gain.mean(axis=0))
    assert (high - mean) / wide == pytest.approx(stats.t.ppf(0.975, 499), rel=0.01)


def test_a_token_keeps_its_position_where_others_are_hidden():
    ids = torch.tensor([[3, 4, 2, 0]])
    ((numbered, _),) = Numbered([(ids, None)], vocab_size=5)
    assert numbered[0, -1] == 0, "padding stays padding"
    plain, placed = nn.Embedding(5, 4), NumberedEmbedding(5, 4, size=0.5)
    placed.load_state_dict(plain.state_dict())
    added = (placed(numbered) - plain(ids))[0]
    assert torch.allclose(added[:3], placed.table[:3])
    shown = numbered[:, [0, 2]]
    assert torch.allclose((placed(shown) - plain(ids[:, [0, 2]]))[0, 1], placed.table[2])


def test_a_mean_leaves_out_what_is_blocked():
    value = torch.tensor([[[1.0], [3.0], [9.0]]])
    mean, _ = Mean()(
        value[:, :1], value, value, key_padding_mask=torch.tensor([[False, False, True]])
    )
    assert mean.tolist() == [[[2.0]]]


def test_whole_words_are_glued_from_the_pieces_that_are_read():
    texts = ["the chip the chip", "a chip"]
    tokenizer = train_tokenizer(texts, vocab_size=40)
    words = Words(Dataset.from_dict({"text": texts, "label": [0, 1]}), tokenizer)
    assert set(words.ids) == {"[CLS]", "[SEP]", "the", "chip"}, "what stands there twice"
    cls, sep, the, chip = (words.ids[name] for name in ("[CLS]", "[SEP]", "the", "chip"))
    (ids,) = words(["the chip a"], truncation=True, max_length=512)["input_ids"]
    assert ids == [cls, the, chip, 1, sep]
    assert len(words) == 6
