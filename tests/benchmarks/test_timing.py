"""A function has a turn that is long enough, and there are as many rounds as the budget holds."""

import pytest
import torch

from benchmarks import timing
from benchmarks.timing import interleave, seconds


@pytest.fixture
def takes(monkeypatch):
    """Let time pass only where a function says so, so that no test depends on the machine."""
    now = [0.0]
    monkeypatch.setattr(timing.time, "perf_counter", lambda: now[0])

    def make(duration, calls=None, name=None):
        def function():
            now[0] += duration
            if calls is not None:
                calls.append(name)

        return function

    return make


def test_a_turn_of_a_short_function_holds_many_calls_and_gives_the_seconds_of_one(takes):
    short, long = [], []
    functions = {"short": takes(2**-10, short), "long": takes(2.0, long)}
    times = interleave(functions, "cpu", 0.5, shortest=2**-5, fewest=2)
    assert len(short) == 1 + 1 + 3 + 2 * 32
    assert len(long) == 1 + 2, "a long first call is warm enough"
    assert times["short"].tolist() == [2**-10] * 2
    assert times["long"].tolist() == [2.0] * 2


def test_there_are_as_many_rounds_as_the_budget_holds(takes):
    for budget, rounds in ((0.0, 5), (3.0, 5), (6.0, 8), (1000.0, 101)):
        assert len(interleave({"a": takes(0.25), "b": takes(0.5)}, "cpu", budget)) == rounds


def test_a_gpu_is_waited_for_before_and_after_and_calls_are_averaged(monkeypatch, takes):
    events = []
    monkeypatch.setattr(torch.cuda, "synchronize", events.append)
    assert seconds(takes(0.25, events, "call"), "cuda:1", calls=2) == 0.25
    assert events == ["cuda:1", "call", "call", "cuda:1"]
    seconds(lambda: None, "cpu")
    assert len(events) == 4, "a CPU is not waited for"
