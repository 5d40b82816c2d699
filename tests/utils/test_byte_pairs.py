"""Byte pairs are those of the library tokenizers, and every text comes back as it was."""

import pytest
import torch
from hypothesis import example, given, settings
from hypothesis import strategies as st
from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers

from utils.byte_pairs import END_OF_TEXT, WORD, BytePairs, visible

TEXTS = [
    torch.einsum.__doc__,
    torch.nn.MultiheadAttention.__doc__,
    "aaaa aaaaa aaaaaaa abab ababab banana bananas",
    "für Größe, größer: naïve café, Größen und größere Cafés",
    "κεφαλή, κεφαλές 注意力 注意力机制 🙂🙂 👩‍👩‍👧 नमस्ते नमस्ते",
]


def of_the_library(texts, vocab_size):
    """Learnt by the library, on the same words."""
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)
    tokenizer.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=vocab_size,
        special_tokens=["<end>"],
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
    )
    tokenizer.train_from_iterator([word for text in texts for word in WORD.findall(text)], trainer)
    return tokenizer


@pytest.fixture(scope="module")
def learnt():
    return BytePairs.learn(TEXTS, 700)


def test_ids_are_those_of_the_library(learnt):
    theirs = of_the_library(TEXTS, 700)
    for text in [*TEXTS, "a text that was never seen, with größere Köpfe: 注意 🙃"]:
        assert learnt.encode(text) == theirs.encode(WORD.findall(text), is_pretokenized=True).ids
    assert len(learnt) == theirs.get_vocab_size() == 700


@given(st.text(alphabet=st.sampled_from("ab \n"), max_size=80), st.integers(257, 290))
@settings(max_examples=15)
def test_runs_and_ties_are_settled_as_the_library_does(text, vocab_size):
    ours, theirs = BytePairs.learn([text], vocab_size), of_the_library([text], vocab_size)
    assert len(ours) == theirs.get_vocab_size()
    encoded = theirs.encode(WORD.findall(text), is_pretokenized=True).ids
    assert ours.encode(text) == encoded


@given(st.text(max_size=40))
@example("\n\n    x\t\r\n 👩‍👩‍👧 \x00\x1f नमस्ते <end>")
@settings(max_examples=15)
def test_every_text_comes_back(learnt, text):
    ids = learnt.encode(text)
    assert learnt.decode(ids) == "".join(learnt.decode_stream(ids)) == text
    assert "".join(WORD.findall(text)) == text, "the words are the whole text"
    assert END_OF_TEXT not in ids


def test_a_character_of_several_tokens_comes_with_the_last():
    ids = BytePairs().encode("a🙂b")
    assert list(BytePairs().decode_stream(ids)) == ["a", "", "", "", "🙂", "b", ""]
    assert list(BytePairs().decode_stream(ids[:3])) == ["a", "", "", "\ufffd"]
    assert BytePairs().decode([END_OF_TEXT, *ids, END_OF_TEXT]) == "a🙂b"


def test_bytes_that_are_merged_in_two_ways_are_one_token():
    a, b, c = BytePairs().encode("abc")
    found = BytePairs([(a, b), (257, c), (b, c), (a, 259)])
    assert found.pieces[257:] == [b"ab", b"abc", b"bc"]
    assert found.encode("abc bc") == [258, BytePairs().encode(" ")[0], 259]


def test_all_texts_in_one_row_with_an_end_after_each(learnt):
    row = learnt.encode_all(["one", "", "two"])
    expected = [*learnt.encode("one"), END_OF_TEXT, END_OF_TEXT, *learnt.encode("two"), END_OF_TEXT]
    assert row.tolist() == expected
    assert learnt.encode_all([]).shape == (0,)


def test_few_texts_make_few_tokens_and_what_cannot_be_is_refused():
    assert len(BytePairs.learn(["ab"], 999)) == 258
    assert len(BytePairs.learn([], 999)) == 257
    with pytest.raises(ValueError, match="257 tokens; got vocab_size 256"):
        BytePairs.learn(["a"], 256)
    with pytest.raises(UnicodeEncodeError):
        BytePairs().encode("\ud800")


def test_every_token_has_a_name_that_can_be_seen(learnt):
    names = [learnt.name(token) for token in range(len(learnt))]
    assert all(name.isprintable() and name for name in names)
    assert names[END_OF_TEXT] == "end of text"
    letters = BytePairs()
    found = [letters.name(letters.encode(letter)[0]) for letter in (" ", "\n", "a", "\x00", "ü")]
    assert found == ["·", "⏎", "a", "bytes 00", "bytes c3"]
    assert visible("a b\n\tc") == "a·b⏎⇥c"
