"""The numbers that chapter 12 takes from its kept rows, computed in another way."""

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from tools.notebooks import ROOT

NOTEBOOK = ROOT / "notebooks" / "12-long-sequences.ipynb"
RESULTS = ROOT / "notebooks" / "results"
FAR = range(64, 128, 16)  # places, by sixteens
MASKS = ["everything", "window", "window and first", "window and ninth"]


@pytest.fixture(scope="module")
def far():
    """The loss far from the beginning, a row for each seed and a column for each mask."""
    rows = pd.read_csv(RESULTS / "12-windows.csv", comment="#").query("steps == 600")
    rows = rows.query("trained == 'everything'").set_index("seed")
    return pd.DataFrame(
        {mask: sum(rows[f"{mask}, {place}"] for place in FAR) / len(FAR) for mask in MASKS}
    )


def test_eight_seeds(far):
    assert sorted(far.index) == list(range(8))
    assert not far.isna().any(axis=None)


def test_the_losses_of_the_prose(far, prose):
    for mask in MASKS:
        assert f"{far[mask].mean():.3f}" in prose


@pytest.mark.parametrize("mask", ["window", "window and first"])
def test_the_intervals_of_the_prose(far, prose, mask):
    more = (far[mask] - far["everything"]).to_numpy()
    low, high = stats.t.interval(0.95, len(more) - 1, more.mean(), stats.sem(more))
    assert f"{low:.3f} to {high:.3f}" in prose
    assert low > 0


def test_nearly_all_of_it_is_the_first_key_in_every_run(far):
    lost = far.sub(far["everything"], axis=0)
    assert (lost["window and first"] < 0.5 * lost["window"]).all()
    assert np.allclose(lost["window and ninth"], lost["window"], rtol=0.25)


@pytest.fixture(scope="module")
def changed():
    """The loss far from the beginning, with another value for one key, a row for each seed."""
    rows = pd.read_csv(RESULTS / "12-values.csv", comment="#").query("steps == 600")
    return rows.set_index("seed")[["none", "zero", "mean", "ninth zero"]]


@pytest.mark.parametrize("change", ["zero", "mean"])
def test_the_value_of_the_first_key_matters(changed, prose, change):
    more = (changed[change] - changed["none"]).to_numpy()
    low, high = stats.t.interval(0.95, len(more) - 1, more.mean(), stats.sem(more))
    assert f"{more.mean():.3f} ({low:.3f} to {high:.3f})" in prose
    assert (more > 0).all()


def test_the_value_of_the_ninth_key_does_not(changed):
    assert (abs(changed["ninth zero"] - changed["none"]) < 0.001).all()


def test_they_are_the_models_that_lose_the_first_key(changed, far):
    assert np.allclose(changed["none"], far["everything"], atol=1e-4)


def test_memory_is_what_the_prose_says(prose):
    rows = pd.read_csv(RESULTS / "12-memory.csv", comment="#").set_index(["way", "tokens"])["MiB"]
    assert f"{rows['stored', 16384]:,.0f} MiB" in prose
    assert f"{rows['tiled', 16384]:.0f} MiB" in prose
    assert f"{rows['tiled', 65536]:.0f} MiB" in prose
