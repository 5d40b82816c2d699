"""How a check says what is wrong: in words, and by name where the mistake is a known one."""

from __future__ import annotations

import functools
import textwrap
from collections.abc import Callable, Mapping, Sequence
from numbers import Integral, Real
from typing import Any

import torch
from torch import Tensor

WIDTH = 78  # columns that a page shows without scrolling


class Answer(str):
    """What a check tells the reader: a string that a notebook shows wrapped and without quotes."""

    def __repr__(self) -> str:
        return textwrap.fill(self, WIDTH)


RIGHT = Answer("Right.")


class FaultError(Exception):
    """What is wrong with a reader's solution, in one sentence."""


def check(run: Callable[..., None]) -> Callable[..., Answer]:
    """Make a check of a function that raises ``FaultError``: it returns what to tell the reader.

    The result is "Right." or a sentence that starts with "Not yet:".
    """

    @functools.wraps(run)
    def checked(*args: Any, **kwargs: Any) -> Answer:
        try:
            run(*args, **kwargs)
        except FaultError as fault:
            return Answer(f"Not yet: {fault}")
        return RIGHT

    return checked


def call(function: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
    """Call what the reader wrote; an error in it becomes a fault that quotes the error."""
    try:
        return function(*args, **kwargs)
    except Exception as error:  # the reader's code may raise anything
        raise FaultError(f"your code raised {type(error).__name__}: {error}") from error


def require_parts(result: Any, count: int, parts: str) -> None:
    """Raise ``FaultError`` unless the reader's code returned so many things, as ``parts`` says."""
    if not isinstance(result, tuple | list) or len(result) != count:
        raise FaultError(f"your function should return {parts}.")


def as_number(got: Any, what: str, whole: bool = False) -> int | float:
    """Give the number that the reader's code returned, one of NumPy's too, as Python's own.

    Raise ``FaultError`` if it is none, or, with ``whole``, if it is no integer.
    """
    if isinstance(got, bool) or not isinstance(got, Integral if whole else Real):
        kind = "an int" if whole else "a number"
        raise FaultError(f"{what} should be {kind}; got {type(got).__name__}.")
    return int(got) if isinstance(got, Integral) else float(got)


def mistake_in_all(got: Sequence[float], mistakes: Sequence[Mapping[str, float]]) -> str | None:
    """Give the sentence that explains the results of all cases, if there is one.

    One case alone may come out alike by chance, and then the sentence would be a false one.

    Parameters
    ----------
    got : what the reader's code returned, for each case
    mistakes : for each case, from a sentence that names a mistake to the result that it gives
    """
    pairs = list(zip(got, mistakes, strict=True))
    return next((said for said in mistakes[0] if all(g == m[said] for g, m in pairs)), None)


def compare(
    got: Any,
    expected: Tensor,
    what: str,
    mistakes: Mapping[str, Tensor] | None = None,
    atol: float = 1e-5,
) -> None:
    """Raise ``FaultError`` unless ``got`` is the tensor expected.

    Parameters
    ----------
    got : what the reader's code returned
    expected : Tensor
    what : str, the name of the thing in a sentence, such as "the output"
    mistakes : from a sentence that names a mistake to the result that it gives. The first one that
        ``got`` equals is what the reader is told
    atol : float, how far a number may be off
    """
    if not isinstance(got, Tensor):
        raise FaultError(f"{what} should be a tensor; got {type(got).__name__}.")
    for mistake, wrong in (mistakes or {}).items():
        if _equal(got, wrong, atol) and not _equal(wrong, expected, atol):
            raise FaultError(mistake)
    if got.shape != expected.shape:
        raise FaultError(f"{what} has shape {tuple(got.shape)}; expected {tuple(expected.shape)}.")
    if not _equal(got, expected, atol):
        if got.is_floating_point() and got.isnan().any():
            raise FaultError(f"{what} has {int(got.isnan().sum())} entries that are NaN.")
        difference = (got.double() - expected.double()).abs()
        where = tuple(int(i) for i in torch.unravel_index(difference.argmax(), difference.shape))
        raise FaultError(
            f"{what} is wrong at {list(where)}: {got[where].item():.4g} instead of "
            f"{expected[where].item():.4g} (the largest of {int((difference > atol).sum())} "
            "differences)."
        )


def _equal(first: Tensor, second: Tensor, atol: float) -> bool:
    if first.shape != second.shape:
        return False
    return torch.allclose(first.double(), second.double(), atol=atol, rtol=1e-4, equal_nan=True)
