"""The intervals and means that appendix A4 names, computed again from its kept rows."""

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from tools.notebooks import ROOT

NOTEBOOK = ROOT / "notebooks" / "A4-which-heads-can-go.ipynb"
RESULTS = ROOT / "notebooks" / "results"
ORDERS = ["again", "ablation", "gradient", "confidence"]  # "again" is told as "one by one"
RANGES = [4, 7]  # over one to so many heads out


@pytest.fixture(scope="module")
def pruned():
    return pd.read_csv(RESULTS / "A4-pruned.csv", comment="#").set_index("seed").sort_index()


@pytest.fixture(scope="module")
def built():
    """The test accuracy of models built with four, two and one heads, by seed."""
    rows = pd.read_csv(RESULTS / "A4-trained.csv", comment="#")
    return {n: own.set_index("seed")["accuracy"] for n, own in rows.groupby("num_heads")}


def signed(number, digits):
    return f"{number:.{digits}f}".replace("-", "−")


def as_told(values, digits):
    """Mean and interval, for 17 comparisons at once, as the prose writes them."""
    wide = 1 - 0.05 / 17
    low, high = stats.t.interval(wide, len(values) - 1, np.mean(values), stats.sem(values))
    mean, low, high = (signed(x, digits) for x in (np.mean(values), low, high))
    return f"{mean} ({low} to {high})"


def gains(pruned, order, last=7):
    columns = [pruned[f"{order} {n}"] - pruned[f"chance {n}"] for n in range(1, last + 1)]
    return sum(columns) / last


def test_how_many_seeds_of_each(pruned, built):
    assert list(pruned.index) == sorted(built[4].index) == list(range(16))
    assert sorted(built[2].index) == sorted(built[1].index) == list(range(8))


@pytest.mark.parametrize("num_heads", [4, 2, 1])
def test_what_built_with_fewer_lack(pruned, built, num_heads, prose):
    assert as_told((built[num_heads] - pruned["chance 0"]).dropna(), 3) in prose


def test_what_built_with_four_gain(pruned, built, prose):
    assert as_told(built[4] - pruned["again 4"], 3) in prose


@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("last", RANGES)
def test_what_an_order_gains(pruned, order, last, prose):
    assert as_told(gains(pruned, order, last), 3) in prose


@pytest.mark.parametrize("last", RANGES)
def test_what_measuring_anew_gains(pruned, last, prose):
    difference = gains(pruned, "again", last) - gains(pruned, "ablation", last)
    assert as_told(difference, 3) in prose


def test_what_copies_keep_and_what_training_on_makes_of_the_choice(pruned, prose):
    longer = pd.read_csv(RESULTS / "A4-longer.csv", comment="#").set_index("seed")
    assert sorted(longer.index) == list(range(8))
    kept = (longer["4 copies out"] - pruned["chance 4"]).dropna()
    best = longer["best trained on"]
    for difference in (kept, best - longer["worst trained on"], best - longer["built trained on"]):
        assert as_told(difference, 3) in prose
