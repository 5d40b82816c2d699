"""Calls take turns and are compared within a round; the peak is the statement's, no more.

How much room a process takes is the system's choice. So the arithmetic is tested on files that
stand for the system's, which is itself asked for an order of magnitude only.
"""

import math

import pandas as pd
import pytest
import torch

from utils import measure
from utils.measure import in_turns, peak_memory, ratio

LARGE = "large = b'x' * 2**28"  # 256 MiB


def test_every_call_is_warm_and_has_one_turn_in_each_round_in_another_order():
    made = []
    table = in_turns({name: lambda name=name: made.append(name) for name in "abc"}, rounds=4)
    assert (list(table), len(table)) == (["a", "b", "c"], 4)
    assert made[:3] == ["a", "b", "c"], "each is called once before"
    turns = ["".join(made[3 * i :][:3]) for i in range(1, 5)]
    assert all(sorted(turn) == ["a", "b", "c"] for turn in turns)
    assert len(set(turns)) > 1


def test_a_turn_gives_the_seconds_of_one_call():
    now, lengths = [0.0], {"short": 0.25, "long": 2.0}

    def wait(name):
        now[0] += lengths[name]

    calls = {name: lambda name=name: wait(name) for name in lengths}
    repeat = {"short": 8, "long": 1}
    table = in_turns(calls, rounds=2, repeat=repeat, clock=lambda: now[0])
    assert table.to_dict("list") == {"short": [0.25] * 2, "long": [2.0] * 2}
    assert now[0] == 2.25 + 2 * (8 * 0.25 + 2.0)


def test_a_ratio_is_taken_within_each_round():
    table = pd.DataFrame({"slow": [4.0, 9.0, 8.0], "fast": [2.0, 3.0, 1.0]})
    assert ratio(table, "slow", "fast") == "3.0 (2.0 to 8.0)"
    with pytest.raises(ValueError, match="at least one"):
        in_turns({})


@pytest.mark.skipif(not measure._COUNT_ANEW.exists(), reason="the system does not tell a peak")
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
    monkeypatch.setattr(measure, "_STATUS", status)
    monkeypatch.setattr(measure, "_COUNT_ANEW", count_anew)
    monkeypatch.setattr(measure.ctypes, "CDLL", Library)
    return status, count_anew, events


def test_the_peak_is_counted_from_what_is_there_when_the_statement_begins(system):
    status, count_anew, events = system
    write = f"import pathlib; pathlib.Path({str(status)!r}).write_text"
    found = measure._measure_here(
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

    monkeypatch.setattr(measure.ctypes, "CDLL", another)
    assert measure._measure_here("pass", "pass", "cpu") == (9000 - 1024) / 1024
    monkeypatch.setattr(measure, "_COUNT_ANEW", tmp_path / "no" / "such" / "file")
    assert math.isnan(measure._measure_here("pass", "pass", "cpu"))


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
    assert measure._measure_here("events = []", "events.append(1)", "cuda") == 7.0
    assert events == ["wait", "reset", "wait"]
