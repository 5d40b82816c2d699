"""Chapter 10: every interval that its prose names, computed again from the kept rows."""

import math
import re

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from tools.notebooks import ROOT

NOTEBOOK = ROOT / "notebooks" / "10-how-wide-is-a-head.ipynb"


LAYER = ["D", "heads", "keys", "values", "conv"]


@pytest.fixture(scope="module")
def kept():
    names = ("news", "recall", "longer", "starts", "camps")
    folder = NOTEBOOK.parent / "results"
    return {name: pd.read_csv(folder / f"10-{name}.csv", comment="#") for name in names}


@pytest.fixture(scope="module")
def news(kept):
    """The rows that count: judged on the test articles."""
    return kept["news"].query("judged_on == 'test'")


@pytest.fixture(scope="module")
def recall(kept):
    """The rows that count: seeds of the comparison, not those of the trial runs."""
    return kept["recall"].query("seed < 100")


def stretched(differences, comparisons):
    """The percentile bootstrap interval of a mean, each half stretched, with draws of our own."""
    n, mean = len(differences), differences.mean()
    draws = np.random.default_rng(1).choice(differences, (20_000, n)).mean(axis=1)
    student = stats.t.ppf(1 - 0.025 / comparisons, n - 1) / stats.norm.ppf(0.975)
    factor = student * math.sqrt(n / (n - 1))
    low, high = np.quantile(draws, [0.025, 0.975])
    return factor, mean, mean + factor * (low - mean), mean + factor * (high - mean)


def pairs(rows, first, second):
    table = rows.pivot(index="seed", columns="layer", values="accuracy")
    return (table[first] - table[second]).to_numpy()


def signed(number, digits):
    return f"{number:.{digits}f}".replace("-", "−")


def test_each_layer_in_recall_has_its_best_rate_and_eight_runs(kept, recall):
    for layer, rows in kept["recall"].query("seed >= 100").groupby(LAYER):
        losses = rows.groupby("rate")["loss"].mean()
        assert (rows.groupby("rate").size() == 2).all()
        best = losses.idxmin()
        assert losses.index.min() < best < losses.index.max()
        runs = recall.set_index(LAYER).loc[layer]
        assert set(runs["rate"]) == {best}
        assert sorted(runs["seed"]) == list(range(8))


def test_the_table_of_recall(recall, prose):
    rows = re.findall(
        r"^\| (\d+):\s(\d+)\sof\s(\d+)(?:, wide)? \| ([\d,]+) \| ([\d,]+) \| (.+) \|$",
        prose,
        flags=re.MULTILINE,
    )
    assert len(rows) >= 6
    for D, heads, width, size, work, said in rows:
        D, E = int(D), int(heads) * int(width)
        assert size == f"{4 * D * E + 3 * E + D + 360 * D + 32:,}"
        assert work == f"{4 * 16 * D * E + 2 * 16 * 16 * E:,}"
        shape = (D, int(heads), int(width), int(width), 0)
        runs = recall.set_index(LAYER).sort_index().loc[shape]["accuracy"]
        assert said == f"{runs.mean():.2f} ({runs.min():.2f} to {runs.max():.2f})"


NEWS = [
    ("wide", "standard", "0.001 (−0.006 to 0.007)"),
    ("conv", "standard", "0.003 (−0.003 to 0.009)"),
    ("wide", "many narrow", "−0.002 (−0.009 to 0.006)"),
    ("wide", "wider model", "0.012 (0.006 to 0.017)"),
]


@pytest.mark.parametrize(("first", "second", "said"), NEWS)
def test_differences_on_the_news(news, prose, first, second, said):
    factor, found, low, high = stretched(pairs(news, first, second), comparisons=4)
    assert f"{factor:.2f}" == "1.67"
    assert said in prose
    mean, told = said.split(" (")
    assert signed(found, 3) == mean
    told = [float(x.replace("−", "-")) for x in told.rstrip(")").split(" to ")]
    assert np.allclose([low, high], told, atol=0.0012)


def test_what_is_equal_on_the_news_is_so_within_the_margin(news):
    for first, second, _ in NEWS[:3]:
        _, _, low, high = stretched(pairs(news, first, second), comparisons=4)
        assert -0.01 < low < high < 0.01


def test_the_ten_runs_looked_into_are_the_runs_of_recall_again(kept, recall):
    rows = recall.set_index(LAYER).sort_index().loc[(16, 4, 4, 4, 0)]
    again = kept["camps"].set_index("seed")["accuracy"]
    assert np.allclose(rows.set_index("seed")["accuracy"], again.loc[:7], atol=1e-3)


def test_what_weights_and_batches_explain(kept, prose):
    rows = kept["starts"]
    assert len(rows) == 16
    whole = rows["accuracy"].var(ddof=0)
    for name in ("start", "seed"):
        share = rows.groupby(name)["accuracy"].mean().var(ddof=0) / whole
        assert f"{100 * share:.0f} %" in prose


def difference(first, second):
    """The mean difference of runs of the same seed, and its interval by t, as prose says it."""
    gaps = (first - second).dropna()
    half = stats.t.ppf(0.975, len(gaps) - 1) * stats.sem(gaps)
    numbers = (gaps.mean(), gaps.mean() - half, gaps.mean() + half)
    return "{} ({} to {})".format(*(signed(x, 2) for x in numbers))


@pytest.mark.parametrize("D", [16, 20])
def test_wide_heads_and_heads_of_4_after_800_steps(recall, prose, D):
    runs = recall.query("heads == 4 and D == @D").set_index("seed")
    wide, ordinary = (runs.query("keys == @w and values == @w")["accuracy"] for w in (D, 4))
    assert difference(wide, ordinary) in prose


def test_after_2400_steps_each_layer_has_its_best_rate_and_eight_runs(kept, prose):
    accuracy = {}
    for layer, rows in kept["longer"].groupby(["D", "heads", "width"]):
        losses = rows.query("seed >= 100").groupby("rate")["loss"].mean()
        runs = rows.query("seed < 100")
        assert losses.index.min() < losses.idxmin() < losses.index.max()
        assert set(runs["rate"]) == {losses.idxmin()}
        assert sorted(runs["seed"]) == list(range(8))
        accuracy[layer] = runs.set_index("seed")["accuracy"]
    assert difference(accuracy[16, 4, 16], accuracy[16, 4, 4]) in prose
    narrow = accuracy[16, 8, 2]
    assert f"{narrow.mean():.2f} ({narrow.min():.2f} to {narrow.max():.2f})" in prose
