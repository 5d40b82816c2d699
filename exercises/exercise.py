"""An exercise is a table: what a function is given, what is right, and a sentence for each mistake.

A table is a generator of ``Case``; ``exercise`` makes of it what a reader calls, and ``answer_as``
what tests it: the result of each mistake must be told by its own sentence.
"""

import functools
import math
import textwrap
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from numbers import Integral, Real
from typing import Any

import numpy as np
import torch
from torch import Tensor
from torch.utils.flop_counter import FlopCounterMode

WIDTH = 78  # columns that a page shows without scrolling
Code = Callable[..., Any]  # what a reader wrote: it may take and return anything
Wrong = dict[str, Any]  # from a sentence that names a mistake to the result that it gives


class Answer(str):
    """What a check tells the reader: a string that a notebook shows wrapped and without quotes."""

    def __repr__(self) -> str:
        return textwrap.fill(self, WIDTH)


RIGHT = Answer("Right.")
STRANGE = "what you gave or returned is nothing that the check can look at"


class FaultError(Exception):
    """What is wrong with a reader's solution, in one sentence."""


def call(function: Code, *args: Any, **kwargs: Any) -> Any:
    """Call what the reader wrote; an error in it becomes a fault that quotes the error."""
    try:
        return function(*args, **kwargs)
    except Exception as error:  # the reader's code may raise anything
        raise FaultError(f"your code raised {type(error).__name__}: {error}") from error


@dataclass
class Case:
    """One row of a table.

    A tensor is compared case by case, one of bool as a mask, a tuple part by part. Numbers, and all that ``==`` compares, are judged
    over all cases of the table: one alone may come out alike by chance, and then the sentence of a mistake would be a false one.
    """

    given: tuple[Any, ...]  # what the function is called with; tensors and lists are copied for the call
    right: Any  # the result
    wrong: Mapping[str, Any] = field(default_factory=dict)  # the result of each mistake; of a tuple, a part that is None is right
    what: Any = "the result"  # its name in a sentence; of a tuple, those of its parts
    parts: str = ""  # what the function should return, in words, where ``right`` is a tuple
    atol: float | None = None  # how far a number may be off
    form: str = ""  # how to say which number is wrong, where no mistake explains them all
    order: tuple[int, ...] = ()  # in which order the parts of a tuple are looked at; by default as they stand
    kept: str = ""  # what to say to code that writes into the tensors it is given, and is right otherwise
    alone: bool = False  # whether a number is judged by itself
    ask: Code = call  # how the function is called with what is given, and its result read

    def judged(self, got: Any) -> "list[tuple[Any, Case]]":
        """Raise ``FaultError`` if ``got`` is wrong; return what only all cases together tell."""
        close = 1e-5 if self.atol is None else self.atol
        if isinstance(self.right, tuple):
            require_parts(got, len(self.right), self.parts)
            for said, wrong in self.wrong.items():  # a mistake that shows in every part
                if equal(got, wrong, close) and not equal(self.right, wrong, close):
                    raise FaultError(said)
            order = self.order or range(len(self.right))
            return [n for i in order for n in self._part(i).judged(got[i])]
        if isinstance(self.right, Tensor):
            compare(got, self.right, self.what, self.wrong, close)
            return []
        if self.alone:
            compare_all([(got, self)])
        return [(got, self)]

    def is_number(self) -> bool:
        """Say whether a number is asked for, and may be off a little."""
        return isinstance(self.right, Real) and not isinstance(self.right, bool)

    def equals(self, got: Any, other: Any) -> bool:
        """Say whether two values are the same; NaN is neither more nor less than anything."""
        if self.is_number():
            return bool(abs(got - float(other)) <= (1e-9 if self.atol is None else self.atol))
        return bool(got == other)

    def answered(self, said: str | None) -> Any:
        """Give the result of this mistake, or the right one where it does not show."""
        wrong = self.wrong.get(said) if said else None
        if isinstance(self.right, tuple) and wrong is not None:
            return tuple(r if w is None else w for r, w in zip(self.right, wrong, strict=True))
        return self.right if wrong is None else wrong

    def _part(self, i: int) -> "Case":
        wrong = {said: parts[i] for said, parts in self.wrong.items() if parts[i] is not None}
        return replace(self, right=self.right[i], wrong=wrong, what=self.what[i])


@dataclass
class Prediction:
    """The row of a table that asks for a number, not for a function."""

    what: str  # its name in a sentence
    right: tuple[float, float]  # what is right lies between these two numbers
    mistakes: Mapping[Any, str]  # from the number of a mistake to its sentence; the nearest one is said
    near: float = math.inf  # how near the nearest has to be
    other: str | Callable[[float], str] = ""  # what to say where none is so near: a sentence, or a function from the number to one
    limits: tuple[float, float, str] | None = None  # the least and the largest number that can be, and what to say of one that cannot
    whole: bool = False  # whether only integers will do
    ask: Code = lambda predicted: predicted  # how the number is read from what the reader gives
    given, kept = (), ""  # there is no function to call

    def judged(self, got: Any) -> list[Any]:
        """Raise ``FaultError`` if ``got`` is wrong."""
        number = as_number(got, self.what, self.whole)
        if self.limits and not self.limits[0] <= number <= self.limits[1]:  # nor is NaN between them
            raise FaultError(self.limits[2])
        if not self.right[0] < number < self.right[1]:
            mistaken = min(self.mistakes, key=lambda mistake: abs(mistake - number))
            other = self.other if isinstance(self.other, str) else self.other(number)
            raise FaultError(self.mistakes[mistaken] if abs(mistaken - number) < self.near else other)
        return []

    @property
    def wrong(self) -> dict[str, float]:
        """From a sentence to the number of its mistake."""
        return {said: number for number, said in self.mistakes.items()}

    def answered(self, said: str | None) -> float:
        """Give the number of this mistake, or a right one."""
        right = sum(self.right) / 2
        return self.wrong.get(said or "", round(right) if self.whole else right)


Row = Case | Prediction
Cases = Generator[Row, Any, None]
Table = Callable[[], Cases]


def exercise(table: Table) -> Callable[[Any], Answer]:
    """Make a check of a table.

    What the reader's function returned is sent back to the table once it was compared, for what
    else may be wrong with it; what was wrong is raised at the ``yield``, where a ``with`` or
    ``try`` may say more of it.
    """

    @check
    @functools.wraps(table)
    def checked(function: Any) -> None:
        _run(table(), lambda case, given: case.ask(function, *given))

    checked.table = table  # type: ignore[attr-defined]
    return checked


def answer_as(checked: Any, said: str | None = None, spoil: Code = lambda right: right) -> Answer:
    """Say what a check answers to who made this mistake, or none."""
    return check(_run)(checked.table(), lambda case, _: spoil(case.answered(said)))


def sentences(checked: Any) -> list[str]:
    """Give the sentences of a table, each once."""
    told: dict[str, None] = {}

    def answer(case: Row, _: Any) -> Any:
        told.update(dict.fromkeys(case.wrong))
        return case.answered(None)

    _run(checked.table(), answer)
    return list(told)


def _run(cases: Cases, ask: Callable[[Row, list[Any]], Any]) -> None:
    later: list[tuple[Any, Case]] = []
    try:
        case = next(cases)
        while True:
            given = [*map(_copied, case.given)]
            try:
                got = ask(case, given)
                later += case.judged(got)
                pairs = zip(given, case.given, strict=True)
                if case.kept and any(isinstance(x, Tensor) and not x.equal(y) for x, y in pairs):
                    raise FaultError(case.kept)
            except FaultError as fault:
                case = cases.throw(fault)
            else:
                case = cases.send(got)
    except StopIteration:
        compare_all(later)


def _copied(x: Any) -> Any:
    if isinstance(x, list | tuple):
        return type(x)(map(_copied, x))
    return x.clone() if type(x) is Tensor else x


def compare_all(answers: Sequence[tuple[Any, Case]]) -> None:
    """Raise ``FaultError`` unless each answer is what its case says.

    The first sentence that explains all of them is said, or else all that it is about. Where a
    mistake does not show, the answer is to be right.
    """
    made = [(as_number(got, case.what) if case.is_number() else got, case) for got, case in answers]
    told = dict.fromkeys(said for _, case in made for said in case.wrong)
    for group in (lambda said: made, lambda said: [m for m in made if said in m[1].wrong]):
        for said in told:
            explained = all(c.equals(got, c.wrong.get(said, c.right)) for got, c in group(said))
            if explained and not all(c.equals(got, c.right) for got, c in group(said)):
                raise FaultError(said)
    for got, case in made:
        if not case.equals(got, case.right):
            plain = "{what} is {got!r}; expected {right!r}."
            number = "{what} is {got:,.12g}; expected {right:,.12g}."
            form = case.form or (number if isinstance(got, Real) else plain)
            raise FaultError(form.format(what=case.what, got=got, right=case.right))


def refuse(faults: Mapping[str, Any]) -> None:
    """Raise the first of these sentences that is true."""
    for said, holds in faults.items():
        if holds:
            raise FaultError(said)


def check(run: Callable[..., Mapping[str, bool] | None]) -> Callable[..., Answer]:
    """Make a check of a function that raises ``FaultError``, or returns sentences and which of them hold.

    The result is "Right." or a sentence that starts with "Not yet:". What a check stumbles over is
    no traceback of ours either: the sentence quotes it.
    """

    @functools.wraps(run)
    def checked(*args: Any, **kwargs: Any) -> Answer:
        try:
            refuse(run(*args, **kwargs) or {})
        except FaultError as fault:
            return Answer(f"Not yet: {fault}")
        except Exception as error:  # a thing so strange that the check did not foresee it
            return Answer(f"Not yet: {STRANGE} ({type(error).__name__}: {error}).")
        return RIGHT

    return checked


@contextmanager
def hint(said: str, *where: str) -> Iterator[None]:
    """Say more where an error of the reader's code has one of these words: by default, of shapes."""
    try:
        yield
    except FaultError as fault:
        words = where or ("must match", "broadcast", "cannot be expanded")
        if not isinstance(fault.__cause__, Exception) or not any(w in str(fault) for w in words):
            raise
        raise FaultError(f"{fault} {said}") from fault


@contextmanager
def work(enough: int, waste: str) -> Iterator[None]:
    """Count the multiply-adds of products; where more than ``enough``, say in a clause why."""
    with FlopCounterMode(display=False) as counter:
        yield
    needed = counter.get_total_flops() // 2
    if needed > enough:
        raise FaultError(f"right, but {waste}: {needed:,} multiply-adds; {enough:,} are enough.")


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


def say(function: Code, *given: Any) -> bool:
    """Call what the reader wrote to say True or False."""
    got = call(function, *given)
    if not isinstance(got, bool | np.bool_) and not (isinstance(got, Tensor) and got.numel() == 1):
        raise FaultError(f"return True or False; got {type(got).__name__}.")
    return bool(got)


def refuse_names(predicted: Any, why: Mapping[str, str], right: str, example: str) -> None:
    """Raise ``FaultError`` unless a list of names has the right one alone; ``why`` tells of each name."""
    if not isinstance(predicted, list | tuple | set | dict):
        raise FaultError(f"give a list of names, such as ['{example}'].")
    names = list(predicted)
    for name in names:
        if name not in why:
            raise FaultError(f"{name!r} is none of the four: {', '.join(why)}.")
    refuse({why[name]: name in names for name in why if name != right})
    refuse({why[right]: right not in names})


def normal(seed: int) -> Callable[..., Tensor]:
    """Give a ``torch.randn`` that draws the same tensors in every run of a check."""
    return functools.partial(torch.randn, generator=torch.Generator().manual_seed(seed))


def compare(got: Any, expected: Tensor, what: str, mistakes: Mapping[str, Tensor] | None = None, atol: float = 1e-5) -> None:
    """Raise ``FaultError`` unless ``got`` is the tensor expected; the first mistake that it equals is named.

    In a mask True means allowed.
    """
    if not isinstance(got, Tensor):
        raise FaultError(f"{what} should be a tensor; got {type(got).__name__}.")
    is_mask = expected.dtype == torch.bool
    if is_mask and got.dtype != torch.bool:
        raise FaultError(f"the mask has dtype {got.dtype}; expected torch.bool.")
    for mistake, wrong in (mistakes or {}).items():
        if equal(got, wrong, atol) and not equal(wrong, expected, atol):
            raise FaultError(mistake)
    if got.shape != expected.shape:
        raise FaultError(f"{what} has shape {tuple(got.shape)}; expected {tuple(expected.shape)}.")
    if equal(got, expected, atol):
        return
    if got.is_floating_point() and got.isnan().any():
        raise FaultError(f"{what} has {int(got.isnan().sum())} entries that are NaN.")
    difference = (got.double() - expected.double()).abs()
    where = tuple(int(i) for i in torch.unravel_index(difference.argmax(), difference.shape))
    count = int((difference > atol).sum())
    if is_mask:
        said = "allowed instead of blocked" if got[where] else "blocked instead of allowed"
        said += f" (the first of {count} such places)" if count > 1 else ""
    else:
        said = f"{got[where].item():.4g} instead of {expected[where].item():.4g} (the largest of {count} differences)"
    raise FaultError(f"{what} is wrong at {list(where)}: {said}.")


def equal(first: Any, second: Any, atol: float = 1e-5) -> bool:
    """Say whether two tensors are all but the same, or all the tensors of two tuples."""
    if isinstance(first, tuple | list) and isinstance(second, tuple | list):
        return all(equal(a, b, atol) for a, b in zip(first, second, strict=True))
    if not (isinstance(first, Tensor) and isinstance(second, Tensor) and first.shape == second.shape):
        return False
    return torch.allclose(first.double(), second.double(), atol=atol, rtol=1e-4, equal_nan=True)
