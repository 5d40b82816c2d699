"""Byte pairs are those of the library tokenizers, and every text comes back as it was."""

import json
from collections import Counter
from itertools import pairwise

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers

from utils.data import END_OF_TEXT, BytePairs, visible
from utils.data.byte_pairs import WORD
from utils.data.docstrings import __doc__ as ABOUT

TEXTS = [
    pytest.__doc__ or "",
    ABOUT,
    Tokenizer.__doc__ or "",
    torch.einsum.__doc__,
    torch.nn.MultiheadAttention.__doc__,
    "aaaa aaaaa aaaaaaa abab ababab banana bananas",
    "für Größe, größer: naïve café, Größen und größere Cafés",
    "κεφαλή, κεφαλές 注意力 注意力机制 🙂🙂 👩‍👩‍👧 नमस्ते नमस्ते",
]


few_examples = settings(max_examples=30)


def words(text):
    return WORD.findall(text)


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
    tokenizer.train_from_iterator([word for text in texts for word in words(text)], trainer)
    return tokenizer


@pytest.fixture(scope="module")
def learnt():
    return BytePairs.learn(TEXTS, 900)


def test_the_merges_are_those_of_the_library(learnt):
    theirs = of_the_library(TEXTS, 900)
    assert len(learnt) == theirs.get_vocab_size() == 900
    letter = {sign: i for i, sign in enumerate(sorted(pre_tokenizers.ByteLevel.alphabet()), 1)}
    assert all(theirs.token_to_id(sign) == i for sign, i in letter.items())
    known = theirs.get_vocab()
    ours = [tuple(known_piece(theirs, learnt.pieces[i]) for i in pair) for pair in learnt.merges]

    merges = json.loads(theirs.to_str())["model"]["merges"]
    assert ours == [tuple(merge) for merge in merges]
    assert all(known[known_piece(theirs, piece)] == i for i, piece in enumerate(learnt.pieces) if i)


def known_piece(tokenizer, piece):
    """The name that the library has for some bytes."""
    return "".join(tokenizer.id_to_token(BytePairs().pieces.index(bytes([b]))) for b in piece)


@given(st.text(alphabet=st.sampled_from("ab \n"), max_size=80), st.integers(257, 290))
@few_examples
def test_runs_and_ties_are_settled_as_the_library_does(text, vocab_size):
    ours, theirs = BytePairs.learn([text], vocab_size), of_the_library([text], vocab_size)
    assert len(ours) == theirs.get_vocab_size()
    encoded = theirs.encode(words(text), is_pretokenized=True).ids
    assert ours.encode(text) == encoded


def test_texts_get_the_ids_of_the_library(learnt):
    theirs = of_the_library(TEXTS, 900)
    for text in [*TEXTS, "a text that was never seen, with größere Köpfe: 注意 🙃"]:
        ids = theirs.encode(words(text), is_pretokenized=True).ids
        assert learnt.encode(text) == ids


@given(st.text(max_size=40))
@few_examples
def test_every_text_comes_back(learnt, text):
    assert learnt.decode(learnt.encode(text)) == text
    assert "".join(learnt.decode_stream(learnt.encode(text))) == text
    assert "".join(words(text)) == text, "the words are the whole text"


RARE = ["", "\n\n    x\t\r\n", "🙂", "👩‍👩‍👧", "é", "\x00\x1f", "नमस्ते", "<end>"]


@pytest.mark.parametrize("text", RARE)
def test_what_is_rare_comes_back(learnt, text):
    assert learnt.decode(learnt.encode(text)) == text
    assert END_OF_TEXT not in learnt.encode(text)


def test_a_character_of_several_tokens_comes_with_the_last():
    ids = BytePairs().encode("a🙂b")
    assert list(BytePairs().decode_stream(ids)) == ["a", "", "", "", "🙂", "b", ""]
    assert list(BytePairs().decode_stream(ids[:3])) == ["a", "", "", "\ufffd"]
    assert BytePairs().decode([END_OF_TEXT, *ids, END_OF_TEXT]) == "a🙂b"


def test_the_first_merge_is_the_most_frequent_pair():
    text = "the theme of the thesis is there then"
    pairs = Counter(pair for word in words(text) for pair in pairwise(word.encode()))
    first = BytePairs.learn([text], 258).pieces[257]
    assert pairs[tuple(first)] == max(pairs.values()) == 6
    assert first == b"he"  # as frequent as "th", and h comes before t


def test_merges_are_all_that_has_to_be_kept(learnt):
    again = BytePairs([list(pair) for pair in learnt.merges])  # lists, as from a JSON file
    assert again.pieces == learnt.pieces
    assert again.encode(TEXTS[3]) == learnt.encode(TEXTS[3])


def test_bytes_that_are_merged_in_two_ways_are_one_token():
    a, b, c = BytePairs().encode("abc")
    found = BytePairs([(a, b), (257, c), (b, c), (a, 259)])
    assert found.pieces[257:] == [b"ab", b"abc", b"bc"]
    assert found.encode("abc bc") == [258, BytePairs().encode(" ")[0], 259]


def test_all_texts_in_one_row_with_an_end_after_each(learnt):
    row = learnt.encode_all(["one", "", "two"])
    assert row.dtype == torch.int64
    expected = [*learnt.encode("one"), END_OF_TEXT, END_OF_TEXT, *learnt.encode("two"), END_OF_TEXT]
    assert row.tolist() == expected
    assert learnt.encode_all([]).shape == (0,)


def test_short_texts_have_no_pair_left():
    assert len(BytePairs.learn(["ab"], 999)) == 258
    assert len(BytePairs.learn([], 999)) == 257


def test_what_cannot_be_is_refused():
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
