"""The peak is that of the statement, not of what was there before, and failures are said.

How much room a process takes for what it asks for is the allocator's choice and the system's. So
the arithmetic is tested on files that stand for the system's, and what the system itself tells is
asked for an order of magnitude only: that of 256 MiB, or of nothing.
"""

import math

import pytest
import torch

from utils.measure import memory, peak_memory

system_tells = pytest.mark.skipif(
    not memory.COUNT_ANEW.exists(), reason="the system does not tell a peak"
)
LARGE = "large = b'x' * 2**28"  # 256 MiB
MUCH, LITTLE = 128, 16  # MiB: half of it is there in any case, and nothing takes a sixteenth


@system_tells
def test_what_was_there_for_a_moment_is_seen():
    assert peak_memory(f"{LARGE}\ndel large") > MUCH


@system_tells
@pytest.mark.slow
def test_what_pytorch_holds_for_a_moment_is_seen():
    assert peak_memory("torch.ones(2**26) + 1", "import torch; torch.ones(9) + 1") > MUCH


@system_tells
@pytest.mark.parametrize("then", ["pass", "del large"])
def test_what_setup_holds_or_has_freed_does_not_count(then):
    assert peak_memory("small = 1", f"{LARGE}\n{then}") < LITTLE


@pytest.fixture
def system(monkeypatch, tmp_path):
    """Files that stand for the system's; a list of what was done to them and to the allocator."""
    status, count_anew, events = tmp_path / "status", tmp_path / "clear_refs", []

    class Library:
        def __init__(self, name):
            assert name is None  # the C library that the process has

        def malloc_trim(self, keep):
            events.append(("trimmed", keep, count_anew.exists()))

    status.write_text("Name:\tpython\nVmHWM:\t   9000 kB\nVmRSS:\t   1024 kB\nThreads:\t1\n")
    monkeypatch.setattr(memory, "STATUS", status)
    monkeypatch.setattr(memory, "COUNT_ANEW", count_anew)
    monkeypatch.setattr(memory.ctypes, "CDLL", Library)
    return status, count_anew, events


def test_the_peak_is_counted_from_what_is_there_when_the_statement_begins(system):
    status, count_anew, events = system
    write = f"import pathlib; pathlib.Path({str(status)!r}).write_text"
    found = memory.measure_here(
        f"{write}('VmHWM: 900000 kB\\nVmRSS: 5120 kB\\n')",
        f"{write}('VmHWM: 15360 kB\\nVmRSS: 5200 kB\\n')",
        "cpu",
    )
    assert found == 10.0  # MiB: the peak of the statement over the 5 MiB before it
    assert count_anew.read_text() == "5"
    assert events == [("trimmed", 0, False)]  # what setup left free is given back before counting


def test_another_c_library_is_no_hindrance(system, monkeypatch):
    def another(name):
        raise OSError

    monkeypatch.setattr(memory.ctypes, "CDLL", another)
    assert memory.measure_here("pass", "pass", "cpu") == (9000 - 1024) / 1024


def test_where_the_system_does_not_tell_it_is_nan(system, monkeypatch, tmp_path):
    monkeypatch.setattr(memory, "COUNT_ANEW", tmp_path / "no" / "such" / "file")
    assert math.isnan(memory.measure_here("pass", "pass", "cpu"))


def test_what_the_lines_print_is_not_taken_for_the_result():
    found = peak_memory("print(123456)", "print('hello')")
    assert math.isnan(found) or found < 123456


@pytest.mark.parametrize(
    ("statement", "setup", "message"),
    [
        ("1 / 0", "pass", "ZeroDivisionError"),
        ("pass", "import no_such_module", "no_such_module"),
        ("a b", "pass", "SyntaxError"),
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
    found = memory.measure_here("events = []", "events.append(1)", "cuda")
    assert found == 7.0
    assert events == ["wait", "reset", "wait"]
