"""The peak memory of a statement, measured in a process of its own, in the style of ``timeit``.

A process that has done other things holds memory that those left behind, and a later statement
may find room in it: its own need cannot be seen there any more.
"""

from __future__ import annotations

import contextlib
import ctypes
import gc
import json
import math
import os
import signal
import subprocess
import sys
import textwrap
from pathlib import Path

_STATUS = Path("/proc/self/status")  # Linux only
_COUNT_ANEW = Path("/proc/self/clear_refs")


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
