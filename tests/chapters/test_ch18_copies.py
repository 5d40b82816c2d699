"""How much is copied: the automaton finds what trying every substring finds."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from chapters.ch18_copies import copied_runs, longest_copies

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
    assert longest_copies([text], sources) == [max(runs, default=0)]


def test_examples():
    sources = ["the heads of a layer", "a layer of heads"]
    assert longest_copies(["all heads of a layer are"], sources) == [len(" heads of a layer")]
    assert longest_copies(["aé🙂b"], ["é🙂"]) == [2]
    assert longest_copies(["cab", "", "xa"], ["ab", "cx"]) == [2, 0, 1]
    assert copied_runs("ab", ["a", "b"]) == [1, 1], "a run lies within one source"
    assert copied_runs("abc", []) == [0, 0, 0]
    assert longest_copies(["", "abc"], []) == longest_copies(["", "x"], ["abc"]) == [0, 0]
    text = "ab" * 3000  # linear in its length, not quadratic
    assert copied_runs(text, [text]) == list(range(1, 6001))
    with pytest.raises(TypeError, match="brackets"):
        copied_runs("abc", "abc")
