"""The intervals that chapter 7 and appendix A3 name, from their kept rows, in another way."""

from itertools import pairwise

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from tools.notebooks import ROOT

NOTEBOOK = ROOT / "notebooks" / "A3-order-and-the-news.ipynb"
RESULTS = ROOT / "notebooks" / "results"
KINDS = ["sinusoidal", "learned", "rotary", "ALiBi"]


@pytest.fixture(scope="module")
def order():
    return pd.read_csv(RESULTS / "07-order.csv", comment="#").set_index(["kind", "seed"])


@pytest.fixture(scope="module")
def hands():
    return pd.read_csv(RESULTS / "07-hands.csv", comment="#").set_index(["kind", "seed"])


@pytest.fixture(scope="module")
def news():
    """The kept rows of appendix A3: by training, kind, size and order."""
    rows = pd.read_csv(RESULTS / "A3-order.csv", comment="#")
    keys = ["training", "kind", "size", "order"]
    return {key: group.sort_values("seed") for key, group in rows.groupby(keys)}


def t_interval(values):
    return stats.t.interval(0.95, len(values) - 1, np.mean(values), stats.sem(values))


def test_eight_seeds_of_each_kind(order, hands, news):
    assert hands.groupby("kind").size().to_dict() == dict.fromkeys(KINDS, 8)
    assert order.groupby("kind").size().to_dict() == dict.fromkeys(KINDS, 8)
    for (training, kind, *_), rows in news.items():
        least = 8 if training == "last" and kind != "rotary" else 3  # fewer are called a hint
        assert rows["seed"].tolist()[:least] == list(range(least))


@pytest.mark.parametrize(
    ("kind", "column"),
    [(kind, column) for kind in ("sinusoidal", "rotary") for column in ("at 512", "far apart")],
)
def test_these_are_below_a_coin(order, kind, column):
    assert t_interval(order.loc[kind, column])[1] < 0.5


@pytest.mark.parametrize("kind", ["sinusoidal", "learned", "rotary"])
def test_three_kinds_are_right_about_early_words_and_wrong_about_late_ones(order, kind):
    early, late = (t_interval(order.loc[kind, column]) for column in ("early", "late"))
    assert early[0] > 0.5 > late[1]


def test_a_learned_table_guesses_where_two_words_are_far_apart(order):
    low, high = t_interval(order.loc["learned", "far apart"])
    assert low < 0.5 < high


def test_half_an_interval_is_as_the_chapter_says(order):
    for kind, half in (("sinusoidal", 0.16), ("rotary", 0.10)):
        low, high = t_interval(order.loc[kind, "far apart"])
        assert (high - low) / 2 == pytest.approx(half, abs=0.005)


def test_the_same_models_answer_the_same_texts(order, hands):
    for column in ("late", "far apart"):
        again = hands[f"{column}, none"].dropna()
        assert np.allclose(again, order.loc[again.index, column], atol=1e-3)


@pytest.mark.parametrize("kind", ["sinusoidal", "rotary"])
def test_two_groups_of_hands_mislead_and_the_others_do_not(hands, kind):
    rows = hands.loc[kind]
    assert len(rows) == 8
    for column, guilty in (("late", "0.1"), ("far apart", "0.01")):
        for slowed in ("1", "0.001"):
            low, high = t_interval(rows[f"{column}, {slowed}"] - rows[f"{column}, none"])
            assert low > -0.1
            assert high < 0.1
        for slowed in (guilty, "0.1 and 0.01"):
            assert t_interval(rows[f"{column}, {slowed}"] - rows[f"{column}, none"])[0] > 0.2


def test_a_slower_clock_mends_all_kinds_in_every_run(order):
    assert (order["squeezed"] > 0.85).all()
    means = order.groupby("kind")[["at 64", "at 128", "at 256", "at 512"]].mean()
    for kind in ("sinusoidal", "rotary", "ALiBi"):
        assert all(a > b for a, b in pairwise(means.loc[kind]))


def right(rows):
    """Where each run is right, (runs, articles)."""
    found = np.ones((len(rows), 500))
    for run, wrong in zip(found, rows["wrong"], strict=True):
        run[[int(place) for place in wrong.split()[1:]]] = 0
    np.testing.assert_allclose(found.mean(axis=1), rows["accuracy"])
    return found


def gain(news, kind, size):
    """The mean gain over the models without positions, and its interval, drawn in a loop."""
    gains = right(news["last", kind, size, "as is"]) - right(news["last", "none", 1.0, "as is"])
    draw = np.random.default_rng(1)
    means = [
        gains[draw.integers(8, size=8)][:, draw.integers(500, size=500)].mean() for _ in range(4000)
    ]
    return gains.mean(), *np.quantile(means, [0.025, 0.975])


def test_without_positions_they_are_the_last_models_of_chapter_8(news):
    rows = pd.read_csv(RESULTS / "08-test.csv", comment="#")
    last = rows[rows["model"] == "last"].sort_values("seed")
    none = news["last", "none", 1.0, "as is"]
    assert none["wrong"].tolist() == last["wrong"].tolist()
    assert (none["accuracy"] == none["accuracy shuffled"]).all()


@pytest.mark.parametrize(
    ("kind", "pattern"),
    [
        ("sinusoidal", r"table as it is costs ([\d.]+) \(([\d.]+) to ([\d.]+)\)"),
        ("ALiBi", r"and ALiBi ([\d.]+) \(([\d.]+) to ([\d.]+)\)"),
    ],
)
def test_what_a_kind_costs(said, news, kind, pattern):
    mean, low, high = gain(news, kind, 1.0)
    assert said(pattern) == pytest.approx([-mean, -high, -low], abs=0.0025)


@pytest.mark.parametrize(
    ("kind", "size"), [("sinusoidal", 0.1), ("learned", 0.1), ("ALiBi", 1 / 64)]
)
def test_the_others_cost_and_gain_nothing_that_shows(news, kind, size):
    _, low, high = gain(news, kind, size)
    assert low < 0 < high


def test_seven_and_eight_models_with_alibi_lose_by_shuffled_articles(news):
    for size, models in {1.0: 7, 1 / 64: 8}.items():
        rows = news["last", "ALiBi", size, "as is"]
        assert (rows["accuracy shuffled"] < rows["accuracy"]).sum() == models
