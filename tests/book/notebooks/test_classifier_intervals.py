"""The numbers that chapter 8 names are those of its kept rows."""

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


FIRST = {"masked": "no", "keep": 1.0, "epochs": 10, "rate": 0.001, "cycle": "no"}
QUICK = LAST | {"keep": 1.0, "epochs": 10}


def recipes(**recipe: object) -> np.ndarray:
    rows = table("recipe")
    same = np.logical_and.reduce([rows[key] == value for key, value in recipe.items()])
    return right(rows[same], 303)


def agree(told: list[float], mean: float, bounds: np.ndarray, digits: int) -> None:
    assert told == pytest.approx([mean, *bounds], abs=0.51 * 10**-digits)


def on_test(model: str) -> np.ndarray:
    rows = table("test")
    return right(rows[rows["model"] == model], 500)


def layers(layer: str, recipe: str, articles: int = 303) -> np.ndarray:
    rows = table("layers")
    return right(rows[(rows["layer"] == layer) & (rows["recipe"] == recipe)], articles)


NUMBERS = r"(−?[\d.]+) \((−?[\d.]+) to (−?[\d.]+)\)"


def test_the_interval_of_the_last_model(said, interval):
    last = on_test("last")
    assert len(last) == 8
    told = said(r"may expect ([\d.]+) to ([\d.]+) of the last model, which is at ([\d.]+)\.")
    agree([told[2], *told[:2]], last.mean(), interval(last), 3)
    mean = layers("mean", "last, test", 500)
    told = said(rf"plain mean is at ([\d.]+), and attention ahead of it by {NUMBERS}")
    assert told[0] == pytest.approx(mean.mean(), abs=0.00051)
    agree(told[1:], (last - mean).mean(), interval(last - mean), 3)


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


def test_what_each_change_is_worth(said, interval):
    quick, long = recipes(**QUICK), recipes(**QUICK | {"epochs": 40})
    some, last = recipes(**QUICK | {"keep": 0.3}), recipes(**LAST)
    assert {len(each) for each in (quick, long, some, last)} == {8}
    told = said(r"rate that suits: worth ([\d.]+) \(95 % interval ([\d.]+) to ([\d.]+)\)")
    gain = quick - recipes(**FIRST | {"masked": "yes"})
    agree(told, gain.mean(), interval(gain), 3)
    for pattern, gain in {
        rf"30 % of the tokens are worth {NUMBERS}": last - quick,
        rf"without the other, {NUMBERS[: NUMBERS.index(' ')]} on whole articles "
        r"\((−?[\d.]+) to (−?[\d.]+)\)": long - quick,
        rf"these runs cannot say: {NUMBERS}": last - some - long + quick,
    }.items():
        agree(said(pattern), gain.mean(), interval(gain), 3)


def test_the_mask_alone_shows_no_gain(interval):
    low, high = interval(recipes(**FIRST | {"masked": "yes"}) - recipes(**FIRST))
    assert low < 0 < high


def test_hints_of_three_seeds(said):
    told = said(
        r"better than 0\.002 \(([\d.]+) to ([\d.]+)\) and about as good as 0\.008 \(([\d.]+)\)\. "
        r"The last recipe is at ([\d.]+), with twice its rate at ([\d.]+), with 80 epochs at "
        r"([\d.]+), and with 10 % of the tokens at ([\d.]+)\.",
    )
    near = [QUICK, QUICK | {"rate": 0.002}, QUICK | {"rate": 0.008}, LAST, LAST | {"rate": 0.008}]
    near += [LAST | {"epochs": 80}, LAST | {"keep": 0.1}]
    assert told == pytest.approx([recipes(**each)[:3].mean() for each in near], abs=0.00051)


def test_what_the_leak_is_worth(said, interval):
    gain = on_test("last, leaked") - on_test("last")
    told = said(r"worth (−?[\d.]+) over all 500.*?\((−?[\d.]+) to (−?[\d.]+)\)")
    agree(told, gain.mean(), interval(gain), 3)


def test_what_attention_bought(said, interval):
    first, quick, last = recipes(**FIRST), recipes(**QUICK), recipes(**LAST)
    own = {recipe: layers("mean", f"{recipe} at 0.012") for recipe in ("quick", "last")}
    for pattern, gain in {
        r"worth ([\d.]+) over a plain mean \(([\d.]+) to ([\d.]+)\)": first
        - layers("mean", "first"),
        r"same ten epochs, ([\d.]+) of its lead over the mean is left "
        r"\((−?[\d.]+) to ([\d.]+)\)": quick - layers("mean", "quick"),
        rf"\*behind\* the mean, by {NUMBERS}": quick - own["quick"],
        rf"it gains {NUMBERS.replace(' ', ' on the mean ', 1)}": last - own["last"],
        rf"and {NUMBERS.replace(' ', ' on even weights ', 1)};": last
        - layers("even", "last at 0.012"),
        rf"would have been {NUMBERS} and": last - layers("mean", "last"),
        rf"to 0\.032\) and {NUMBERS}": last - layers("even", "last"),
        rf"a lead of {NUMBERS}": own["last"] - first,
        rf"on validation {NUMBERS.replace(' ', ' is left ', 1)}": last - own["last"],
    }.items():
        agree(said(pattern), gain.mean(), interval(gain), 3)
    told = said(r"trains it: ([\d.]+) to ([\d.]+), a lead")
    assert told == pytest.approx([own["last"].mean(), first.mean()], abs=0.00051)
    faster = [recipes(**QUICK | {"rate": 0.012}), recipes(**LAST | {"rate": 0.012})]
    assert {len(each) for each in faster} == {8}
    told = said(
        r"attention is worse in ten epochs, ([\d.]+); with the last recipe it is at ([\d.]+), "
        r"since one run of eight fell to ([\d.]+)",
    )
    expected = [*(each.mean() for each in faster), faster[1].mean(axis=1).min()]
    assert told == pytest.approx(expected, abs=0.00051)


def test_what_longer_pieces_are_worth(said, interval):
    rows = table("pieces")
    longer = right(rows[rows["size"] == 8000], 303)
    told = said(rf"8,000 pieces .*?at ([\d.]+), .*?{NUMBERS}")
    assert told[0] == pytest.approx(longer.mean(), abs=0.00051)
    gain = longer - recipes(**LAST)
    agree(told[1:], gain.mean(), interval(gain), 3)


def test_how_sure_and_how_right(said):
    rows = table("sure")
    for keep, pattern in {
        0.3: r"full length .*?: ([\d.]+) sure, ([\d.]+) right\. On the first 16 tokens the same "
        r"models are ([\d.]+) sure and ([\d.]+) right, and on 8 tokens ([\d.]+) and ([\d.]+)\.",
        0.04: r"whole articles, ([\d.]+) sure and ([\d.]+) right\. Shown 16 tokens, they say "
        r"([\d.]+) and are right ([\d.]+) of the time; shown 8, ([\d.]+) and ([\d.]+)\.",
    }.items():
        found = rows[rows["keep"] == keep]
        assert len(found) == 8
        names = [f"{kind} {n}" for n in (512, 16, 8) for kind in ("sure", "right")]
        told = said(pattern)
        assert told == pytest.approx([found[name].mean() for name in names], abs=0.0051)
