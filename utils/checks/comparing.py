"""How a check says what is wrong: in words, and by name where the mistake is a known one."""

import functools
import textwrap
import warnings
from collections.abc import Callable, Mapping, Sequence
from numbers import Integral, Real
from typing import Any

import numpy as np
import torch
from torch import Tensor
from torch.overrides import TorchFunctionMode
from torch.utils.flop_counter import FlopCounterMode

WIDTH = 78  # columns that a page shows without scrolling
Code = Callable[..., Any]  # what a reader wrote: it may take and return anything


class Answer(str):
    """What a check tells the reader: a string that a notebook shows wrapped and without quotes."""

    def __repr__(self) -> str:
        return textwrap.fill(self, WIDTH)


RIGHT = Answer("Right.")
STRANGE = "what you gave or returned is nothing that the check can look at"


class FaultError(Exception):
    """What is wrong with a reader's solution, in one sentence."""


def check(run: Callable[..., None]) -> Callable[..., Answer]:
    """Make a check of a function that raises ``FaultError``: it returns what to tell the reader.

    The result is "Right." or a sentence that starts with "Not yet:". What a check stumbles over is
    no traceback of ours either: the sentence quotes it.
    """

    @functools.wraps(run)
    def checked(*args: Any, **kwargs: Any) -> Answer:
        try:
            run(*args, **kwargs)
        except FaultError as fault:
            return Answer(f"Not yet: {fault}")
        except Exception as error:  # a thing so strange that the check did not foresee it
            said = f"{STRANGE} ({type(error).__name__}: {error})."
            return Answer(f"Not yet: {said}")
        return RIGHT

    return checked


def call(function: Code, *args: Any, **kwargs: Any) -> Any:
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
    """Give the number that the reader's code returned, NumPy's and PyTorch's too.

    Raise ``FaultError`` if it is none, or, with ``whole``, if it is no integer.
    """
    if isinstance(got, Tensor | np.ndarray) and got.shape in ((), (1,)):
        got = got.item()
    if isinstance(got, bool) or not isinstance(got, Integral if whole else Real):
        shape = f" of shape {tuple(got.shape)}" if isinstance(got, Tensor | np.ndarray) else ""
        kind = "an int" if whole else "a number"
        raise FaultError(f"{what} should be {kind}; got {type(got).__name__}{shape}.")
    return int(got) if isinstance(got, Integral) else float(got)


def mistake_in_all(
    got: Sequence[float], mistakes: Sequence[Mapping[str, Any]], atol: float = 1e-9
) -> str | None:
    """Give the sentence that explains the numbers of all cases, if there is one.

    One case alone may come out alike by chance, and then the sentence would be a false one.
    """
    cases = list(zip(got, mistakes, strict=True))
    for said in mistakes[0]:
        if all(abs(number - float(wrong[said])) <= atol for number, wrong in cases):
            return said
    return None


def compare_numbers(
    cases: Sequence[tuple[Any, float, str, Mapping[str, Any]]],
    form: str = "{what} is {got:,.12g}; expected {right:,.12g}.",
    atol: float = 1e-9,
    whole: bool = False,
) -> None:
    """Raise ``FaultError`` unless every number is right.

    Parameters
    ----------
    cases : what the reader's code returned, what is right, its name in a sentence, and from a
        sentence that names a mistake to the number that it gives; the same sentences in each case
    form : how to say which number is wrong, where no mistake explains them all
    atol, whole : how far a number may be off, and whether only integers will do
    """
    numbers = [as_number(got, what, whole) for got, _, what, _ in cases]
    for number, (_, right, what, _) in zip(numbers, cases, strict=True):
        if not abs(number - right) <= atol:  # NaN is neither more nor less than anything
            said = mistake_in_all(numbers, [mistakes for *_, mistakes in cases], atol)
            raise FaultError(said or form.format(what=what, got=number, right=right))


def normal(seed: int) -> Callable[..., Tensor]:
    """Give a ``torch.randn`` that draws the same tensors in every run of a check."""
    return functools.partial(torch.randn, generator=torch.Generator().manual_seed(seed))


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


def compare_masks(got: Any, expected: Tensor, what: str, mistakes: Mapping[str, Tensor]) -> None:
    """Compare boolean masks; what no mistake explains is said as allowed and blocked."""
    if isinstance(got, Tensor) and got.dtype != torch.bool:
        raise FaultError(f"the mask has dtype {got.dtype}; expected torch.bool.")
    known = any(isinstance(got, Tensor) and torch.equal(got, wrong) for wrong in mistakes.values())
    if known or not isinstance(got, Tensor) or got.shape != expected.shape:
        compare(got, expected, what, mistakes)
        return
    differ = (got != expected).nonzero().tolist()
    if differ:
        is_allowed = bool(got[tuple(differ[0])])
        said = "allowed instead of blocked" if is_allowed else "blocked instead of allowed"
        more = f" (the first of {len(differ)} such places)" if len(differ) > 1 else ""
        raise FaultError(f"{what} is wrong at {differ[0]}: {said}{more}.")


def nan_within(result: Tensor, given: Tensor) -> str | None:
    """Name the step whose gradient is NaN on the way from ``result`` back to ``given``, if any.

    What reaches ``given`` may be finite all the same: a fill passes no gradient on.
    """
    with warnings.catch_warnings(action="ignore"), torch.autograd.detect_anomaly():
        try:
            torch.autograd.grad(result, given, retain_graph=True)
        except RuntimeError as error:
            return str(error).split("'")[1].removesuffix("Backward0")
    return None


def compare_work(
    function: Code,
    inputs: Sequence[Any],
    right: Tensor,
    what: str,
    mistakes: Mapping[str, Tensor],
    enough: int,
    waste: str,
) -> None:
    """Call the function; compare the result, and the multiply-adds of its products with ``enough``.

    Where there are more, ``waste`` says in a clause what was done.
    """
    with FlopCounterMode(display=False) as counter:
        got = call(function, *inputs)
    compare(got, right, what, mistakes, atol=1e-4)
    needed = counter.get_total_flops() // 2
    if needed > enough:
        raise FaultError(f"right, but {waste}: {needed:,} multiply-adds; {enough:,} are enough.")


def compare_views(
    function: Code,
    inputs: Sequence[Any],
    right: Tensor,
    what: str,
    mistakes: Mapping[str, Tensor],
) -> None:
    """Call the function and compare; where ``view`` raises, say what is wrong in its place.

    What its error advises, ``reshape``, tells whether a transpose is missing or one copy needed.
    """
    try:
        got = call(function, *inputs)
    except FaultError as fault:
        if "view size is not compatible" not in str(fault):
            raise
        with _ViewCopies():
            got = call(function, *inputs)
        try:
            compare(got, right, what, mistakes)
        except FaultError as mistake:
            if "heads" in str(mistake) and "transpose" in str(mistake):
                raise FaultError(
                    "view stops, and reshape, which its error advises, would only hide why: "
                    f"{mistake}"
                ) from mistake
            raise fault from mistake  # something else is wrong besides; view's error comes first
        said = "view cannot merge axes after a transpose; here reshape or flatten is right."
        raise FaultError(said) from fault
    compare(got, right, what, mistakes)


class _ViewCopies(TorchFunctionMode):
    """Let ``view`` do what its error advises: copy where it must."""

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        return (Tensor.reshape if func is Tensor.view else func)(*args, **(kwargs or {}))


def _equal(first: Tensor, second: Tensor, atol: float) -> bool:
    if first.shape != second.shape:
        return False
    return torch.allclose(first.double(), second.double(), atol=atol, rtol=1e-4, equal_nan=True)
