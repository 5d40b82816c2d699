"""The intervals of chapter 15's search, recomputed from the table of its twenty questions."""

import re
from pathlib import Path

import nbformat
import numpy as np
import pandas as pd
import pytest

NOTEBOOK = Path(__file__).parents[3] / "notebooks" / "15-real-weights.ipynb"
CELLS = nbformat.read(NOTEBOOK, as_version=4).cells
TEXT = " ".join(c.source for c in CELLS if c.cell_type == "markdown")


@pytest.fixture(scope="module")
def recalls():
    """Recall at 5 of each question, in percent: (kind of words, way) in the columns."""
    (cell,) = (c for c in CELLS if c.source.startswith("# @title Recall at 5, question"))
    printed = "".join(o.get("text", "") for o in cell.outputs)
    rows = [[int(number) for number in line.split()[:6]] for line in printed.splitlines()[2:]]
    assert len(rows) == 20
    kinds = ("own words", "technical terms")
    ways = ("BM25", "vectors", "both")
    return pd.DataFrame(rows, columns=pd.MultiIndex.from_product([kinds, ways]))


def difference(recalls, kind, first, second):
    """In points: the paired mean and its percentile interval, with draws of our own."""
    return interval(recalls[kind, first] - recalls[kind, second])


def interval(gaps):
    """Give the mean of these gaps and its percentile interval."""
    gaps = gaps.to_numpy()
    draws = np.random.default_rng(1).choice(gaps, (20_000, 20)).mean(axis=1)
    return gaps.mean(), *np.quantile(draws, [0.025, 0.975])


def said(pattern):
    (found,) = re.findall(pattern, TEXT)
    return [float(number.replace("−", "-")) for number in found]


def test_vectors_find_more_in_our_own_words(recalls):
    vectors, words, gap, low, high = said(
        r"the mean recall is (\d+) percent for vectors and (\d+) for BM25, "
        r"a gap of (\d+) points \((\d+) to (\d+)\)"
    )
    own = recalls["own words"].mean()
    assert [vectors, words] == pytest.approx([own["vectors"], own["BM25"]], abs=1)
    found = difference(recalls, "own words", "vectors", "BM25")
    assert [gap, low, high] == pytest.approx(found, abs=1.5)


def test_no_difference_is_seen_in_technical_terms(recalls):
    vectors, words, low, high = said(
        r"In technical terms it is (\d+) and (\d+), and no difference is to be seen "
        r"\((−?\d+) to (\d+)\)"
    )
    terms = recalls["technical terms"].mean()
    assert [vectors, words] == pytest.approx([terms["vectors"], terms["BM25"]], abs=1)
    found = difference(recalls, "technical terms", "vectors", "BM25")
    assert [low, high] == pytest.approx(found[1:], abs=1.5)


def test_both_together_find_fewer_than_vectors_alone(recalls):
    gap, low, high = said(
        r"finds (\d+) points less than the vectors alone, in an interval "
        r"that just reaches zero \((−\d+) to (\d+)\)"
    )
    found = difference(recalls, "own words", "both", "vectors")
    assert [-gap, low, high] == pytest.approx(found, abs=1.5)


def test_the_right_word_is_worth_more_than_the_method(recalls):
    points = said(
        r"adds (\d+) points to vectors \((\d+) to (\d+)\) and (\d+) to BM25 \((\d+) to (\d+)\)"
    )
    gained = recalls["technical terms"] - recalls["own words"]
    found = *interval(gained["vectors"]), *interval(gained["BM25"])
    assert points == pytest.approx(found, abs=1.5)


def test_vectors_find_nothing_for_some_questions_in_our_own_words(recalls):
    nothing, asked = said(r"for (\d+) of the (\d+) questions in our own words")
    assert nothing == (recalls["own words", "vectors"] == 0).sum()
    assert asked == len(recalls)
