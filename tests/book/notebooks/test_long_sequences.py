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


def test_models_trained_with_the_window_lose_nothing(far, prose):
    rows = pd.read_csv(RESULTS / "12-windows.csv", comment="#").query("steps == 600")
    rows = rows.query("trained == 'window'").set_index("seed")
    assert sorted(rows.index) == list(range(8))
    built_in = sum(rows[f"window, {place}"] for place in FAR) / len(FAR)
    assert f"trained with the window have {built_in.mean():.3f}" in prose
    less = (far["everything"] - built_in).to_numpy()
    low, high = stats.t.interval(0.95, len(less) - 1, less.mean(), stats.sem(less))
    assert f"by {less.mean():.3f} (95 % t-interval {low:.3f} to {high:.3f}" in prose
    assert (less > 0).all()


def test_some_head_reads_the_first_key_in_each_model(prose):
    rows = pd.read_csv(RESULTS / "12-windows.csv", comment="#").query("steps == 600")
    most = rows.query("trained == 'everything'")["most weight"]
    assert f"some head gives it {most.min():.2f} to {most.max():.2f} of its weight" in prose


def test_memory_is_what_the_prose_says(prose):
    rows = pd.read_csv(RESULTS / "12-memory.csv", comment="#").set_index(["way", "tokens"])["MiB"]
    assert f"{rows['stored', 16384]:,.0f} MiB" in prose
    assert f"{rows['tiled', 16384]:.0f} MiB" in prose
    assert f"{rows['tiled', 65536]:.0f} MiB" in prose


def test_recall_is_what_the_prose_says(prose):
    rows = pd.read_csv(RESULTS / "12-recall.csv", comment="#").query("steps == 300 and seed < 3")
    assert (rows.groupby("trained")["seed"].nunique() == 3).all()
    windowed = rows[rows["trained"] == "window"]
    share = windowed[[f"window, {far}" for far in (32, 40, 48)]].mean(axis=None)
    beyond = windowed[[f"window, {far}" for far in range(64, 128, 8)]].mean(axis=None)
    assert f"{100 * share:.0f} % where two layers reach" in prose
    assert f"{100 * beyond:.0f} % beyond" in prose
