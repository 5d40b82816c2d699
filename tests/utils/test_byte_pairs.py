"""Byte pairs are those of the loop by hand, and every text comes back as it was."""

from collections import Counter
from itertools import pairwise

import pytest
import torch
from hypothesis import example, given, settings
from hypothesis import strategies as st

from utils.byte_pairs import END_OF_TEXT, WORD, BytePairs, visible

TEXTS = [
    torch.einsum.__doc__,
    torch.nn.MultiheadAttention.__doc__,
    "aaaa aaaaa aaaaaaa abab ababab banana bananas",
    "für Größe, größer: naïve café, Größen und größere Cafés",
    "κεφαλή, κεφαλές 注意力 注意力机制 🙂🙂 👩‍👩‍👧 नमस्ते नमस्ते",
]


def by_hand(texts, vocab_size):
    """Merge the most frequent pair, of equals the one with the smaller ids, as chapter 18 does."""
    words = [BytePairs().encode(word) for text in texts for word in WORD.findall(text)]
    pieces, merges = list(BytePairs().pieces), []
    while len(pieces) < vocab_size and (pairs := Counter(p for w in words for p in pairwise(w))):
        best = min(pairs, key=lambda pair: (-pairs[pair], pair))
        merges.append(best)
        if (piece := pieces[best[0]] + pieces[best[1]]) not in pieces:
            pieces.append(piece)
        words = [merged(word, best, pieces.index(piece)) for word in words]
    return merges, [i for word in words for i in word]


def merged(word, pair, new):
    ids = []
    for i in word:
        if ids and (ids[-1], i) == pair:
            ids[-1] = new
        else:
            ids.append(i)
    return ids


@pytest.fixture(scope="module")
def learnt():
    return BytePairs.learn(TEXTS, 700)


def test_merges_and_ids_are_those_of_the_loop_by_hand(learnt):
    merges, ids = by_hand(TEXTS, 400)
    assert learnt.merges[: len(merges)] == merges
    assert [i for text in TEXTS for i in BytePairs(merges).encode(text)] == ids
    assert len(learnt) == 700


@given(st.text(alphabet=st.sampled_from("ab \n"), max_size=80), st.integers(257, 290))
@settings(max_examples=15)
def test_runs_and_ties_are_settled_as_by_hand(text, vocab_size):
    learnt = BytePairs.learn([text], vocab_size)
    assert (learnt.merges, learnt.encode(text)) == by_hand([text], vocab_size)


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
