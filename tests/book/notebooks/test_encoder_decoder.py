"""What chapter 17 says of its kept runs is what the rows hold."""

from pathlib import Path

import pandas as pd
import pytest
from scipy import stats

RESULTS = Path(__file__).parents[3] / "notebooks/results/17-sentences.csv"


@pytest.fixture(scope="module")
def runs():
    """One row for each model; ``as object`` is the mean over three nouns and two articles."""
    table = pd.read_csv(RESULTS, comment="#")
    nouns = [f"{a} {noun}" for noun in ("king", "queen", "baby") for a in ("the", "a")]
    table["as object"] = table[nouns].mean(axis=1)
    return table


def test_eight_seeds_of_each(runs):
    assert runs.groupby("without")["seed"].agg(sorted).map(tuple).to_dict() == dict.fromkeys(
        ["nothing", "source", "target"], tuple(range(8))
    )


def test_known_nouns_are_lost_in_a_new_part(runs):
    whole = runs[runs["without"] == "nothing"]
    assert whole["right"].min() >= 0.999
    assert whole["as subject"].min() >= 0.99
    assert f"{whole['as object'].min():.0%} {whole['as object'].max():.0%}" == "4% 48%"
    assert f"{whole['as object'].mean():.0%}" == "29%"
    first = whole.loc[whole["seed"] == 0, "as object"].item()
    assert f"{first:.0%}" == "35%"


def test_positions_are_worth_more_in_the_source(runs):
    by = runs.groupby("without")["right"].agg(["min", "mean", "max"])
    assert [f"{x:.0%}" for x in by.loc["source", ["min", "max"]]] == ["55%", "61%"]
    assert f"{by.loc['source', 'mean']:.0%}" == "58%"
    assert f"{by.loc['target', 'mean']:.0%}" == "99%"


def test_positions_of_the_target_matter_off_the_lessons(runs):
    objects = runs.pivot(index="seed", columns="without", values="as object")
    assert f"{objects['target'].mean():.0%} {objects['nothing'].mean():.0%}" == "15% 29%"
    less = objects["nothing"] - objects["target"]
    ends = stats.t.interval(0.95, len(less) - 1, less.mean(), less.sem())
    assert [f"{100 * x:.0f}" for x in (less.mean(), *ends)] == ["14", "2", "25"]
    assert (less < 0).sum() == 2
