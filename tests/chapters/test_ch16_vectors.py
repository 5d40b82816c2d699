"""A vector for each text: those of sentence-transformers, in batches of like length."""

import pytest
import torch
from torch import nn

from chapters.ch16_vectors import embed_texts, mean_pool
from utils.text import minilm_folder, minilm_tokenizer

# A number of a vector of length one is near 0.05, not near 1.
CLOSE_VECTORS = {"atol": 4 * 6 * torch.finfo(torch.float32).eps, "rtol": 0.0}


@pytest.fixture(scope="module")
def tokenizer():
    return minilm_tokenizer()


def test_the_mean_of_nothing_is_zero():
    x, padding = torch.randn(3, 5, 4), torch.arange(5) >= torch.tensor([[2], [1], [0]])
    expected = torch.stack([x[0, :2].mean(0), x[1, 0], torch.zeros(4)])
    torch.testing.assert_close(mean_pool(x, padding), expected)


@pytest.mark.slow
def test_the_vectors_are_those_of_sentence_transformers(minilm, tokenizer, texts):
    from sentence_transformers import SentenceTransformer  # five seconds

    theirs = SentenceTransformer(str(minilm_folder()), device="cpu")
    assert theirs.max_seq_length == 256
    texts = [*texts, texts[4] * 10]  # the last has more than 256 tokens
    expected = theirs.encode(texts, convert_to_tensor=True)
    ours = embed_texts(texts, minilm, tokenizer)
    torch.testing.assert_close(ours, expected, **CLOSE_VECTORS)


def test_each_text_has_its_own_vector_of_length_one(minilm, tokenizer, texts):
    vectors = embed_texts(texts, minilm, tokenizer, batch_size=4)
    for text, vector in zip(texts, vectors, strict=True):
        ids = tokenizer(text, return_tensors="pt")["input_ids"]
        with torch.no_grad():
            mean = minilm(ids)[0].mean(0)  # the documented pooling: the mean, divided by its length
        torch.testing.assert_close(vector, mean / mean.norm(), **CLOSE_VECTORS)


def test_batches_hold_texts_of_like_length_and_real_padding(tokenizer, texts):
    seen = []

    def model(ids, padding):
        assert torch.equal(padding, ids == tokenizer.pad_token_id)
        seen.append((~padding).sum(1).tolist())
        return nn.functional.one_hot(ids, 30_522).float()

    vectors = embed_texts(texts, model, tokenizer, max_length=9, batch_size=2)
    lengths = [length for batch in seen for length in batch]
    assert lengths == sorted(lengths, reverse=True)
    assert len(seen) == 3
    assert max(seen[0]) == 9
    assert vectors[0].nonzero().flatten().tolist() == [101, 102, 2028]  # [CLS], [SEP], "one"


def test_no_texts_and_a_single_string_are_refused(minilm, tokenizer):
    with pytest.raises(TypeError, match="in brackets"):
        embed_texts("one", minilm, tokenizer)
    with pytest.raises(ValueError, match="at least one text"):
        embed_texts([], minilm, tokenizer)
