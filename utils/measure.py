"""What a call costs, measured: its time against others', and the most memory that it holds.

Seconds say as much about the machine, and about what else it does just then, as about the code.
So calls that are compared take turns, and what is reported is a ratio, with its range.

Memory is measured in a process of its own, in the style of ``timeit``: a process that has done
other things holds memory that those left behind, and a later statement may find room in it.
"""

from __future__ import annotations

import contextlib
import ctypes
import gc
import json
import math
import os
import random
import signal
import subprocess
import sys
import textwrap
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pandas as pd

_STATUS = Path("/proc/self/status")  # Linux only
_COUNT_ANEW = Path("/proc/self/clear_refs")


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


def peak_memory(statement: str, setup: str = "pass", device: str = "cpu") -> float:
    """Give the most memory that a statement needs at any moment, beyond what was there before it.

    A fresh Python runs ``setup``, then the statement once. What a first call needs for ever, such
    as a library's buffers, belongs into ``setup``: call there, on something small, what the
    statement will call.

    Parameters
    ----------
    statement, setup : str, lines of Python. They share their names, and know none of the caller's
    device : str, "cpu" for the process's resident memory, as the system counts it; or a GPU, for
        its memory, as PyTorch's allocator counts it

    Returns
    -------
    float, MiB. On a CPU it is NaN where the system does not tell, as only Linux does

    Raises
    ------
    RuntimeError
        if the process fails, with the last line that it wrote
    """
    here = str(Path(__file__).resolve().parents[1])
    path = os.pathsep.join(filter(None, [here, os.environ.get("PYTHONPATH")]))
    done = subprocess.run(
        [sys.executable, "-P", __file__],
        input=json.dumps([textwrap.dedent(setup), textwrap.dedent(statement), device]),
        env={**os.environ, "PYTHONPATH": path},
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode:
        last = (done.stderr.strip().splitlines() or ["it said nothing"])[-1]
        if done.returncode == -signal.SIGKILL:
            last = "the system ended it, most likely because memory ran out"
        raise RuntimeError(f"the process that measures the memory failed: {last}")
    return float(json.loads(done.stdout))


def _measure_here(setup: str, statement: str, device: str) -> float:
    """Run both in this process."""
    names: dict[str, object] = {"__name__": "__peak_memory__"}
    exec(compile(setup, "<setup>", "exec"), names)
    code = compile(statement, "<statement>", "exec")
    gc.collect()
    if device != "cpu":
        import torch  # not above: what needs no PyTorch is measured at once

        torch.cuda.synchronize(device)
        torch.cuda.reset_peak_memory_stats(device)
        before = torch.cuda.memory_allocated(device)
        exec(code, names)
        torch.cuda.synchronize(device)
        return (torch.cuda.max_memory_allocated(device) - before) / 2**20
    with contextlib.suppress(OSError, AttributeError, TypeError):  # only the GNU C library has it
        ctypes.CDLL(None).malloc_trim(0)  # give back what setup has left free
    try:
        _COUNT_ANEW.write_text("5", encoding="ascii")  # the system counts the peak anew
        before = _status("VmRSS")
    except OSError:
        return math.nan
    exec(code, names)
    return (_status("VmHWM") - before) / 1024


def _status(name: str) -> int:
    """Give a number of kB that the system keeps of this process.

    Not ``resource.getrusage``: its maximum starts with the size of the process that started this.
    """
    lines = _STATUS.read_text(encoding="ascii").splitlines()
    return int(next(line.split()[1] for line in lines if line.startswith(f"{name}:")))


def _main() -> None:
    """Read setup, statement and device, and print the peak; what the lines print goes elsewhere."""
    setup, statement, device = json.load(sys.stdin)
    with contextlib.redirect_stdout(sys.stderr):
        found = _measure_here(setup, statement, device)
    print(json.dumps(found))


if __name__ == "__main__":
    _main()
