"""What chapter 16 says about adapters, from its kept rows, in another way."""

from math import comb

import pandas as pd
import pytest

from tools.notebooks import ROOT

NOTEBOOK = ROOT / "notebooks" / "16-what-is-pretraining-worth.ipynb"
RESULTS = ROOT / "notebooks" / "results"


@pytest.fixture(scope="module")
def wrong():
    """The articles that each run got wrong, by method, rate and seed."""
    rows = pd.read_csv(RESULTS / "16-few.csv", comment="#")
    keys = rows[["how", "rate", "seed"]].itertuples(index=False, name=None)
    return {key: set(text.split()[1:]) for key, text in zip(list(keys), rows["wrong"], strict=True)}


def p_value(first, second):
    n, gap = first + second, abs(first - second)
    return sum(comb(n, k) for k in range(n + 1) if abs(n - 2 * k) >= gap) / 2**n


def pair(wrong, rate, seed):
    """On how many articles adapters alone, and the frozen model alone, are right."""
    ours, theirs = wrong["adapters", rate, seed], wrong["frozen", 10.0, seed]
    return len(theirs - ours), len(ours - theirs)


def test_the_mistakes_are_as_the_chapter_says(said, wrong):
    found = said(r"wrong about (\d+) and (\d+) of the 307 articles, and adapters .* 0.004 about")
    assert found == [len(wrong["frozen", 10.0, seed]) for seed in (0, 1)]
    found = said(r"rate of 0.004 about (\d+) and (\d+)\.")
    assert found == [len(wrong["adapters", 0.004, seed]) for seed in (0, 1)]


def test_the_frozen_model_has_its_best_setting(wrong):
    total = {C: sum(len(wrong["frozen", C, seed]) for seed in (0, 1)) for C in (1.0, 10.0, 100.0)}
    assert total[10.0] == min(total.values())


def test_the_pairs_and_their_p_values(said, wrong):
    found = said(r"that is (\d+) to (\d+) \(p = ([\d.]+)\) and (\d+) to (\d+) \(p = ([\d.]+)\)")
    for seed, (first, second, p) in enumerate((found[:3], found[3:])):
        assert (first, second) == pair(wrong, 0.004, seed)
        assert p == pytest.approx(p_value(*pair(wrong, 0.004, seed)), abs=0.005)


def test_no_tuned_run_is_told_apart_from_counted_words():
    rows = pd.read_csv(RESULTS / "16-finetuning.csv", comment="#")
    assert len(rows) == 3  # three are called a hint
    words = set(rows["words"][0].split()[1:])
    for name in ("tuned", "whole", "both"):
        for text in rows[name]:
            tuned = set(text.split()[1:])
            assert p_value(len(words - tuned), len(tuned - words)) > 0.16
