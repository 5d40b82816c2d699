"""What is no answer at all is refused in a sentence: NaN, nothing, a lone number, a word."""

import math
import runpy
from numbers import Number
from pathlib import Path

import pytest
import torch

from utils import checks
from utils.checks.comparing import STRANGE, check

TABLES = [runpy.run_path(str(path)) for path in sorted(Path(__file__).parent.glob("answers/*.py"))]
RIGHT = {c.__name__: solutions[0] for table in TABLES for c, solutions in table["RIGHT"].items()}
CHECKS = {name: c for name, c in vars(checks).items() if hasattr(c, "__wrapped__")}
NONSENSE = [math.nan, torch.tensor(math.nan), None, torch.tensor(1.0), torch.tensor(1), [], "words"]


def spoiled(solution, part):
    """A right solution of which one part, or what it returns as a whole, is NaN."""

    def as_nan(right):
        return torch.full(right.shape, math.nan) if isinstance(right, torch.Tensor) else math.nan

    def solve(*given, **named):
        right = solution(*given, **named)
        if isinstance(right, tuple | list) and right:
            i = part % len(right)
            return [*right[:i], as_nan(right[i]), *right[i + 1 :]]
        return as_nan(right) if isinstance(right, torch.Tensor | Number) else [math.nan]

    return solve


def test_each_check_has_a_right_answer_here():
    assert RIGHT.keys() == CHECKS.keys()


@pytest.mark.parametrize("name", CHECKS)
def test_nonsense_is_refused_in_a_sentence(name):
    answers = list(NONSENSE)
    for made in NONSENSE:
        answers.append(lambda *_, made=made, **__: made)
        for parts in (1, 2, 3, 4):
            answers.append(lambda *_, made=[made] * parts, **__: made)
    if name != "even_weights":  # what it returns does not count, what it does to the layer does
        answers += [spoiled(RIGHT[name], part) for part in range(3)]
    for answer in answers:
        said = CHECKS[name](answer)
        assert said.startswith("Not yet: ")
        assert STRANGE not in said


def test_what_no_check_foresaw_is_quoted():
    @check
    def first_number(function):
        function()[0] + 1

    said = first_number(lambda: {})
    assert said.startswith("Not yet: ")
    assert "KeyError" in said
