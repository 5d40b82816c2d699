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


def test_what_the_far_text_is_worth_to_models_trained_with_the_window(far, prose):
    rows = pd.read_csv(RESULTS / "12-windows.csv", comment="#").query("steps == 600")
    built_in, full = (
        rows.query("trained == @how").set_index("seed") for how in ("window", "everything")
    )
    assert sorted(built_in.index) == sorted(full.index) == list(range(8))

    def gap(places):
        return sum(built_in[f"window, {p}"] - full[f"everything, {p}"] for p in places) / len(
            places
        )

    mean = sum(built_in[f"window, {place}"] for place in FAR).mean() / len(FAR)
    assert f"trained with the window have {mean:.3f}" in prose
    assert f"by {-gap(FAR).mean():.3f}; but by {-gap((0, 16)).mean():.3f} even" in prose
    assert (gap(FAR) < 0).all()
    more = gap(FAR) - gap((0, 16))
    low, high = stats.t.interval(0.95, len(more) - 1, more.mean(), stats.sem(more))
    told = f"{more.mean():.3f} nats (95 % t-interval {low:.3f} to {high:.3f}"
    assert told in prose.replace("\N{MINUS SIGN}", "-")
    assert f"at most {high:.3f} nats" in prose


def test_some_head_reads_the_first_key_in_each_model(prose):
    rows = pd.read_csv(RESULTS / "12-windows.csv", comment="#").query("steps == 600")
    most = rows.query("trained == 'everything'")["most weight"]
    assert f"some head gives it {most.min():.2f} to {most.max():.2f} of its weight" in prose


def test_memory_is_what_the_prose_says(prose):
    rows = pd.read_csv(RESULTS / "12-memory.csv", comment="#").set_index(["way", "tokens"])["MiB"]
    assert f"{rows['stored', 16384]:,.0f} MiB" in prose
    assert f"{rows['tiled', 16384]:.0f} MiB" in prose
    assert f"{rows['tiled', 65536]:.0f} MiB" in prose


@pytest.fixture(scope="module")
def windowed():
    """Recall of the models trained with the window, a row for each seed."""
    rows = pd.read_csv(RESULTS / "12-recall.csv", comment="#").query("steps == 300")
    assert (rows.groupby("trained")["seed"].nunique() == 8).all()
    return rows[rows["trained"] == "window"]


def test_recall_is_what_the_prose_says(windowed, prose):
    reached = windowed[[f"window, {far}" for far in (32, 40, 48, 56)]].mean()
    assert f"{100 * reached.iloc[0]:.0f} % at 32 to 39 places, fewer further on" in prose
    assert reached.is_monotonic_decreasing
    beyond = windowed[[f"window, {far}" for far in range(64, 128, 8)]].mean(axis=None)
    assert abs(beyond - 1 / 8) < 0.01


def test_questions_that_another_one_helps(windowed, prose):
    helped, alone = (100 * windowed[f"relayed: {name}"] for name in ("yes", "no"))
    assert f"answer {helped.mean():.0f} %, of the others {alone.mean():.0f} %" in prose
    more = helped - alone
    low, high = stats.t.interval(0.95, len(more) - 1, more.mean(), stats.sem(more))
    told = f"difference {more.mean():.0f} points, 95 % t-interval {low:.0f} to {high:.0f}"
    assert told in prose
