"""Numbers of the prose that no claim holds: computed again, in another way, from kept results.

In a pattern ``#`` stands for a number and ``...`` for any words. Each number must be what its
chapter's function computes, within half a unit of the last digit that is written.
"""

import re

import nbformat
import numpy as np
import pandas as pd
import pytest
from scipy import stats

from tools.notebooks import ROOT, chapters


def table(name):
    return pd.read_csv(ROOT / "notebooks" / "results" / f"{name}.csv", comment="#")


def by_t(values, level=0.95):
    """Mean, and the ends of the interval by Student's t."""
    values = np.asarray(pd.Series(values).dropna())
    ends = stats.t.interval(level, len(values) - 1, values.mean(), stats.sem(values))
    return values.mean(), *ends


def chapter_11():
    rows = table("11-begin")
    rows = rows[rows["begin"] == "yes"]
    cost = rows["window"] - rows["everything"]
    return {
        "adds # nats to the loss of a character (# to #, the 95 % interval of the mean": by_t(cost)
    }


def chapter_A3():
    tables = map(table, ("A3-heads", "A3-one", "A3-later", "A3-parts"))
    ends = {name: (of.min(), of.max()) for runs in tables for name, of in runs.items()}
    return {
        "finds # to # of the passages in each of eight models; all four find # to #.": (
            *ends["best"], *ends["all four"]),
        "The worst head alone finds # to #.": ends["worst"],
        "random weights finds # to # of the passages after 300 steps": ends["fresh, later"],
        "where the best head kept finds # to #.": ends["best, later"],
        "It finds # to #, more than the pruned one": ends["one head"],
        "finds more than half of the passages in # of # runs; given": (
            (table("A3-parts").iloc[:, 1:4] > 0.5).sum(axis=None), 2 * len(table("A3-parts"))),
    }  # fmt: skip


@pytest.mark.parametrize("compute", [chapter_11, chapter_A3])
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
            written = float(text.replace("−", "-").replace(",", ""))
            close = abs(written - value) <= 0.51 * 10.0 ** -len(text.partition(".")[2])
            assert close, f"{pattern}: {text} is {value:.4f}"
