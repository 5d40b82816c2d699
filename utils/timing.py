"""How long several calls take, timed in turns and compared within each round.

Seconds say as much about the machine, and about what else it does just then, as about the code.
So calls that are compared take turns, and what is reported is a ratio, with its range.
"""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Mapping
from typing import Any

import pandas as pd


def in_turns(
    calls: Mapping[Any, Callable[[], object]],
    rounds: int = 11,
    repeat: int | Mapping[Any, int] = 1,
    clock: Callable[[], float] = time.process_time,
    warm: bool = False,
) -> pd.DataFrame:
    """Time the calls in turns, so that what disturbs the machine disturbs all alike.

    Each is called once before, so that memory, libraries and compilation are paid for, unless it
    is ``warm``.

    Parameters
    ----------
    calls : what to time, by name
    rounds : int. In a round each has one turn, in an order drawn anew, so that none always follows
        another that leaves the caches empty
    repeat : int, or one by name: how often it is called in its turn
    clock : gives seconds; by default those of the processor, without what other programs use. On
        a GPU, a clock must first wait until the GPU has done all that it was given
    warm : bool, each was called before

    Returns
    -------
    DataFrame with a row for each round and a column for each call: seconds a call

    Raises
    ------
    ValueError
        if there is nothing to time
    """
    if not calls:
        raise ValueError("in_turns needs at least one function to time.")
    for call in () if warm else calls.values():
        call()
    table: list[dict[Any, float]] = []
    order, shuffle = list(calls), random.Random(0).shuffle
    for _ in range(rounds):
        shuffle(order)
        table.append({})
        for name in order:
            times = repeat if isinstance(repeat, int) else repeat[name]
            start = clock()
            for _ in range(times):
                calls[name]()
            table[-1][name] = (clock() - start) / times
    return pd.DataFrame(table)[list(calls)]


def ratio(table: pd.DataFrame, slow: Any, fast: Any) -> str:
    """How many times as long one takes as another: the median of the rounds, and their range."""
    low, median, high = (table[slow] / table[fast]).quantile([0, 0.5, 1])
    return f"{median:.1f} ({low:.1f} to {high:.1f})"
