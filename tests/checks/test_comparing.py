"""What a check says, and how a notebook shows it."""

import pytest
import torch
from IPython.lib.pretty import pretty

from utils.checks.comparing import FaultError, call, check, compare

RIGHT = torch.arange(6.0).view(2, 3)


@check
def equal(got):
    compare(got, RIGHT, "the output", {"it is doubled.": 2 * RIGHT, "it is right.": RIGHT})


@pytest.mark.parametrize(
    ("got", "said"),
    [
        (RIGHT.clone(), "Right."),
        (RIGHT.double() + 1e-7, "Right."),
        (2 * RIGHT, "Not yet: it is doubled."),
        (RIGHT[:, :2], "Not yet: the output has shape (2, 2); expected (2, 3)."),
        (RIGHT.numpy(), "Not yet: the output should be a tensor; got ndarray."),
        (RIGHT / 0, "Not yet: the output has 1 entries that are NaN."),
        (
            RIGHT + torch.tensor([0, 0.5, 0.1]),
            "Not yet: the output is wrong at [0, 1]: 1.5 instead of 1 (the largest of 4 "
            "differences).",
        ),
    ],
)
def test_a_check_says_what_is_wrong(got, said):
    assert equal(got) == said


def test_an_error_in_the_readers_code_is_quoted():
    with pytest.raises(FaultError, match="raised ZeroDivisionError: division by zero"):
        call(lambda: 1 / 0)


def test_a_notebook_shows_an_answer_wrapped_and_without_quotes():
    assert pretty(equal(RIGHT)) == "Right."
    lines = pretty(equal(RIGHT + torch.tensor([0, 0.5, 0.1]))).splitlines()
    assert len(lines) == 2
    assert max(map(len, lines)) <= 78
    assert lines[0].startswith("Not yet: the output")
