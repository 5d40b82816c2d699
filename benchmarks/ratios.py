"""Times that were measured in turns, compared within each turn: medians and quartiles."""

from __future__ import annotations

import pandas as pd


def quartiles(values: pd.Series, name: str) -> dict[str, float]:
    """Give the median, under ``name``, and the quartiles, under ``name_low`` and ``name_high``."""
    median, low, high = map(float, values.quantile([0.5, 0.25, 0.75]))
    return {name: median, f"{name}_low": low, f"{name}_high": high}


def ratio(times: pd.DataFrame, of: str, to: str, name: str) -> dict[str, float]:
    """Give the quartiles of how many times as long one function takes as another, by rounds.

    Both had their turn in the same round, so what slowed the machine then slowed both.

    Parameters
    ----------
    times : DataFrame from ``interleave``
    of, to : str, two of its columns: the one divided and the one it is divided by
    name : str, under which the median is given, as in ``quartiles``
    """
    return quartiles(times[of] / times[to], name)
