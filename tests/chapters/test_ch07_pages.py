"""A page has a passage of each topic that is asked, at the place that is the answer."""

import pytest
import torch
from datasets import Dataset

from chapters.ch07_pages import LENGTH, OTHER, Pages, Placed, Told

TOPICS = 5


@pytest.fixture(scope="module")
def documents():
    """Texts whose words name their topic, and one that is too short for a passage."""
    rows = [{"text": " ".join([f"t{k}w{j % 7}" for j in range(40)]), "label": k} for k in range(5)]
    return Dataset.from_list([*rows, {"text": "t0w0 " * (LENGTH - 1), "label": 0}])


@pytest.fixture(scope="module")
def pages(documents):
    return Pages(documents, TOPICS)


def test_the_answer_is_the_place_of_the_topic(pages):
    ids, places = pages.draw(6, torch.Generator().manual_seed(0))
    assert ids.shape == (24, 81)
    word = {i: name for name, i in pages.ids.items()}
    for row, place in zip(ids.tolist(), places.tolist(), strict=True):
        passage = row[1 + LENGTH * place :][:LENGTH]
        assert {word[i][:2] for i in passage} == {f"t{row[0] - OTHER - 1}"}
    assert torch.equal(ids[0, 1:], ids[3, 1:]), "four questions, one page"
    assert len(ids[:4, 0].unique()) == 4


def test_passages_are_any_words_that_stand_together_and_unknown_words_have_one_id(pages, documents):
    passages = pages.cut(documents)
    assert [len(each) for each in passages] == [40 - LENGTH + 1] * TOPICS, "the short text has none"
    text = pages.encode(0, documents[2]["text"])[0, 1:]  # (T,)
    assert torch.equal(passages[2][3], text[3 : LENGTH + 3])
    assert pages.encode(0, "Never seen").tolist() == [[OTHER + 1, OTHER, OTHER]]


def test_a_counter_that_is_told_the_passages_finds_them(pages):
    counts = Told(pages)
    for i in range(pages.first, pages.vocab_size):  # a word's name begins with its topic
        (name,) = (name for name, at in pages.ids.items() if at == i)
        counts.scores.weight.data[int(name[1]) * pages.vocab_size + i] = 1.0
    ids, places = pages.draw(8, torch.Generator().manual_seed(0))
    assert torch.equal(counts(ids).argmax(dim=-1), places)


def test_a_position_of_its_own_is_added_to_each_token():
    placed = Placed(9)
    ids = torch.full((1, 81), 3)  # (B, T)
    added = placed(ids)[0] - placed.weight[3]
    assert torch.allclose(added, placed.positions, atol=1e-6)
