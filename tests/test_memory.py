"""The peak is that of the statement, not of what was there before, and failures are said."""

import math

import pytest
import torch

from utils import memory
from utils.memory import STATUS, peak_memory

linux = pytest.mark.skipif(not STATUS.is_file(), reason="the system does not tell a peak")


def filled(size):
    return f"b'x' * (2**20 * {size})"


@linux
def test_the_most_that_is_there_at_one_moment_counts():
    statement = f"""
        first = {filled(40)}
        del first
        second = {filled(64)}
        del second
    """
    assert peak_memory(statement) == pytest.approx(64, abs=4)
    assert peak_memory(f"both = [{filled(40)}, {filled(64)}]") == pytest.approx(104, abs=4)


@linux
def test_what_setup_holds_or_has_freed_does_not_count():
    setup = f"held, freed = {filled(50)}, {filled(90)}\ndel freed\nsize = 30"
    assert peak_memory("new = b'x' * (2**20 * size)", setup) == pytest.approx(30, abs=4)


@linux
def test_room_that_small_things_of_setup_left_is_not_hidden():
    # A thousand pieces of 64 KiB, below the size that the C library gives back by itself.
    setup = "import torch\nkeep = [torch.ones(2**14) for _ in range(1000)]\ndel keep"
    found = peak_memory("new = [torch.ones(2**14) for _ in range(1000)]", setup)
    assert found == pytest.approx(62.5, abs=6)


@linux
def test_the_weights_of_all_pairs_are_seen():
    setup = "import torch; x = torch.randn(1024, 8); (x[:9] @ x[:9].T).softmax(-1)"
    # Scores and weights, 1024 × 1024 float32 each, are there at the same moment.
    assert peak_memory("(x @ x.T).softmax(-1)", setup) == pytest.approx(8, abs=3)


@linux
def test_what_the_lines_print_is_not_taken_for_the_result():
    assert peak_memory("print(123456)", "print('hello')") < 100


@pytest.mark.parametrize(
    ("statement", "setup", "message"),
    [
        ("1 / 0", "pass", "ZeroDivisionError: division by zero"),
        ("pass", "import no_such_module", "No module named 'no_such_module'"),
        ("a b", "pass", "SyntaxError"),
        ("import os, signal; os.kill(os.getpid(), signal.SIGKILL)", "pass", "memory ran out"),
        ("import os; os._exit(3)", "pass", "it said nothing"),
    ],
)
def test_a_process_that_fails_is_said_to_have_failed(statement, setup, message):
    with pytest.raises(RuntimeError, match=f"measures the memory failed: .*{message}"):
        peak_memory(statement, setup)


def test_where_the_system_does_not_tell_it_is_nan(monkeypatch, tmp_path):
    monkeypatch.setattr(memory, "COUNT_ANEW", tmp_path / "no" / "such" / "file")
    assert math.isnan(memory._measure("pass", "pass", "cpu"))


def test_on_a_gpu_the_allocator_is_asked(monkeypatch):
    cuda, events = torch.cuda, []
    monkeypatch.setattr(cuda, "synchronize", lambda device: events.append("wait"))
    monkeypatch.setattr(cuda, "reset_peak_memory_stats", lambda device: events.append("reset"))
    monkeypatch.setattr(cuda, "memory_allocated", lambda device: 3 * 2**20)
    monkeypatch.setattr(cuda, "max_memory_allocated", lambda device: 10 * 2**20)
    found = memory._measure("events = []", "events.append(1)", "cuda")
    assert found == 7.0
    assert events == ["wait", "reset", "wait"]
