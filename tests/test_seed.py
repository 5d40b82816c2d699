"""No test depends on what was drawn before it: whatever draws begins at the seed of the run."""

import random

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st


@pytest.mark.parametrize("turn", ["first", "second"])
def test_every_test_begins_at_the_seed_of_the_run(turn, seed):
    drawn = torch.rand(3), random.random(), np.random.rand()  # noqa: NPY002
    expected = torch.rand(3, generator=torch.Generator().manual_seed(seed))
    assert torch.equal(drawn[0], expected)
    assert drawn[1] == random.Random(seed).random()
    assert drawn[2] == np.random.RandomState(seed % 2**32).rand()


def test_every_example_begins_at_the_same_numbers():
    drawn = []

    @given(st.integers(0, 9))
    def draw(_):
        drawn.append(torch.rand(()).item())

    draw()
    assert len(drawn) > 1
    assert len(set(drawn)) == 1
