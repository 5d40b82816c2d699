"""How much is copied: the automaton finds what trying every substring finds."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from utils.data import copied_runs, longest_copies, longest_copy

letters = st.text(alphabet="abc", max_size=30)
few_examples = settings(max_examples=30)


def by_trying(text, sources):
    """The longest run up to each character that is in a source."""
    return [
        max(n for n in range(end + 1) if any(text[end - n : end] in source for source in sources))
        for end in range(1, len(text) + 1)
    ]


@given(letters, st.lists(letters, min_size=1, max_size=4))
@few_examples
def test_runs_are_those_that_trying_finds(text, sources):
    runs = copied_runs(text, sources)
    assert runs == by_trying(text, sources)
    copy = longest_copy(text, sources)
    assert len(copy) == max(runs, default=0)
    assert copy in text
    assert any(copy in source for source in sources)


@given(st.lists(letters, max_size=4), st.lists(letters, min_size=1, max_size=4))
@few_examples
def test_several_texts_at_once(texts, sources):
    assert longest_copies(texts, sources) == [len(longest_copy(text, sources)) for text in texts]


def test_an_example():
    sources = ["the heads of a layer", "a layer of heads"]
    assert longest_copy("all heads of a layer are", sources) == " heads of a layer"
    assert copied_runs("xab", ["cab"]) == [0, 1, 2]
    assert longest_copy("aé🙂b", ["é🙂"]) == "é🙂"


def test_a_run_lies_within_one_source():
    assert copied_runs("ab", ["a", "b"]) == [1, 1]


def test_nothing_is_copied_from_nothing():
    assert copied_runs("abc", []) == [0, 0, 0]
    assert copied_runs("", ["abc"]) == []
    assert longest_copy("", ["abc"]) == longest_copy("abc", []) == ""


def test_a_text_that_is_copied_whole():
    text = "ab" * 3000  # linear in its length, not quadratic
    assert copied_runs(text, [text]) == list(range(1, 6001))


def test_a_single_string_is_no_list_of_sources():
    with pytest.raises(TypeError, match="brackets"):
        copied_runs("abc", "abc")
