"""How often a benchmark calls each function, on which clock; `utils.measure` has the turns."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from functools import partial

import pandas as pd
import torch

from utils.measure import in_turns

TURN = 0.05  # seconds: a turn calls a function so often that it takes about so long
FEWEST, MOST = 5, 101  # rounds


def clock(device: torch.device) -> float:
    """Give the seconds when the device has done all that it was given; a CPU always has."""
    if device.type == "cuda":
        torch.cuda.synchronize(device)
    return time.perf_counter()


def seconds(function: Callable[[], object], device: torch.device) -> float:
    """Time a call, from an idle device to an idle device."""
    start = clock(device)
    function()
    return clock(device) - start


def interleave(
    functions: Mapping[str, Callable[[], object]], device: torch.device, budget: float
) -> pd.DataFrame:
    """Time the functions in turns, for as many rounds as fit into the budget, 5 to 101.

    Each is called before its first turn, to get warm and to find how often it fits into one.

    Parameters
    ----------
    functions : what to time, by name
    device : where the functions work; a CUDA device is waited for
    budget : float, seconds for the rounds. With 0, to see that it runs, a turn is one call

    Returns
    -------
    DataFrame with a row for each round and a column for each function: seconds a call
    """
    calls, a_round = {}, 0.0
    for name, function in functions.items():
        function()
        once = seconds(function, device)
        calls[name] = max(1, round(TURN / once)) if budget else 1
        a_round += once * calls[name]
    rounds = min(MOST, max(FEWEST, int(budget / a_round)))
    return in_turns(functions, rounds, calls, partial(clock, device), warm=True)


def spread(
    values: pd.Series, name: str, ends: tuple[float, float] = (0.25, 0.75)
) -> dict[str, float]:
    """Give the median, under ``name``, and quantiles, under ``name_low`` and ``name_high``.

    What is compared had its turn in the same round. So the spread of a ratio is that of the ratios
    of the rounds, and what slowed the machine then does not show.
    """
    median, low, high = map(float, values.quantile([0.5, *ends]))
    return {name: median, f"{name}_low": low, f"{name}_high": high}
