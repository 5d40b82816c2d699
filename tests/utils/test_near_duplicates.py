"""Texts that nearly stand in the training are found, and no others."""

import pytest

from utils.news import near_duplicates

WORDS = [f"w{i}" for i in range(40)]
TEXT = " ".join(WORDS)
PART = " ".join(WORDS[:20])
CHANGED = " ".join([*WORDS[:38], "other", "end"])  # 31 of its 33 runs are in TEXT
REPEATED = " ".join(["a"] * 30)


@pytest.mark.parametrize(
    ("train", "test", "found"),
    [
        (["something else", TEXT], ["unknown", CHANGED], [(1, 1)]),
        (["", "Can you, can that?"], ["!", "can YOU can that!"], [(1, 1)]),
        ([TEXT], [PART], [(0, 0)]),  # all of the test's text has been seen
        ([PART], [TEXT], []),  # 13 of its 33 runs
        # 9 different runs, 23 of them in a row the same: a run that is repeated counts once
        ([REPEATED], [" ".join([REPEATED, *WORDS[:8]])], []),
        ([TEXT, "x", TEXT], [TEXT, "x"], [(0, 0), (2, 0), (1, 1)]),
        ([], [TEXT], []),
    ],
)
def test_what_is_nearly_the_same_is_found(train, test, found):
    assert near_duplicates(train, test) == found


def test_the_share_is_counted_in_runs():
    assert near_duplicates([TEXT], [CHANGED], share=0.93) == [(0, 0)]  # 31 of 33
    assert near_duplicates([TEXT], [CHANGED], share=0.95) == []


def test_what_is_no_share_no_run_and_no_list_is_refused():
    for options in ({"share": 0.0}, {"share": 1.1}, {"words": 0}):
        with pytest.raises(ValueError, match="a share above 0"):
            near_duplicates([TEXT], [TEXT], **options)
    with pytest.raises(TypeError, match="lists of texts"):
        near_duplicates([TEXT], TEXT)
