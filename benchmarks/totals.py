"""Whole trainings compared: how many times as fast in all, and within each epoch."""

from __future__ import annotations

import pandas as pd

from benchmarks.steps import BASELINE, FLOOR


def compare_totals(variants: pd.DataFrame, epochs: pd.DataFrame) -> pd.DataFrame:
    """Give the ratios of whole trainings, and those of single epochs.

    The two are not the same: a disturbed epoch counts in full in a total, and hardly in a median.

    Parameters
    ----------
    variants, epochs : DataFrames, the tables of these names from ``compare_variants``

    Returns
    -------
    DataFrame with a row for each variant: ``seconds``; ``speedup``, the seconds of the baseline by
    its own; ``to_floor``, its own by those of the floor; and ``epoch_speedup``, the median over
    the epochs of the baseline's seconds by its own, with the least and the largest of these ratios
    as ``epoch_speedup_low`` and ``epoch_speedup_high``
    """
    seconds = variants.set_index("variant")["seconds"]
    trained = epochs[epochs["epoch"] > 0]
    wide = trained.pivot(index="epoch", columns="variant", values="seconds")[seconds.index]
    ratios = wide.rdiv(wide[BASELINE], axis="index")
    return pd.DataFrame(
        {
            "seconds": seconds,
            "speedup": seconds[BASELINE] / seconds,
            "to_floor": seconds / seconds[FLOOR],
            "epoch_speedup": ratios.median(),
            "epoch_speedup_low": ratios.min(),
            "epoch_speedup_high": ratios.max(),
        }
    )
