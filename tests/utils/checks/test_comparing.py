"""What a check says, and how a notebook shows it."""

import numpy as np
import pytest
import torch
from IPython.lib.pretty import pretty

from utils import checks
from utils.checks.comparing import (
    FaultError,
    as_number,
    call,
    check,
    compare,
    compare_numbers,
    mistake_in_all,
)

RIGHT = torch.arange(6.0).view(2, 3)


@check
def equal(got):
    compare(got, RIGHT, "the output", {"it is doubled.": 2 * RIGHT, "it is right.": RIGHT})


@pytest.mark.parametrize(
    ("got", "said"),
    [
        (RIGHT.clone(), "Right."),
        (RIGHT.double() + 1e-7, "Right."),
        (RIGHT.T.contiguous().T.double(), "Right."),
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


@pytest.mark.parametrize(
    "got", [3, 3.0, np.int64(3), np.float64(3), np.float32(3), torch.tensor([3])]
)
def test_a_number_may_be_numpys(got):
    assert as_number(got, "the count") == 3
    assert type(as_number(got, "the count")) in (int, float)


@pytest.mark.parametrize("got", [None, True, np.bool_(True), "3", torch.ones(3), np.ones(2)])
def test_what_is_no_number_is_named(got):
    with pytest.raises(FaultError, match=f"should be a number; got {type(got).__name__}"):
        as_number(got, "the count")


def test_a_whole_number_is_no_float():
    assert as_number(np.int32(3), "the count", whole=True) == 3
    with pytest.raises(FaultError, match="should be an int; got float"):
        as_number(3.0, "the count", whole=True)


def test_a_mistake_is_named_only_where_it_explains_all_results():
    mistakes = [{"doubled": 4, "squared": 4}, {"doubled": 6, "squared": 9}]
    assert mistake_in_all([4, 9], mistakes) == "squared"
    assert mistake_in_all([4, 6], mistakes) == "doubled"
    assert mistake_in_all([4, 7], mistakes) is None


def test_numbers_are_compared_over_all_cases():
    mistakes = [{"it is doubled.": 4}, {"it is doubled.": 6}]
    rights = [(2, "the first"), (3, "the second")]

    def compared(*got):
        compare_numbers([(g, *r, m) for g, r, m in zip(got, rights, mistakes, strict=True)])

    compared(2, np.float32(3))
    for got, said in [
        ((4, 6), "doubled"),
        ((4, 3), "first is 4; expected 2"),
        ((2, None), "NoneT"),
    ]:
        with pytest.raises(FaultError, match=said):
            compared(*got)


EXERCISES = {name: c for name, c in vars(checks).items() if hasattr(c, "__wrapped__")}


def raises(*_, **__):
    raise RuntimeError("the sizes do not fit")


@pytest.mark.parametrize("name", EXERCISES)
def test_each_check_quotes_an_error_and_refuses_nothing_done(name):
    assert "your code raised RuntimeError: the sizes do not fit" in EXERCISES[name](raises)
    assert EXERCISES[name](lambda *_, **__: ...).startswith("Not yet: ")


def test_a_notebook_shows_an_answer_wrapped_and_without_quotes():
    assert pretty(equal(RIGHT)) == "Right."
    lines = pretty(equal(RIGHT + torch.tensor([0, 0.5, 0.1]))).splitlines()
    assert len(lines) == 2
    assert max(map(len, lines)) <= 78
    assert lines[0].startswith("Not yet: the output")
