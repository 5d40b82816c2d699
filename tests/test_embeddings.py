"""One vector a text: the mean without padding, of length one, in the order of the texts."""

import pytest
import torch
from sentence_transformers import SentenceTransformer
from torch import nn

from utils.embeddings import embed_texts, mean_pool
from utils.pretrained import load_minilm
from utils.tokens import minilm_folder, minilm_tokenizer

# As for the model (test_pretrained.py), but a number of 384 of a vector of length one is near 0.05.
CLOSE = {"atol": 4 * 6 * torch.finfo(torch.float32).eps, "rtol": 0.0}
TEXTS = [  # their order by length is not its own inverse
    "one",
    "The cat sleeps on the warm stove.",
    "A kitten is dozing beside the heater. " * 3,
    "",
    "Shares fell sharply after the bank raised its rates. " * 40,
    "The central bank's decision sent the markets down.",
]


@pytest.fixture(scope="module")
def model():
    return load_minilm()


@pytest.fixture(scope="module")
def tokenizer():
    return minilm_tokenizer()


def test_the_mean_leaves_padding_out():
    torch.manual_seed(0)
    x = torch.randn(3, 5, 4)
    padding = torch.arange(5) >= torch.tensor([[5], [2], [0]])
    expected = torch.stack([x[0].mean(0), x[1, :2].mean(0), torch.zeros(4)])
    torch.testing.assert_close(mean_pool(x, padding), expected)


def test_the_vectors_are_those_of_sentence_transformers(model, tokenizer):
    theirs = SentenceTransformer(str(minilm_folder()), device="cpu")
    assert theirs.max_seq_length == 256
    expected = theirs.encode(TEXTS, convert_to_tensor=True)
    ours = embed_texts(TEXTS, model, tokenizer)
    torch.testing.assert_close(ours, expected, **CLOSE)


@pytest.mark.parametrize("batch_size", [1, 4, 99])
def test_each_text_has_its_own_vector_of_length_one(model, tokenizer, batch_size):
    vectors = embed_texts(TEXTS, model, tokenizer, batch_size=batch_size)
    assert vectors.shape == (6, 384)
    torch.testing.assert_close(vectors.norm(dim=1), torch.ones(6))
    for text, vector in zip(TEXTS, vectors, strict=True):
        ids = tokenizer(text, truncation=True, max_length=256, return_tensors="pt")["input_ids"]
        with torch.no_grad():
            mean = model(ids)[0].mean(0)  # the documented pooling: the mean, divided by its length
        torch.testing.assert_close(vector, mean / mean.norm(), **CLOSE)
    cosines = vectors @ vectors.T
    assert cosines[1, 2] > cosines[1, 4]
    assert cosines[4, 5] > cosines[4, 1]


def test_batches_hold_texts_of_like_length_and_real_padding(tokenizer):
    seen = []

    def model(ids, padding):
        assert torch.equal(padding, ids == tokenizer.pad_token_id)
        seen.append((~padding).sum(1).tolist())
        return nn.functional.one_hot(ids, 30_522).float()

    vectors = embed_texts(TEXTS, model, tokenizer, max_length=9, batch_size=2)
    lengths = [length for batch in seen for length in batch]
    assert lengths == sorted(lengths, reverse=True)
    assert len(seen) == 3
    assert max(seen[0]) == 9
    assert vectors[0].nonzero().flatten().tolist() == [101, 102, 2028]  # [CLS], [SEP], "one"


def test_no_texts_and_a_single_string_are_refused(model, tokenizer):
    with pytest.raises(TypeError, match=r"put the one text in brackets"):
        embed_texts("one", model, tokenizer)
    with pytest.raises(ValueError, match="at least one text"):
        embed_texts([], model, tokenizer)


def test_a_progress_bar_is_shown_if_it_has_a_name(model, tokenizer, capsys):
    embed_texts(["one"], model, tokenizer)
    assert capsys.readouterr().err == ""
    embed_texts(["one"], model, tokenizer, name="texts to vectors")
    assert "texts to vectors" in capsys.readouterr().err
