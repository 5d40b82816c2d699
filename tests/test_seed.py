"""No test depends on what was drawn before it: whatever draws begins at the seed of the run."""

import random

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st


@pytest.mark.parametrize("turn", ["first", "second"])
def test_every_test_begins_at_the_seed_of_the_run(turn, seed):
    expected = torch.rand(3, generator=torch.Generator().manual_seed(seed))
    assert torch.equal(torch.rand(3), expected)
    assert random.random() == random.Random(seed).random()
    assert np.random.rand() == np.random.RandomState(seed % 2**32).rand()  # noqa: NPY002


def test_every_example_begins_at_the_same_numbers():
    drawn = []

    @given(st.integers(0, 9))
    def draw(_):
        drawn.append(torch.rand(()).item())

    draw()
    assert len(drawn) > 1
    assert len(set(drawn)) == 1
