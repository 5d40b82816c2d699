"""Things are timed in turns, each as often as the others, and compared within a round."""

import pandas as pd
import pytest
import torch

from utils.measure import interleave, quartiles, ratio, seconds, timing

CPU = torch.device("cpu")


def fake_clock(monkeypatch):
    """Let time pass only where a function says so, so that no test depends on the machine."""
    now = [0.0]
    monkeypatch.setattr(timing.time, "perf_counter", lambda: now[0])

    def takes(duration, calls=None, name=None):
        def function():
            now[0] += duration
            if calls is not None:
                calls.append(name)

        return function

    return takes


def test_every_function_has_one_turn_in_each_round_and_the_order_changes():
    calls = []
    functions = {name: lambda name=name: calls.append(name) for name in "abc"}
    times = interleave(functions, CPU, budget=0.0, fewest=4)
    assert list(times) == ["a", "b", "c"]
    assert len(times) == 4
    rounds = ["".join(calls[-12 + 3 * i :][:3]) for i in range(4)]
    assert all(sorted(turn) == ["a", "b", "c"] for turn in rounds)
    assert len(set(rounds)) > 1


def test_each_function_is_warm_before_its_first_turn(monkeypatch):
    takes, calls = fake_clock(monkeypatch), []
    interleave({name: takes(2**-10, calls, name) for name in "ab"}, CPU, 0.0, fewest=1)
    assert sorted(calls[-2:]) == ["a", "b"]
    assert calls[:-2].count("a") >= 2
    assert calls[:-2].count("b") >= 2


def test_a_long_first_call_is_warm_enough(monkeypatch):
    calls = []
    takes = fake_clock(monkeypatch)
    interleave({"long": takes(2.0, calls)}, CPU, budget=0.0, fewest=3)
    assert len(calls) == 1 + 3


def test_a_turn_of_a_short_function_holds_many_calls_and_gives_the_seconds_of_one(monkeypatch):
    takes = fake_clock(monkeypatch)
    calls = []
    times = interleave(
        {"short": takes(2**-10, calls), "long": takes(0.5)}, CPU, 0.5, shortest=2**-5, fewest=2
    )
    assert len(calls) == 1 + 1 + 3 + 2 * 32
    assert times["short"].tolist() == [2**-10] * 2
    assert times["long"].tolist() == [0.5] * 2


def test_there_are_as_many_rounds_as_the_budget_holds(monkeypatch):
    takes = fake_clock(monkeypatch)
    for budget, rounds in ((0.0, 5), (3.0, 5), (6.0, 8), (1000.0, 101)):
        assert len(interleave({"a": takes(0.25), "b": takes(0.5)}, "cpu", budget)) == rounds


def test_calls_are_averaged(monkeypatch):
    takes = fake_clock(monkeypatch)
    calls = []
    assert seconds(takes(0.25, calls), CPU, calls=7) == 0.25
    assert len(calls) == 7


def test_a_gpu_is_waited_for_before_and_after(monkeypatch):
    events = []
    monkeypatch.setattr(torch.cuda, "synchronize", events.append)
    seconds(lambda: events.append("call"), "cuda:1", calls=2)
    assert events == ["cuda:1", "call", "call", "cuda:1"]
    seconds(lambda: None, "cpu")
    assert len(events) == 4, "a CPU is not waited for"


def test_a_ratio_is_taken_within_each_round():
    # The machine was twice as slow in the second round; the ratio does not see it.
    times = pd.DataFrame({"ours": [1.0, 2.0, 1.0], "other": [2.0, 4.0, 2.0]})
    assert ratio(times, "other", "ours", "x") == {"x": 2.0, "x_low": 2.0, "x_high": 2.0}
    assert ratio(times, "ours", "other", "x")["x"] == 0.5


def test_quartiles():
    found = quartiles(pd.Series([1.0, 2.0, 3.0, 4.0, 5.0]), "ms")
    assert found == {"ms": 3.0, "ms_low": 2.0, "ms_high": 4.0}


def test_nothing_to_time_is_refused():
    with pytest.raises(ValueError, match="at least one"):
        interleave({})
