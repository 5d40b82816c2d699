"""The right answer is the last value that its key was shown with, or the key where it is new."""

import pytest
import torch

from chapters.ch14_tasks import QUESTIONS, examples


@pytest.mark.parametrize(("n", "different"), [(16, 0), (16, 8), (100, 8)])
def test_answers_are_the_last_values(n, different):
    draw = torch.Generator().manual_seed(0)
    (blocked, keys, values), right, is_new = examples(draw, n, B=8, unknown=0.5, keys=different)
    assert not keys[:, 0].any()
    assert not values[:, [0, *range(-QUESTIONS, 0)]].any()
    assert blocked[:, -QUESTIONS:].all()
    for ids, shown, answers, new in zip(keys, values, right, is_new, strict=True):
        pairs = dict(zip(ids[1:-QUESTIONS].tolist(), shown[1:-QUESTIONS].tolist(), strict=True))
        assert len(pairs) <= 8 if different else len(pairs) == 16  # the last value wins
        for key, answer, fresh in zip(ids[-QUESTIONS:].tolist(), answers, new, strict=True):
            assert (key in pairs) is not bool(fresh)
            assert answer == (key - 1 if fresh else pairs[key] - 1)


def test_no_key_is_new_unless_asked_for():
    draw = torch.Generator().manual_seed(0)
    assert not examples(draw, n=4)[-1].any()
    assert examples(draw, n=4, unknown=1.0)[-1].all()
