"""Calls take turns, each as often as the others, and are compared within a round."""

import pandas as pd
import pytest

from utils.timing import in_turns, ratio


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
