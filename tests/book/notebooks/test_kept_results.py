"""Numbers of the prose that no claim holds: computed again, in another way, from kept results.

In a pattern ``#`` stands for a number and ``...`` for any words. Each number must be what its
chapter's function computes, within half a unit of the last digit that is written; the end of an
interval that is drawn, here with draws of our own, within two and a half.
"""

import json
import re

import nbformat
import numpy as np
import pandas as pd
import pytest
from scipy import stats

from tools.notebooks import ROOT, chapters


class Drawn(float):
    """The end of an interval that is drawn at random."""


def table(name):
    return pd.read_csv(ROOT / "notebooks" / "results" / f"{name}.csv", comment="#")


def by_t(values, level=0.95):
    """Mean, and the ends of the interval by Student's t."""
    values = np.asarray(pd.Series(values).dropna())
    ends = stats.t.interval(level, len(values) - 1, values.mean(), stats.sem(values))
    return values.mean(), *ends


def right(rows, articles):
    """Where each run is right, (runs, articles), in the order of the seeds."""
    rows = rows.sort_values("seed")
    found = np.ones((len(rows), articles))
    for run, wrong in zip(found, rows["wrong"], strict=True):
        run[[int(place) for place in wrong.split()[1:]]] = 0
    np.testing.assert_allclose(found.mean(axis=1), rows["accuracy"])
    return found


def drawn(gains):
    """Mean, and the ends of the interval in which both runs and articles are drawn anew."""
    draw, shares = np.random.default_rng(1), []
    for count in np.shape(gains):
        shares.append(draw.multinomial(count, np.full(count, 1 / count), size=8000) / count)
    means = np.einsum("nr,ra,na->n", shares[0], gains, shares[1], optimize=True)
    return np.mean(gains), *map(Drawn, np.quantile(means, [0.025, 0.975]))


def chapter_07():
    recipes, layers, sure = (table(f"08-{name}") for name in ("recipe", "layers", "sure"))
    tests = {model: right(some, 500) for model, some in table("07-test").groupby("model")}
    blog = {"masked": "no", "keep": 1.0, "epochs": 10, "rate": 0.001, "cycle": "no"}
    best = {"masked": "yes", "keep": 0.3, "epochs": 40, "rate": 0.004, "cycle": "yes"}

    def recipe(given, **changes):
        wanted = pd.Series(given | changes)
        return right(recipes[(recipes[wanted.index] == wanted).all(axis=1)], 303)

    def layer(name, trained, articles=303):
        return right(layers.query("layer == @name and recipe == @trained"), articles)

    first, last, quick = recipe(blog), recipe(best), recipe(best, keep=1.0, epochs=10)
    test, test_mean = tests["last"], layer("mean", "last, test", 500)
    own = layer("mean", "last at 0.012")
    expected, low, high = drawn(test)
    sure = sure.groupby("keep").mean(numeric_only=True).loc[0.3]
    return {
        "may expect # to # of the last model, which is at #.": (low, high, expected),
        "plain mean is at #, and attention ahead of it by # (# to #)": (
            test_mean.mean(), *drawn(test - test_mean)),
        "rate that suits: worth # (95 % interval # to #)": drawn(
            quick - recipe(blog, masked="yes")),
        "30 % of the tokens are worth # (# to #)": drawn(last - quick),
        "worth # over all 500 articles (# to #)": drawn(tests["last, leaked"] - test),
        "worth # over a plain mean (# to #)": drawn(first - layer("mean", "first")),
        "it gains # on the mean (# to #)": drawn(last - own),
        "trains it: # to #, a lead of # (# to #)": (
            own.mean(), first.mean(), *drawn(own - first)),
        "full length ...: # sure, # right. On the first 16 tokens the same models are # sure and # "
        "right, and on 8 tokens # and #.": [
            sure[f"{kind} {n}"] for n in (512, 16, 8) for kind in ("sure", "right")],
    }  # fmt: skip


def chapter_11():
    whole = table("11-windows").query("steps == 600 and trained == 'everything'")
    seen, cut, first, ninth = (
        whole[[f"{mask}, {place}" for place in range(64, 128, 16)]].mean(axis=1)
        for mask in ("everything", "window", "window and first", "window and ninth")
    )
    most = whole["most weight"]
    return {
        "a mean loss of # nats. Put on afterwards, the window makes it #.": (
            seen.mean(), cut.mean()),
        "the first one, and it is #; for the ninth, #.": (first.mean(), ninth.mean()),
        "the window costs # on average (# to #); with the first key kept, # (# to #)": (
            *by_t(cut - seen), *by_t(first - seen)),
        "some head gives it # to # of its weight": (most.min(), most.max()),
    }  # fmt: skip


def chapter_18():
    file = ROOT / "benchmarks" / "results" / "writing-cpu.json"
    rows = json.loads(file.read_text(encoding="utf-8"))["tables"]["writing"]
    speed = {(row["way"], row["batch"]): row for row in rows if row["threads"] == 1}
    ours, theirs, many = speed["ours", 1], speed["generate", 1], speed["generate", 16]
    return {
        "ours writes # tokens a second, ... default settings, #.": (
            ours["per_second"], theirs["per_second"]),
        "ours is # times as fast (# to #), and with sixteen texts at once # times": (
            theirs["to_ours"], theirs["to_ours_low"], theirs["to_ours_high"], many["to_ours"]),
        "it calls # operators of PyTorch, and `generate` #.": (ours["calls"], theirs["calls"]),
    }  # fmt: skip


def chapter_A4():
    cut, longer = (table(f"A4-{name}").set_index("seed") for name in ("pruned", "longer"))
    built = table("A4-trained").query("num_heads == 4").set_index("seed")["accuracy"]

    def wide(values):
        return by_t(values, 1 - 0.05 / 17)  # 17 comparisons at once

    return {
        "more than the cut ones by # (# to #)": wide(built - cut["again 4"]),
        "at most 1.6 points: # (# to #)": wide(built - cut["chance 0"]),
        "Over one to seven it is better, by # (# to #)": wide(
            sum(cut[f"again {n}"] - cut[f"ablation {n}"] for n in range(1, 8)) / 7),
        "training on differs from that by # (# to #)": wide(
            longer["best trained on"] - longer["built trained on"]),
    }  # fmt: skip


SLOW = pytest.param(chapter_07, marks=pytest.mark.slow)


@pytest.mark.parametrize("compute", [SLOW, chapter_11, chapter_18, chapter_A4])
def test_the_prose_says_what_the_rows_hold(compute):
    (path,) = (path for path in chapters([]) if path.stem.startswith(compute.__name__[-2:]))
    cells = nbformat.read(path, as_version=4).cells
    prose = "\n".join(cell.source for cell in cells if cell.cell_type == "markdown")
    prose = " ".join(re.sub(r"(?m)^[> ]+", "", prose).split())
    for pattern, computed in compute().items():
        literal = re.escape(pattern).replace(r"\#", r"(−?\d[\d,]*(?:\.\d+)?)")
        found = re.findall(literal.replace(r"\.\.\.", ".*?"), prose)
        assert len(found) == 1, f"{len(found)} times in the prose: {pattern}"
        told = found[0] if isinstance(found[0], tuple) else found
        for text, value in zip(told, computed, strict=True):
            slack = 2.5 if isinstance(value, Drawn) else 0.51
            written = float(text.replace("−", "-").replace(",", ""))
            close = abs(written - value) <= slack * 10.0 ** -len(text.partition(".")[2])
            assert close, f"{pattern}: {text} is {value:.4f}"
