"""The numbers that chapter 8 names are those of its kept rows."""

import re
from pathlib import Path

import nbformat
import numpy as np
import pandas as pd
import pytest

from tools.notebooks import ROOT

NOTEBOOK = ROOT / "notebooks" / "08-bbc-news-classifier.ipynb"
RESULTS = ROOT / "notebooks" / "results"
LAST = {"masked": "yes", "keep": 0.3, "epochs": 40, "rate": 0.004, "cycle": "yes"}


@pytest.fixture(scope="module")
def interval():
    """The chapter's own function, taken from its cell."""
    cells = nbformat.read(NOTEBOOK, as_version=4).cells
    (source,) = [c.source for c in cells if c.source.startswith("def interval(")]
    namespace = {"np": np}
    exec(source, namespace)
    return namespace["interval"]


def table(name: str) -> pd.DataFrame:
    return pd.read_csv(Path(RESULTS, f"08-{name}.csv"), comment="#")


def right(rows: pd.DataFrame, articles: int) -> np.ndarray:
    """Where each run is right, (runs, articles), in the order of the seeds."""
    rows = rows.sort_values("seed")
    found = np.ones((len(rows), articles))
    for run, wrong in zip(found, rows["wrong"], strict=True):
        run[[int(place) for place in wrong.split()[1:]]] = 0
    np.testing.assert_allclose(found.mean(axis=1), rows["accuracy"])
    return found


def recipes(**recipe: object) -> np.ndarray:
    rows = table("recipe")
    same = np.logical_and.reduce([rows[key] == value for key, value in recipe.items()])
    return right(rows[same], 303)


def said(prose: str, pattern: str) -> list[float]:
    (found,) = re.findall(pattern, prose)
    return [float(number.replace("−", "-")) for number in found]


def agree(told: list[float], mean: float, bounds: np.ndarray, digits: int) -> None:
    assert told == pytest.approx([mean, *bounds], abs=0.51 * 10**-digits)


def test_the_interval_of_the_last_model(prose, interval):
    rows = table("test")
    last = right(rows[rows["model"] == "last"], 500)
    assert len(last) == 8
    told = said(prose, r"last model is at ([\d.]+), .*?expect ([\d.]+) to ([\d.]+)\.")
    agree(told, last.mean(), interval(last), 3)


def test_the_interval_covers_seeds_and_articles(interval):
    draw = np.random.default_rng(0)
    by_article = (draw.random(500) < 0.9) * np.ones((8, 1))  # all seeds agree
    low, high = interval(by_article)
    assert high - low == pytest.approx(4 * (0.09 / 500) ** 0.5, rel=0.15)
    by_seed = draw.normal(size=(8, 1)) * np.ones(500)  # all articles agree
    low, high = interval(by_seed)
    assert high - low == pytest.approx(4 * by_seed[:, 0].std() / 8**0.5, rel=0.15)
    low, high = interval(by_article[:1])  # one run: articles alone
    assert high - low > 0


def test_what_tokens_and_epochs_are_worth(prose, interval):
    short = {**LAST, "epochs": 10, "rate": 0.001, "cycle": "no"}
    whole, some = recipes(**short | {"keep": 1.0}), recipes(**short)
    longer = recipes(**short | {"epochs": 40})
    told = said(prose, r"tokens is worth ([\d.]+) \(95 % interval ([\d.]+) to ([\d.]+)\)")
    agree(told, (some - whole).mean(), interval(some - whole), 2)
    told = said(prose, r"four times as long ([\d.]+) \(([\d.]+) to ([\d.]+)\)")
    agree(told, (longer - some).mean(), interval(longer - some), 2)


def test_what_shows_no_gain_has_zero_in_its_interval(interval):
    steps = [{**LAST, "masked": "no", "keep": 1.0, "epochs": 10, "rate": 0.001, "cycle": "no"}]
    steps += [steps[0] | {"masked": "yes"}]
    longer = LAST | {"rate": 0.001, "cycle": "no"}
    for before, after in [
        steps,
        (longer, longer | {"rate": 0.004}),
        (LAST | {"cycle": "no"}, LAST),
    ]:
        low, high = interval(recipes(**after) - recipes(**before))
        assert low < 0 < high


def test_what_the_leak_is_worth(prose, interval):
    rows = table("test")
    leaked, last = (right(rows[rows["model"] == m], 500) for m in ("last, leaked", "last"))
    gain = leaked - last
    told = said(prose, r"worth (−?[\d.]+) over all 500.*?\((−?[\d.]+) to (−?[\d.]+)\)")
    agree(told, gain.mean(), interval(gain), 3)


def test_what_the_learnt_weights_are_worth(prose, interval):
    loss = recipes(**LAST)[:8] - right(table("even"), 303)
    told = said(prose, r"weights are worth ([\d.]+) .*?\((−?[\d.]+) to (−?[\d.]+)[,)]")
    agree(told, loss.mean(), interval(loss), 3)


def layers(layer: str, recipe: str) -> np.ndarray:
    rows = table("layers")
    return right(rows[(rows["layer"] == layer) & (rows["recipe"] == recipe)], 303)


def test_what_attention_bought(prose, interval):
    first = recipes(
        **LAST | {"masked": "no", "keep": 1.0, "epochs": 10, "rate": 0.001, "cycle": "no"}
    )
    last, mean = recipes(**LAST)[:8], layers("mean", "last")
    told = said(prose, r"\| learnt weights \| ([\d.]+) \| ([\d.]+) \|")
    assert told == pytest.approx([first.mean(), last.mean()], abs=0.00051)
    told = said(prose, r"\| even weights \| ([\d.]+) \| ([\d.]+) \|")
    even = layers("even", "first").mean(), right(table("even"), 303).mean()
    assert told == pytest.approx(even, abs=0.00051)
    told = said(prose, r"\| plain mean \| ([\d.]+) \| ([\d.]+) \|")
    assert told == pytest.approx([layers("mean", "first").mean(), mean.mean()], abs=0.00051)
    gain = first - layers("mean", "first")
    told = said(prose, r"clear gain: ([\d.]+) over the plain mean \(([\d.]+) to ([\d.]+)\)")
    agree(told, gain.mean(), interval(gain), 3)
    told = said(prose, r"and ([\d.]+) against the mean \((−?[\d.]+) to ([\d.]+)\)")
    agree(told, (last - mean).mean(), interval(last - mean), 3)
    told = said(prose, r"a lead of ([\d.]+) \(([\d.]+) to ([\d.]+)\)")
    agree(told, (mean - first).mean(), interval(mean - first), 3)


def test_a_change_is_worth_what_is_there_already(prose):
    told = said(prose, r"tokens are worth ([\d.]+) and the long training ([\d.]+)")
    top = recipes(**LAST)[:3].mean()
    without = [recipes(**LAST | change).mean() for change in ({"keep": 1.0}, {"epochs": 10})]
    assert told == pytest.approx([top - each for each in without], abs=0.00051)


def test_what_a_probability_is_worth(prose):
    rows = table("sure")
    few, some = rows[rows["keep"] == 0.04], rows[rows["keep"] == 0.3]
    n = some["answers up to 0.97"].sum()
    told = said(prose, r"with about ([\d.]+) is right ([\d.]+) of the time")
    assert told == pytest.approx([0.96, some["of them right up to 0.97"].sum() / n], abs=0.0051)
    assert f"so {n} answers of that row" in prose
    told = said(prose, r"they now say ([\d.]+) and are right ([\d.]+) of the time")
    assert told == pytest.approx([few["sure 16"].mean(), few["right 16"].mean()], abs=0.0051)


def test_how_sure_and_how_right(prose):
    rows = table("test")
    rows = rows[rows["model"] == "last"]
    told = said(
        prose,
        r"full length .*?: ([\d.]+) sure, ([\d.]+) right\. On the first 16 tokens the same models "
        r"are ([\d.]+) sure and ([\d.]+) right, and on 8 tokens ([\d.]+) and ([\d.]+)\.",
    )
    names = [f"{kind} {n}" for n in (512, 16, 8) for kind in ("sure", "right")]
    assert told == pytest.approx([rows[name].mean() for name in names], abs=0.0051)
