"""The grammar's German is right, and what is drawn is what was asked for."""

import random
from collections import Counter

import pytest

from chapters.ch17_sentences import (
    Sentence,
    WordVocabulary,
    draw_sentences,
    in_english,
    in_german,
    pick_order,
)
from utils.text import BEGIN, END

WRITTEN = [
    (
        Sentence("man", "", "see", "past", True, "old", "hat", "yesterday", True),
        "yesterday the man saw the old hat",
        ["gestern hat der Mann den alten Hut gesehen"],
    ),
    (
        Sentence("woman", "small", "buy", "can", True, "", "book", "today", False),
        "the small woman can buy the book today",
        [
            "heute kann die kleine Frau das Buch kaufen",
            "die kleine Frau kann heute das Buch kaufen",
            "die kleine Frau kann das Buch heute kaufen",
        ],
    ),
    (
        Sentence("child", "", "find", "present", False, "red", "flower", "now", False),
        "the child finds a red flower now",
        ["jetzt findet das Kind eine rote Blume", "das Kind findet jetzt eine rote Blume"],
    ),
]


@pytest.mark.parametrize(("sentence", "english", "german"), WRITTEN)
def test_a_sentence_is_written_in_both_languages(sentence, english, german):
    assert in_english(sentence) == english
    assert in_german(sentence) == german


def test_sentences_differ_and_keep_to_the_nouns_asked_for():
    found = draw_sentences(500, seed=0, objects=["hat", "king"], subjects=["queen"])
    assert len(set(found)) == 500
    assert {one.object for one in found} == {"hat", "king"}
    assert {one.subject for one in found} == {"queen"}
    assert not any(one.object == "king" and one.verb in ("buy", "sell") for one in found)
    assert found == draw_sentences(500, seed=0, objects=["hat", "king"], subjects=["queen"])


def test_the_time_comes_first_in_four_of_ten():
    draw = random.Random(0)
    picked = Counter(pick_order(["a", "b", "c"], draw) for _ in range(4000))
    assert abs(picked["a"] / 4000 - 0.4) < 0.03
    assert abs(picked["b"] / 4000 - 0.3) < 0.03
    assert pick_order(["a"], draw) == "a"


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"objects": ["hut"]}, "no such noun there: .*hut"),
        ({"subjects": ["hat"]}, "no such noun there: .*hat"),
        ({"n": 6000, "objects": ["king"], "subjects": ["man"]}, "do not make 6000"),
    ],
)
def test_what_cannot_be_drawn_is_refused(options, says):
    with pytest.raises(ValueError, match=says):
        draw_sentences(**{"n": 5, "seed": 0} | options)


def test_words_become_ids_and_come_back():
    words = WordVocabulary(["der alte Hut", "der Mann"])
    ids = words.encode(["der Hut", "der alte Mann"])
    assert len(words) == 3 + 4
    assert ids.tolist() == [[BEGIN, 6, 3, END, 0], [BEGIN, 6, 5, 4, END]]
    assert words.decode(ids) == ["der Hut", "der alte Mann"]
    assert words.decode(ids[:, 1:3]) == ["der Hut", "der alte"]
    with pytest.raises(ValueError, match="no word 'Frau'"):
        words.encode(["der Frau"])
