"""Every table tests itself: what is right passes, and each mistake gets its own sentence."""

import importlib
import math
import runpy
from numbers import Number
from pathlib import Path

import pytest
import torch

import exercises
from exercises.exercise import STRANGE, Case, FaultError, answer_as, compare_all, sentences
from exercises.mistakes import SWAPPED, ZEROED, wrong_attention

FILES = sorted(file.stem for file in Path(exercises.__file__).parent.glob("[ac][h0-9]*.py"))
MODULES = [importlib.import_module(f"exercises.{stem}") for stem in FILES]
NAMES = [
    (m.__name__, n, c)
    for m in MODULES
    for n, c in vars(m).items()
    if hasattr(c, "__wrapped__") and n[0] != "_"
]
CHECKS = {f"{m[10:]}.{n}": c for m, n, c in NAMES if c.__module__ == m}
TABLES = {name: c for name, c in CHECKS.items() if hasattr(c, "table")}
NONSENSE = [math.nan, torch.tensor(math.nan), None, torch.tensor(1.0), torch.tensor(1), [], "words"]


def spoiled(right, part):
    """A result of which one part, or all of it, is NaN."""
    if isinstance(right, tuple | list) and right:
        i = part % len(right)
        return [*right[:i], spoiled(right[i], 0), *right[i + 1 :]]
    if isinstance(right, torch.Tensor):
        return torch.full(right.shape, math.nan)
    return math.nan if isinstance(right, Number) else [math.nan]


def test_what_is_no_table_has_a_right_answer_in_a_file():
    files = Path(__file__).parent.glob("answers/*.py")
    answered = {check for file in files for check in runpy.run_path(str(file)).get("RIGHT", {})}
    assert [name for name in CHECKS.keys() - TABLES.keys() if CHECKS[name] not in answered] == []


@pytest.mark.parametrize("name", TABLES)
def test_each_mistake_gets_its_own_sentence(name):
    assert answer_as(TABLES[name]) == "Right."
    told = {said: answer_as(TABLES[name], said) for said in sentences(TABLES[name])}
    assert {said: words for said, words in told.items() if words != f"Not yet: {said}"} == {}


def test_a_sentence_about_some_cases_is_said_though_others_are_wrong_too():
    with pytest.raises(FaultError, match="it is half"):
        compare_all([(1, Case((), 2, {"it is half.": 1})), (9, Case((), 3))])


def test_mistakes_that_are_shared_are_what_they_say():
    q, k, v, allowed = *torch.randn(3, 2, 2, 4, 9).double(), torch.ones(4, 4).tril().bool()
    attend, zeroed = torch.nn.functional.scaled_dot_product_attention, (q @ k.mT / 3).tril()
    weights, wrong = attend(q, k, torch.eye(4).double(), allowed), wrong_attention(q, k, v, allowed)
    for said, made in {
        SWAPPED: attend(q, v, k, allowed),
        ZEROED: zeroed.softmax(-1) @ v,
        "the keys are mixed; mix the values.": weights @ k,
        "the weights are transposed: a row is one query's.": weights.mT @ v,
    }.items():
        torch.testing.assert_close(wrong[said], made)


@pytest.mark.parametrize("name", TABLES)
def test_a_result_that_is_spoiled_in_part_is_refused(name):
    for part in range(3):
        said = answer_as(TABLES[name], spoil=lambda right, part=part: spoiled(right, part))
        assert said.startswith("Not yet: ")
        assert STRANGE not in said


@pytest.mark.parametrize("name", CHECKS)
def test_nonsense_is_refused_in_a_sentence(name):
    answers = list(NONSENSE)
    for made in NONSENSE:
        answers.append(lambda *_, made=made, **__: made)
        for parts in (1, 2, 3, 4):
            answers.append(lambda *_, made=[made] * parts, **__: made)
    for answer in answers:
        said = CHECKS[name](answer)
        assert said.startswith("Not yet: ")
        assert STRANGE not in said
