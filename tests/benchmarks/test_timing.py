"""A function has a turn that is long enough, and there are as many rounds as the budget holds."""

import pandas as pd
import pytest
import torch

from benchmarks import timing
from benchmarks.timing import TURN, interleave, seconds, spread

CPU = torch.device("cpu")


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
    functions = {"short": takes(TURN / 32, short), "long": takes(2.0, long)}
    times = interleave(functions, CPU, 0.5)
    assert len(short) == 2 + 5 * 32
    assert len(long) == 2 + 5
    assert times["short"].tolist() == pytest.approx([TURN / 32] * 5)
    assert times["long"].tolist() == pytest.approx([2.0] * 5)


def test_there_are_as_many_rounds_as_the_budget_holds(takes):
    for budget, rounds in ((0.0, 5), (3.0, 5), (6.0, 8), (1000.0, 101)):
        assert len(interleave({"a": takes(0.25), "b": takes(0.5)}, CPU, budget)) == rounds


def test_a_gpu_is_waited_for_before_and_after(monkeypatch, takes):
    events = []
    monkeypatch.setattr(torch.cuda, "synchronize", lambda device: events.append(device.index))
    assert seconds(takes(0.25, events, "call"), torch.device("cuda:1")) == 0.25
    assert events == [1, "call", 1]
    seconds(lambda: None, CPU)
    assert len(events) == 3, "a CPU is not waited for"


def test_median_and_quartiles_have_their_names():
    values = pd.Series([1.0, 2.0, 3.0, 4.0, 5.0])
    assert spread(values, "ms") == {"ms": 3.0, "ms_low": 2.0, "ms_high": 4.0}
    assert spread(values, "ms", (0, 1)) == {"ms": 3.0, "ms_low": 1.0, "ms_high": 5.0}
