"""How long several things take, measured in turns and compared within each turn.

Seconds say as much about the machine, and about what else it does just then, as about the code.
So functions that are compared take turns, and what is reported is a ratio, with its spread.
"""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Mapping

import pandas as pd
import torch

MOST_ROUNDS = 101
LONG = 1.0  # seconds: whose first call takes longer is not called again to get warm


def synchronize(device: torch.device | str) -> None:
    """Wait until the device has done all that it was given; a CPU always has."""
    if torch.device(device).type == "cuda":
        torch.cuda.synchronize(device)


def seconds(
    function: Callable[[], object], device: torch.device | str = "cpu", calls: int = 1
) -> float:
    """Time a call, from an idle device to an idle device: the mean of several without a pause."""
    synchronize(device)
    start = time.perf_counter()
    for _ in range(calls):
        function()
    synchronize(device)
    return (time.perf_counter() - start) / calls


def interleave(
    functions: Mapping[str, Callable[[], object]],
    device: torch.device | str = "cpu",
    budget: float = 10.0,
    shortest: float = 0.02,
    fewest: int = 5,
) -> pd.DataFrame:
    """Time the functions in turns, so that what disturbs the machine disturbs all alike.

    Each is called before its first turn, so that memory, libraries and compilation are paid for.

    Parameters
    ----------
    functions : what to time, by name
    device : where the functions work; a CUDA device is waited for
    budget : float, seconds for the rounds, which follow the calls that warm up. There are as many
        rounds as fit, at least ``fewest`` and at most 101. In a round every function has one turn,
        in an order drawn anew, so that none always follows another that leaves the caches empty
    shortest : float, seconds: a turn calls a function so often that it takes about so long. With
        a budget of 0 it calls it once
    fewest : int, rounds that there are in any case

    Returns
    -------
    DataFrame with a row for each round and a column for each function: seconds a call

    Raises
    ------
    ValueError
        if there is nothing to time
    """
    if not functions:
        raise ValueError("interleave needs at least one function to time.")
    calls, a_round = {}, 0.0
    for key, function in functions.items():
        once = seconds(function, device)
        if once < LONG:
            once = seconds(function, device)
        if once < shortest:
            once = seconds(function, device, calls=3)
        calls[key] = max(1, round(shortest / once)) if budget else 1
        a_round += once * calls[key]
    rows = []
    order = list(functions)
    shuffle = random.Random(0).shuffle
    for _ in range(min(MOST_ROUNDS, max(fewest, int(budget / a_round)))):
        shuffle(order)
        rows.append({key: seconds(functions[key], device, calls[key]) for key in order})
    return pd.DataFrame(rows)[list(functions)]
