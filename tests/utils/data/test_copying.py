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


def test_examples():
    sources = ["the heads of a layer", "a layer of heads"]
    assert longest_copy("all heads of a layer are", sources) == " heads of a layer"
    assert longest_copy("aé🙂b", ["é🙂"]) == "é🙂"
    assert longest_copies(["cab", "", "xa"], ["ab", "cx"]) == [2, 0, 1]
    assert copied_runs("ab", ["a", "b"]) == [1, 1], "a run lies within one source"
    assert copied_runs("abc", []) == [0, 0, 0]
    assert longest_copy("", ["abc"]) == longest_copy("abc", []) == ""
    text = "ab" * 3000  # linear in its length, not quadratic
    assert copied_runs(text, [text]) == list(range(1, 6001))
    with pytest.raises(TypeError, match="brackets"):
        copied_runs("abc", "abc")
