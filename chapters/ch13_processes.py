"""Several processes on this machine that work on one task, started with one call.

PyTorch's own parts do the work: ``torch.multiprocessing`` starts the processes, and each is a
member of a gloo process group of ``torch.distributed`` when its function begins, as under
``torchrun``.
"""

from __future__ import annotations

import os
import pickle
import signal
import socket
import sys
import time
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import timedelta
from multiprocessing.connection import wait
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import IO, Any

import torch
import torch.distributed as dist
from torch.multiprocessing.spawn import start_processes

from utils.files import replacing


def run_processes(
    function: Callable[..., Any], count: int, *arguments: Any, timeout: float = 60.0
) -> list[Any]:
    """Call a function in ``count`` processes that can talk to each other, and give their results.

    Each process calls ``function(*arguments)``; inside, ``torch.distributed.get_rank()`` says which
    of them it is. What process 0 prints to ``sys.stdout`` is printed here, while it runs; the
    others are silent. Each computes with one thread, as under ``torchrun``, unless the function
    says otherwise.

    Parameters
    ----------
    function : each process imports it anew, so it stands at the top of a module. In a notebook,
        write that module with ``%%writefile``
    count : int, how many processes
    arguments : what the function is called with; it travels by pickle, as what it returns does
    timeout : float, seconds for all of it, the start of the processes included

    Returns
    -------
    list of what the processes returned, process 0 first

    Raises
    ------
    ValueError
        if there is no process to start, or the function cannot be imported
    RuntimeError
        as soon as one process fails, with its error; ``torch.distributed`` may also be missing
    TimeoutError
        if they have not finished in time

    In every case no process is left.
    """
    _check(function, count)
    with TemporaryDirectory(prefix="processes-") as name:
        folder = Path(name)
        (folder / "0.out").touch()
        how = (function, count, arguments, timeout, name)
        context = start_processes(_work, how, count, join=False, daemon=True, start_method="spawn")
        with (
            _ended(context.processes) as processes,
            open(folder / "0.out", encoding="utf-8", newline="") as printed,
        ):
            try:
                _wait(processes, time.monotonic() + timeout, timeout, folder, printed)
            finally:
                _forward(printed)
        return [torch.load(folder / f"{rank}.result", weights_only=False) for rank in range(count)]


def _check(function: Callable[..., Any], count: int) -> None:
    if not dist.is_available() or not dist.is_gloo_available():
        raise RuntimeError("this build of PyTorch has no torch.distributed with gloo.")
    if count < 1:
        raise ValueError(f"count is {count}; at least one process has to be started.")
    module, name = getattr(function, "__module__", None), getattr(function, "__qualname__", "")
    typed = module == "__main__" and not hasattr(sys.modules["__main__"], "__file__")
    if module is None or "<" in name or typed:  # <lambda>, <locals>
        raise ValueError(
            f"{name or function!r} cannot be imported by another process: write it at the top of a "
            "module (in a notebook, with %%writefile), and import it from there."
        )


@contextmanager
def _ended(processes: list[Any]) -> Iterator[list[Any]]:
    """Leave no process behind, whatever happens."""
    try:
        yield processes
    finally:
        for process in processes:
            process.kill()  # one that has ended does not mind
        for process in processes:
            process.join()


def _wait(
    processes: list[Any], deadline: float, timeout: float, folder: Path, printed: IO[str]
) -> None:
    """Wait until all have ended well, or raise."""
    while running := [process for process in processes if process.exitcode is None]:
        wait([process.sentinel for process in running], timeout=0.05)
        _forward(printed)
        codes = [process.exitcode for process in processes]
        if any(codes):  # neither 0 nor None
            raise _failure(codes, folder)
        if time.monotonic() > deadline and None in codes:
            late = [rank for rank, code in enumerate(codes) if code is None]
            raise TimeoutError(
                f"after {timeout:g} seconds {len(late)} of {len(codes)} processes had not finished "
                f"({', '.join(map(str, late))}), and were ended: one may wait for what another "
                "never sends."
            )


def _failure(codes: list[int | None], folder: Path) -> RuntimeError:
    """Say which process failed first: what the others say may be that they have lost it."""
    for rank, code in enumerate(codes):
        if code is not None and code < 0:
            name = signal.Signals(-code).name
            return RuntimeError(f"process {rank} of {len(codes)} was ended by the signal {name}.")
    records = [pickle.loads(file.read_bytes()) for file in folder.glob("*.error")]
    if not records:
        rank = next(rank for rank, code in enumerate(codes) if code)
        log = (folder / f"{rank}.log").read_text(encoding="utf-8", errors="replace")
        last = (log.strip().splitlines() or ["it said nothing"])[-1]
        return RuntimeError(f"process {rank} of {len(codes)} failed: {last}")
    _, rank, last, trace = min(records)
    error = RuntimeError(f"process {rank} of {len(codes)} failed: {last}")
    error.add_note(trace)
    return error


def _forward(printed: IO[str]) -> None:
    """Print what process 0 has printed since the last time."""
    if text := printed.read():
        print(text, end="", flush=True)


def _work(
    rank: int,
    function: Callable[..., Any],
    count: int,
    arguments: tuple[Any, ...],
    timeout: float,
    folder: str,
) -> None:
    """Be one of the processes."""
    here = Path(folder)
    try:
        with (
            open(here / f"{rank}.log", "wb", buffering=0) as log,  # what libraries say: not shown
            open(here / f"{rank}.out", "a", 1, encoding="utf-8", newline="") as printed,
        ):
            os.dup2(log.fileno(), 1)
            os.dup2(log.fileno(), 2)
            sys.stdout = printed
            torch.set_num_threads(1)
            result = _call(rank, function, count, arguments, timeout, here)
            sys.stdout = sys.__stdout__
        with replacing(here / f"{rank}.result") as half:
            torch.save(result, half)
    except Exception as error:
        last = "".join(traceback.format_exception_only(error)).strip()
        record = (time.monotonic(), rank, last, traceback.format_exc())
        with replacing(here / f"{rank}.error") as half:  # before the others notice
            half.write_bytes(pickle.dumps(record))
        os._exit(1)  # a clean end could wait for the others


def _call(
    rank: int,
    function: Callable[..., Any],
    count: int,
    arguments: tuple[Any, ...],
    timeout: float,
    folder: Path,
) -> Any:
    loopback = [name for _, name in socket.if_nameindex() if name.startswith("lo")]
    if loopback:  # the machine's own name need not lead anywhere
        os.environ.setdefault("GLOO_SOCKET_IFNAME", loopback[0])
    meet = (folder / "store").as_uri()
    limit = timedelta(seconds=timeout)
    dist.init_process_group("gloo", meet, limit, world_size=count, rank=rank)
    result = function(*arguments)
    dist.destroy_process_group()
    return result
