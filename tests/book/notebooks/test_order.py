"""The intervals that chapter 7 and appendix A3 name, from their kept rows, in another way."""

from itertools import pairwise

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from tools.notebooks import ROOT

RESULTS = ROOT / "notebooks" / "results"
KINDS = ["sinusoidal", "learned", "rotary", "ALiBi"]


@pytest.fixture(scope="module")
def order():
    return pd.read_csv(RESULTS / "07-order.csv", comment="#").set_index(["kind", "seed"])


@pytest.fixture(scope="module")
def news():
    rows = pd.read_csv(RESULTS / "A3-news.csv", comment="#")
    usual = rows.query("scale == 1 and drawn == 1 and times == 1")
    return usual.pivot(index="seed", columns="kind", values="test")


def t_interval(values):
    return stats.t.interval(0.95, len(values) - 1, np.mean(values), stats.sem(values))


def test_eight_seeds_of_each_kind(order, news):
    assert order.groupby("kind").size().to_dict() == dict.fromkeys(KINDS, 8)
    assert news.shape == (8, 5)
    assert not news.isna().any(axis=None)


@pytest.mark.parametrize(
    ("kind", "column"),
    [("sinusoidal", "at 512"), ("rotary", "at 512"), ("learned", "one beyond")],
)
def test_these_are_below_a_coin(order, kind, column):
    assert t_interval(order.loc[kind, column])[1] < 0.5


def test_a_learned_table_is_right_about_early_words_and_wrong_about_late_ones(order):
    early, late = (t_interval(order.loc["learned", column]) for column in ("early", "late"))
    assert early[0] > 0.5 > late[1]


def test_a_slower_clock_mends_all_kinds_in_every_run(order):
    assert (order["squeezed"] > 0.85).all()
    means = order.groupby("kind")[["at 64", "at 128", "at 256", "at 512"]].mean()
    for kind in ("sinusoidal", "rotary", "ALiBi"):
        assert all(a > b for a, b in pairwise(means.loc[kind]))


@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_costs_accuracy_on_the_news(news, kind):
    """By drawing seeds and articles anew, the latter for each model by itself, four at once."""
    draw = np.random.default_rng(0)
    means = news[[kind, "none"]].to_numpy()  # (seeds, 2)
    seeds = draw.integers(8, size=(20_000, 8))
    drawn = means[seeds].mean(axis=1)  # (20000, 2)
    drawn += draw.binomial(500, means.mean(axis=0), size=drawn.shape) / 500 - means.mean(axis=0)
    assert np.quantile(drawn[:, 0] - drawn[:, 1], 1 - 0.025 / 4) < 0
