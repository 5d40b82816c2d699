"""How sure a table of runs can be: means with their intervals, and differences of pairs of runs."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
from scipy import stats

CONFIDENCE = 0.95


def mean_intervals(results: pd.DataFrame, by: str | list[str], value: str) -> pd.DataFrame:
    """Give the mean over the seeds for each group, with a bootstrap interval of 95 %.

    Parameters
    ----------
    by : the column or columns whose values make the groups
    value : the column to average

    Returns
    -------
    DataFrame, indexed by group, with ``mean``, ``low``, ``high`` and ``runs``

    Source: Efron and Tibshirani 1993, "An Introduction to the Bootstrap", chapter 12.
    """
    groups = results.groupby(by, sort=False)[value]
    return pd.DataFrame({name: _interval(group) for name, group in groups}).T.rename_axis(by)


def paired_differences(
    results: pd.DataFrame, column: str, baseline: Any, value: str, pair: str | list[str] = "seed"
) -> pd.DataFrame:
    """Compare each value of a column with a baseline, run by run of the same seed.

    Two runs of one seed share data and luck; the difference between them does not have it. So the
    interval of the mean difference is narrower than two intervals of means side by side.

    Parameters
    ----------
    column : what was varied, such as "layer"
    baseline : its value that the others are compared with
    value : the column to subtract
    pair : the column or columns in which two runs of a pair agree

    Returns
    -------
    DataFrame, indexed by the other values of ``column``, with ``mean`` (other minus baseline),
    ``low``, ``high``, ``runs``, and ``above``: in how many pairs the other value is larger

    Raises
    ------
    ValueError
        if the baseline is not there, or a run lacks its partner
    """
    table = results.pivot(index=pair, columns=column, values=value)
    if baseline not in table or table.isna().any(axis=None):
        raise ValueError(
            f"every {column} needs a run for each {pair}, and {baseline!r} must be among them."
        )
    differences = table.drop(columns=baseline).sub(table[baseline], axis=0)
    order = [name for name in results[column].unique() if name != baseline]
    rows = {name: _interval(differences[name]) for name in order}
    above = (differences[order] > 0).sum()
    return pd.DataFrame(rows).T.assign(above=above).rename_axis(column)


def _interval(values: pd.Series) -> dict[str, float]:
    """Give the mean and the percentile bootstrap interval; one run alone has no interval."""
    sample, mean, low, high = values.to_numpy(float), float(values.mean()), np.nan, np.nan
    if len(sample) > 1:
        found = stats.bootstrap((sample,), np.mean, confidence_level=CONFIDENCE, rng=0,
                                method="percentile", n_resamples=9999)  # fmt: skip
        low, high = found.confidence_interval
    return {"mean": mean, "low": float(low), "high": float(high), "runs": len(sample)}
