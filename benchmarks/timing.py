"""How often a benchmark calls each function, on which clock; `utils.measure` has the turns."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from functools import partial

import pandas as pd
import torch

from utils.measure import in_turns

MOST_ROUNDS = 101
LONG = 1.0  # seconds: whose first call takes longer is not called again to get warm


def clock(device: torch.device | str) -> float:
    """Give the seconds when the device has done all that it was given; a CPU always has."""
    if torch.device(device).type == "cuda":
        torch.cuda.synchronize(device)
    return time.perf_counter()


def seconds(
    function: Callable[[], object], device: torch.device | str = "cpu", calls: int = 1
) -> float:
    """Time a call, from an idle device to an idle device: the mean of several without a pause."""
    start = clock(device)
    for _ in range(calls):
        function()
    return (clock(device) - start) / calls


def interleave(
    functions: Mapping[str, Callable[[], object]],
    device: torch.device | str = "cpu",
    budget: float = 10.0,
    shortest: float = 0.02,
    fewest: int = 5,
) -> pd.DataFrame:
    """Time the functions in turns (see `utils.measure.in_turns`), for as long as the budget allows.

    Each is called before its first turn, to find how often it has to be called in one.

    Parameters
    ----------
    functions : what to time, by name
    device : where the functions work; a CUDA device is waited for
    budget : float, seconds for the rounds, which follow the calls that warm up. There are as many
        rounds as fit, at least ``fewest`` and at most 101
    shortest : float, seconds: a turn calls a function so often that it takes about so long. With
        a budget of 0 it calls it once
    fewest : int, rounds that there are in any case

    Returns
    -------
    DataFrame with a row for each round and a column for each function: seconds a call
    """
    calls, a_round = {}, 0.0
    for key, function in functions.items():
        once = seconds(function, device)
        if once < LONG:
            once = seconds(function, device)
        if once < shortest:
            once = seconds(function, device, calls=3)
        calls[key] = max(1, round(shortest / once)) if budget else 1
        a_round += once * calls[key]
    rounds = min(MOST_ROUNDS, max(fewest, int(budget / a_round)))
    return in_turns(functions, rounds, calls, partial(clock, device), warm=True)
