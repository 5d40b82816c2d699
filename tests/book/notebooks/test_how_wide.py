"""Chapter 10: every interval that its prose names, computed again from the kept rows."""

import math

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from tools.notebooks import ROOT

NOTEBOOK = ROOT / "notebooks" / "10-how-wide-is-a-head.ipynb"


@pytest.fixture(scope="module")
def kept():
    """The rows that count: seeds of the comparison, not those of the pilot."""
    names = ("news", "recall", "widths", "starts", "camps")
    folder = NOTEBOOK.parent / "results"
    tables = {name: pd.read_csv(folder / f"10-{name}.csv", comment="#") for name in names}
    return {name: table[table["seed"] < 100] for name, table in tables.items()}


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


RECALL = [
    ("wide", "standard", 4, "(−0.13 to 0.20)", None),
    ("wide", "standard", 8, "0.36 with 8 (0.27 to 0.44)", 0.36),
    ("wide", "standard", 16, "0.48 with 16 (0.47 to 0.49)", 0.48),
    ("wide", "many narrow", 8, "0.33 with 8 (0.24 to 0.41)", 0.33),
    ("conv", "standard", 8, "ahead by 0.28 and 0.41", 0.28),
    ("conv", "standard", 16, "ahead by 0.28 and 0.41", 0.41),
]


@pytest.mark.parametrize(("first", "second", "heads", "said", "mean"), RECALL)
def test_differences_in_recall(kept, prose, first, second, heads, said, mean):
    rows = kept["recall"].query("heads == @heads")
    factor, found, low, high = stretched(pairs(rows, first, second), comparisons=15)
    assert said in prose
    assert f"{factor:.2f}" == "2.13"
    assert mean is None or abs(found - mean) < 0.0051
    if "to" in said:
        told = [float(x.replace("−", "-")) for x in said.split("(")[1].rstrip(")").split(" to ")]
        assert np.allclose([low, high], told, atol=0.012)


NEWS = [
    ("wide", "standard", "0.001 (−0.006 to 0.007)"),
    ("conv", "standard", "0.003 (−0.003 to 0.009)"),
    ("wide", "many narrow", "−0.002 (−0.009 to 0.006)"),
    ("wide", "wider model", "0.012 (0.006 to 0.017)"),
]


@pytest.mark.parametrize(("first", "second", "said"), NEWS)
def test_differences_on_the_news(kept, prose, first, second, said):
    rows = kept["news"].query("judged_on == 'test'")
    factor, found, low, high = stretched(pairs(rows, first, second), comparisons=4)
    assert f"{factor:.2f}" == "1.67"
    assert said in prose
    mean, told = said.split(" (")
    assert signed(found, 3) == mean
    told = [float(x.replace("−", "-")) for x in told.rstrip(")").split(" to ")]
    assert np.allclose([low, high], told, atol=0.0012)


def test_what_is_equal_is_so_within_the_margin(kept):
    rows = kept["news"].query("judged_on == 'test'")
    for first, second, _ in NEWS[:3]:
        _, _, low, high = stretched(pairs(rows, first, second), comparisons=4)
        assert -0.01 < low < high < 0.01
    rows = kept["recall"].query("heads == 2")
    _, _, low, high = stretched(pairs(rows, "wide", "standard"), comparisons=15)
    assert -0.05 < low < high < 0.05


def test_the_wider_model_is_ahead_in_recall_and_by_how_much(kept):
    for _, rows in kept["recall"].query("heads > 2").groupby("heads"):
        _, mean, low, high = stretched(pairs(rows, "wider model", "wide"), comparisons=15)
        assert 0.05 < low < high
        assert 0.195 < mean < 0.215


def test_the_camps_are_the_kept_runs_again(kept):
    rows = kept["recall"].query("layer == 'standard' and heads == 4")
    again = kept["camps"].set_index("seed")["accuracy"]
    assert np.allclose(rows.set_index("seed")["accuracy"], again, atol=1e-3)
