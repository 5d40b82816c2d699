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
def slowed():
    return pd.read_csv(RESULTS / "07-slowed.csv", comment="#").set_index(["kind", "seed"])


@pytest.fixture(scope="module")
def news():
    """The kept rows of appendix A3: by training, kind, size and order."""
    rows = pd.read_csv(RESULTS / "A3-order.csv", comment="#")
    keys = ["training", "kind", "size", "order"]
    return {key: group.sort_values("seed") for key, group in rows.groupby(keys)}


@pytest.fixture(scope="module")
def mixed():
    """The kept rows of appendix A3's shuffled articles: by kind and size."""
    return pd.read_csv(RESULTS / "A3-shuffled.csv", comment="#").groupby(["kind", "size"])


def t_interval(values):
    return stats.t.interval(0.95, len(values) - 1, np.mean(values), stats.sem(values))


def test_eight_seeds_of_each_kind(order, hands, slowed, news):
    assert slowed.groupby("kind").size().to_dict() == dict.fromkeys(KINDS[:3], 8)
    assert hands.groupby("kind").size().to_dict() == dict.fromkeys(KINDS, 8)
    assert order.groupby("kind").size().to_dict() == dict.fromkeys(KINDS, 8)
    for (training, kind, *_), rows in news.items():
        seeds = {"last": 8, "first": 3}[training]  # three are called a hint
        assert rows["seed"].tolist() == list(range(seeds)), (training, kind)


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


@pytest.mark.parametrize("kind", ["sinusoidal", "rotary"])
def test_the_pair_of_hands_mends_other_texts_as_well(hands, slowed, kind):
    rows = slowed.loc[kind]
    assert len(rows) == 8
    assert t_interval(rows["at 512, none"])[1] < 0.5
    assert t_interval(rows["at 512, 0.1 and 0.01"])[0] > 0.9
    gap = rows["at 512, 0.1 and 0.01"] - hands.loc[kind, "at 512, 0.1 and 0.01"]
    assert abs(gap.mean()) < 0.02  # the pair was not chosen by luck


@pytest.mark.parametrize("kind", ["sinusoidal", "rotary"])
def test_the_pair_costs_neighbours_as_well(hands, slowed, kind):
    rows = slowed.loc[kind]
    for name, column in (("none", "neighbours"), ("all", "squeezed neighbours")):
        for T in (64, 512):
            again = hands.loc[kind, f"{column} at {T}"]
            assert np.allclose(rows[f"neighbours at {T}, {name}"], again, atol=0.03)
    for name in ("0.1 and 0.01", "all"):
        lost = rows["neighbours at 64, none"] - rows[f"neighbours at 64, {name}"]
        assert t_interval(lost)[0] > 0.05
    saved = rows["neighbours at 64, 0.1 and 0.01"] - rows["neighbours at 64, all"]
    assert t_interval(saved)[0] < 0.0


@pytest.mark.parametrize(
    ("kind", "column", "mean", "half"),
    [
        ("sinusoidal", "at 512, 0.1 and 0.01", 0.97, 0.02),
        ("rotary", "at 512, 0.1 and 0.01", 0.98, 0.01),
        ("rotary", "at 512, 0.01", 0.65, 0.09),
        ("sinusoidal", "neighbours at 64, none", 0.94, 0.04),
        ("sinusoidal", "neighbours at 64, 0.1 and 0.01", 0.61, 0.07),
        ("sinusoidal", "neighbours at 64, all", 0.69, 0.15),
        ("rotary", "neighbours at 64, none", 0.93, 0.02),
        ("rotary", "neighbours at 64, 0.1 and 0.01", 0.73, 0.10),
        ("rotary", "neighbours at 64, all", 0.72, 0.13),
        ("rotary", "neighbours at 512, none", 0.56, 0.04),
        ("rotary", "neighbours at 512, 0.01", 0.77, 0.04),
    ],
)
def test_what_slowing_a_few_hands_does(slowed, kind, column, mean, half):
    low, high = t_interval(slowed.loc[kind, column])
    assert (low + high) / 2 == pytest.approx(mean, abs=0.0051)
    assert (high - low) / 2 == pytest.approx(half, abs=0.0051)


def test_the_first_word_decides_in_two_kinds_and_in_half_of_the_sinusoidal_models(slowed):
    more = slowed["late, near hidden"] > slowed["late, far hidden"]
    assert more.groupby("kind").sum().to_dict() == {"learned": 8, "rotary": 7, "sinusoidal": 4}


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


def drawn_anew(gains):
    """The mean of (runs, articles) and its interval, both drawn anew in a loop."""
    draw = np.random.default_rng(1)
    runs, articles = gains.shape
    means = [
        gains[draw.integers(runs, size=runs)][:, draw.integers(articles, size=articles)].mean()
        for _ in range(4000)
    ]
    return gains.mean(), *np.quantile(means, [0.025, 0.975])


def gain(news, kind, size):
    """The mean gain over the models without positions, and its interval."""
    none = right(news["last", "none", 1.0, "as is"])
    return drawn_anew(right(news["last", kind, size, "as is"]) - none)


def test_without_positions_they_are_the_last_models_of_chapter_8(news):
    rows = pd.read_csv(RESULTS / "08-test.csv", comment="#")
    last = rows[rows["model"] == "last"].sort_values("seed")
    none = news["last", "none", 1.0, "as is"]
    assert none["wrong"].tolist() == last["wrong"].tolist()


@pytest.mark.parametrize(
    ("kind", "pattern"),
    [
        ("sinusoidal", r"its usual size the table costs ([\d.]+) \(([\d.]+) to ([\d.]+)\)"),
        ("ALiBi", r"ALiBi costs ([\d.]+) \(([\d.]+) to ([\d.]+)\)"),
    ],
)
def test_what_a_kind_costs(said, news, kind, pattern):
    mean, low, high = gain(news, kind, 1.0)
    assert said(pattern) == pytest.approx([-mean, -high, -low], abs=0.0025)


@pytest.mark.parametrize(("kind", "size"), [("sinusoidal", 0.1), ("ALiBi", 1 / 64)])
def test_the_quiet_ones_are_level_with_none(prose, news, kind, size):
    _, low, high = gain(news, kind, size)
    assert "a gain larger than 0.012, six articles" in prose
    assert low < 0 < high < 0.013


def test_all_models_with_a_table_are_below_their_partners(news):
    table, none = (news["last", kind, 1.0, "as is"] for kind in ("sinusoidal", "none"))
    assert (table["accuracy"].to_numpy() < none["accuracy"].to_numpy()).all()


def lost(news, mixed, kind, size):
    """What shuffling costs, the mean of 20 shuffles an article, and its interval."""
    rows = mixed.get_group((kind, size)).sort_values("seed")
    times = np.array([list(map(int, row.split()[1:])) for row in rows["times wrong"]])
    assert times.min() >= 0
    assert times.max() <= 20
    kept = news["last", kind, size, "as is"].iloc[: len(rows)]
    assert rows["seed"].tolist() == kept["seed"].tolist()
    assert rows["accuracy"].to_numpy() == pytest.approx(kept["accuracy"].to_numpy(), abs=1e-6)
    return drawn_anew(right(kept) - 1 + times / 20)


@pytest.mark.parametrize(
    ("kind", "size", "pattern"),
    [
        ("sinusoidal", 1.0, r"no harder: the loss is ([\d.]+) \((−?[\d.]+) to ([\d.]+)\)"),
        ("ALiBi", 1.0, r"ALiBi loses ([\d.]+) \((−?[\d.]+) to ([\d.]+)\)"),
        ("ALiBi", 1 / 64, r"it still loses ([\d.]+) \((−?[\d.]+) to ([\d.]+)\)"),
    ],
)
def test_what_shuffling_costs(said, news, mixed, kind, size, pattern):
    assert len(mixed.get_group((kind, size))) == 8
    assert said(pattern) == pytest.approx(lost(news, mixed, kind, size), abs=0.0015)


def test_what_shuffling_costs_a_quiet_table(news, mixed):
    _, low, high = lost(news, mixed, "sinusoidal", 0.1)
    assert low < 0 < high < 0.004


def test_the_poorer_training_is_as_it_is_said(said, news):
    for key, pattern in (
        (("none", "as is"), r"right about ([\d.]+) of the articles \(([\d.]+) to ([\d.]+)\)"),
        (("sinusoidal", "as is"), r"with it about ([\d.]+) \(([\d.]+) to ([\d.]+)\)"),
        (("sinusoidal", "once"), r"to speak of, ([\d.]+) \(([\d.]+) to ([\d.]+)\)"),
        (("sinusoidal", "anew"), r"anew gives ([\d.]+) \(([\d.]+) to ([\d.]+)\)"),
    ):
        share = news["first", key[0], 1.0, key[1]]["accuracy"]
        assert said(pattern) == pytest.approx([share.mean(), share.min(), share.max()], abs=6e-4)
