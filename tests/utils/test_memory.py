"""The peak is that of the statement, not of what was there before, and failures are said.

How much room a process takes is the system's choice. So the arithmetic is tested on files that
stand for the system's, which is itself asked for an order of magnitude only.
"""

import math

import pytest
import torch

from utils import memory
from utils.memory import peak_memory

LARGE = "large = b'x' * 2**28"  # 256 MiB


@pytest.mark.skipif(not memory._COUNT_ANEW.exists(), reason="the system does not tell a peak")
@pytest.mark.processes
@pytest.mark.parametrize(
    ("setup", "statement", "least", "most"),  # MiB
    [
        ("pass", f"{LARGE}\ndel large", 128, math.inf),
        (f"print(123456)\n{LARGE}\ndel large", "small = print(123456)", -math.inf, 16),
    ],
)
def test_what_the_statement_holds_for_a_moment_is_seen_and_no_more(setup, statement, least, most):
    assert least < peak_memory(statement, setup) < most


@pytest.fixture
def system(monkeypatch, tmp_path):
    """Files that stand for the system's; a list of what was done to the allocator, and when."""
    status, count_anew, events = tmp_path / "status", tmp_path / "clear_refs", []

    class Library:
        def __init__(self, name):
            assert name is None  # the C library that the process has

        def malloc_trim(self, keep):
            events.append(("trimmed", keep, count_anew.exists()))

    status.write_text("Name:\tpython\nVmHWM:\t   9000 kB\nVmRSS:\t   1024 kB\nThreads:\t1\n")
    monkeypatch.setattr(memory, "_STATUS", status)
    monkeypatch.setattr(memory, "_COUNT_ANEW", count_anew)
    monkeypatch.setattr(memory.ctypes, "CDLL", Library)
    return status, count_anew, events


def test_the_peak_is_counted_from_what_is_there_when_the_statement_begins(system):
    status, count_anew, events = system
    write = f"import pathlib; pathlib.Path({str(status)!r}).write_text"
    found = memory._measure_here(
        f"{write}('VmHWM: 900000 kB\\nVmRSS: 5120 kB\\n')",
        f"{write}('VmHWM: 15360 kB\\nVmRSS: 5200 kB\\n')",
        "cpu",
    )
    assert found == 10.0  # MiB: the peak of the statement over the 5 MiB before it
    assert count_anew.read_text() == "5"
    assert events == [("trimmed", 0, False)]  # what setup left free is given back before counting


def test_another_system_is_no_hindrance(system, monkeypatch, tmp_path):
    def another(name):
        raise OSError

    monkeypatch.setattr(memory.ctypes, "CDLL", another)
    assert memory._measure_here("pass", "pass", "cpu") == (9000 - 1024) / 1024
    monkeypatch.setattr(memory, "_COUNT_ANEW", tmp_path / "no" / "such" / "file")
    assert math.isnan(memory._measure_here("pass", "pass", "cpu"))


@pytest.mark.processes
@pytest.mark.parametrize(
    ("statement", "setup", "message"),
    [
        ("1 / 0", "print(123456)", "ZeroDivisionError"),
        ("import os, signal; os.kill(os.getpid(), signal.SIGKILL)", "pass", "memory ran out"),
        ("import os; os._exit(3)", "pass", "nothing"),
    ],
)
def test_a_process_that_fails_is_said_to_have_failed(statement, setup, message):
    with pytest.raises(RuntimeError, match=message):
        peak_memory(statement, setup)


def test_on_a_gpu_the_allocator_is_asked(monkeypatch):
    cuda, events = torch.cuda, []
    monkeypatch.setattr(cuda, "synchronize", lambda device: events.append("wait"))
    monkeypatch.setattr(cuda, "reset_peak_memory_stats", lambda device: events.append("reset"))
    monkeypatch.setattr(cuda, "memory_allocated", lambda device: 3 * 2**20)
    monkeypatch.setattr(cuda, "max_memory_allocated", lambda device: 10 * 2**20)
    assert memory._measure_here("events = []", "events.append(1)", "cuda") == 7.0
    assert events == ["wait", "reset", "wait"]
