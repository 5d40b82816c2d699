"""Every check accepts the right answers and names the mistake of the wrong ones.

The answers are in ``answers``, one file a chapter: RIGHT gives for each check functions that are
right, WRONG functions that are not, with words of the sentence that says why. What a table holds
is not repeated there: it tests itself.
"""

import runpy
from pathlib import Path

import pytest

TABLES = [runpy.run_path(str(path)) for path in sorted(Path(__file__).parent.glob("answers/*.py"))]


def rows(kind):
    return [(c, row) for t in TABLES for c, rows in t.get(kind, {}).items() for row in rows]


@pytest.mark.parametrize(("check", "answer"), rows("RIGHT"))
def test_what_is_right_is_accepted(check, answer):
    assert check(answer) == "Right."


@pytest.mark.parametrize(("check", "row"), rows("WRONG"))
def test_what_is_wrong_is_named(check, row):
    answer, words = row
    said = check(answer)
    assert said.startswith("Not yet: ")
    assert words in said
