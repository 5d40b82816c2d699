"""Every check accepts the right answers and names the mistake of the wrong ones.

The answers are in ``answers``, one file a chapter: RIGHT gives for each check functions that are
right, WRONG functions that are not, with words of the sentence that says why.
"""

import runpy
from pathlib import Path

import pytest

TABLES = [runpy.run_path(str(path)) for path in sorted(Path(__file__).parent.glob("answers/*.py"))]


@pytest.mark.parametrize(
    ("check", "function"), [(c, f) for t in TABLES for c, fs in t["RIGHT"].items() for f in fs]
)
def test_what_is_right_is_accepted(check, function):
    assert check(function) == "Right."


@pytest.mark.parametrize(
    ("check", "function", "words"),
    [(c, *row) for t in TABLES for c, rows in t["WRONG"].items() for row in rows],
)
def test_what_is_wrong_is_named(check, function, words):
    said = check(function)
    assert said.startswith("Not yet: ")
    assert words in said
