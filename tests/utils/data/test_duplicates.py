"""Texts that nearly stand in the training are found, and no others."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from utils.data import near_duplicates

WORDS = [f"w{i}" for i in range(40)]
TEXT = " ".join(WORDS)


def test_a_line_that_was_changed_does_not_hide_a_text():
    changed = " ".join([*WORDS[:38], "other", "end"])  # 31 of its 33 runs are in TEXT
    assert near_duplicates(["something else", TEXT], ["unknown", changed]) == [(1, 1)]
    assert near_duplicates([TEXT], [changed], share=0.95) == []


def test_case_and_punctuation_do_not_count():
    assert near_duplicates(["Can you, can that?"], ["can YOU can that!"]) == [(0, 0)]


def test_what_is_asked_is_the_share_of_the_text_in_the_test():
    part = " ".join(WORDS[:20])
    assert near_duplicates([TEXT], [part]) == [(0, 0)]  # all of it has been seen
    assert near_duplicates([part], [TEXT]) == []  # 13 of its 33 runs


def test_a_run_that_is_repeated_counts_once():
    text = " ".join(["a"] * 30 + WORDS[:8])  # 9 different runs, 23 of them in a row the same
    assert near_duplicates([" ".join(["a"] * 30)], [text]) == []


def test_pairs_stand_in_the_order_of_the_test_then_of_the_training():
    assert near_duplicates([TEXT, "x", TEXT], [TEXT, "x"]) == [(0, 0), (2, 0), (1, 1)]


def test_a_text_without_words_is_like_no_other():
    assert near_duplicates(["", "...", TEXT], ["", "!"]) == []
    assert near_duplicates([], [TEXT]) == []


@given(st.lists(st.sampled_from("abc"), min_size=1, max_size=12), st.integers(1, 4))
def test_a_text_is_its_own_duplicate(letters, words):
    text = " ".join(letters)
    assert near_duplicates([text], [text], share=1.0, words=words) == [(0, 0)]


@pytest.mark.parametrize("settings", [{"share": 0.0}, {"share": 1.1}, {"words": 0}])
def test_what_is_no_share_or_no_run_is_refused(settings):
    with pytest.raises(ValueError, match="a share above 0"):
        near_duplicates([TEXT], [TEXT], **settings)


def test_a_single_text_is_refused():
    with pytest.raises(TypeError, match="lists of texts"):
        near_duplicates([TEXT], TEXT)
