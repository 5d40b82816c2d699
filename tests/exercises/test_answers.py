"""Every check accepts the right answers and names the mistake of the wrong ones.

The answers are in ``answers``, one file a chapter: RIGHT gives for each check functions that are
right, WRONG functions that are not, with words of the sentence that says why. Between the two may
stand edits, {old: new}: the function is then right, and wrong with these changes of its source.
"""

import inspect
import re
import runpy
from pathlib import Path

import pytest

TABLES = [runpy.run_path(str(path)) for path in sorted(Path(__file__).parent.glob("answers/*.py"))]


def edited(function, edits):
    source = inspect.getsource(function)
    missing = [old for old in edits if old not in source]
    assert not missing, f"{function.__name__} has no {missing}"
    source = re.sub("|".join(map(re.escape, edits)), lambda found: edits[found[0]], source)
    scope = dict(function.__globals__)
    exec(source, scope)
    return scope[function.__name__]


@pytest.mark.parametrize(
    ("check", "function"), [(c, f) for t in TABLES for c, fs in t["RIGHT"].items() for f in fs]
)
def test_what_is_right_is_accepted(check, function):
    assert check(function) == "Right."


@pytest.mark.parametrize(
    ("check", "function", "edits", "words"),
    [
        (c, function, dict(*edits), words)
        for t in TABLES
        for c, rows in t["WRONG"].items()
        for function, *edits, words in rows
    ],
)
def test_what_is_wrong_is_named(check, function, edits, words):
    said = check(edited(function, edits) if edits else function)
    assert said.startswith("Not yet: ")
    assert words in said
