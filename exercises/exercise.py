"""An exercise is a table: what a function is given, what is right, and a sentence for each mistake.

A table is a generator of ``Case``; ``exercise`` makes of it what a reader calls, and ``answer_as``
what tests it: the result of each mistake must be told by its own sentence.
"""

import functools
import textwrap
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
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


@dataclass
class Case:
    """One row of a table.

    Parameters
    ----------
    given : what the reader's function is called with; tensors and lists are copied for the call
    right : the result. A tensor is compared case by case, one of bool as a mask, a tuple part by
        part. Numbers, and all that ``==`` compares, are judged over all cases of the table: one
        alone may come out alike by chance, and then the sentence of a mistake would be a false one
    wrong : from a sentence to the result of that mistake; of a tuple, a part that is None is right
    what : the name of the result in a sentence; of a tuple, those of its parts
    parts : what the function should return, in words, where ``right`` is a tuple
    atol : how far a number may be off
    form : how to say which number is wrong, where no mistake explains them all
    whole : whether only integers will do
    order : in which order the parts of a tuple are looked at; by default as they stand
    kept : what to say to code that writes into the tensors it is given, and is right otherwise
    """

    given: tuple[Any, ...]
    right: Any
    wrong: Mapping[str, Any] = field(default_factory=dict)
    what: Any = "the result"
    parts: str = ""
    atol: float | None = None
    form: str = ""
    whole: bool = False
    order: tuple[int, ...] = ()
    kept: str = ""
    part: int = 0  # which part of a tuple this is
    touched: bool = False  # whether the code wrote into a tensor it was given

    def ask(self, function: Code) -> Any:
        """Call the function on copies of what is given."""
        given = [*map(_copied, self.given)]
        got = call(function, *given)
        pairs = zip(given, self.given, strict=True)
        self.touched = bool(self.kept) and any(isinstance(x, Tensor) and not x.equal(y) for x, y in pairs)
        return got

    def judged(self, got: Any) -> "list[tuple[Any, Case]]":
        """Raise ``FaultError`` if ``got`` is wrong; return what only all cases together tell."""
        if isinstance(self.right, tuple):
            require_parts(got, len(self.right), self.parts)
            order = self.order or range(len(self.right))
            return [n for i in order for n in self._part(i).judged(got[i])]
        if isinstance(self.right, Tensor):
            close = 1e-5 if self.atol is None else self.atol
            judge = compare_masks if self.right.dtype == torch.bool else functools.partial(compare, atol=close)
            judge(got, self.right, self.what, self.wrong)
            return []
        return [(got, self)]

    def value(self, got: Any) -> Any:
        """Give a number, a list or whatever else was asked for, or raise ``FaultError``."""
        if self._is_number():
            return as_number(got, self.what, self.whole)
        kind = type(self.right)
        if not isinstance(got, list | tuple if kind is list else kind):
            raise FaultError(f"{self.what} should be a {kind.__name__}; got {type(got).__name__}.")
        return list(got) if kind is list else got

    def equals(self, got: Any, other: Any) -> bool:
        """Say whether two values are the same; NaN is neither more nor less than anything."""
        if self._is_number():
            return bool(abs(got - float(other)) <= (1e-9 if self.atol is None else self.atol))
        return bool(got == other)

    def _is_number(self) -> bool:
        return isinstance(self.right, Real) and not isinstance(self.right, bool)

    def _part(self, i: int) -> "Case":
        wrong = {said: parts[i] for said, parts in self.wrong.items() if parts[i] is not None}
        rest = self.atol, self.form, self.whole
        return Case((), self.right[i], wrong, self.what[i], "", *rest, part=i)

    def answered(self, said: str | None) -> Any:
        """Give the result of this mistake, or the right one where it does not show."""
        wrong = self.wrong.get(said) if said else None
        if isinstance(self.right, tuple) and wrong is not None:
            return tuple(r if w is None else w for r, w in zip(self.right, wrong, strict=True))
        return self.right if wrong is None else wrong


Cases = Generator[Case, Any, None]
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
        _run(table(), lambda case: case.ask(function))

    checked.table = table  # type: ignore[attr-defined]
    return checked


def answer_as(checked: Any, said: str | None = None, spoil: Code = lambda right: right) -> Answer:
    """Say what a check answers to who made this mistake, or none."""
    return check(_run)(checked.table(), lambda case: spoil(case.answered(said)))


def sentences(checked: Any) -> list[str]:
    """Give the sentences of a table, each once."""
    cases: list[Case] = []

    def answer(case: Case) -> Any:
        cases.append(case)
        return case.right

    _run(checked.table(), answer)
    return list(dict.fromkeys(said for case in cases for said in case.wrong))


def _run(cases: Cases, ask: Callable[[Case], Any]) -> None:
    later: list[tuple[Any, Case]] = []
    try:
        case = next(cases)
        while True:
            try:
                got = ask(case)
                later += case.judged(got)
                if case.kept and case.touched:
                    raise FaultError(case.kept)
            except FaultError as fault:
                case = cases.throw(fault)
            else:
                case = cases.send(got)
    except StopIteration:
        compare_all(later)


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
            return Answer(f"Not yet: {STRANGE} ({type(error).__name__}: {error}).")
        return RIGHT

    return checked


def call(function: Code, *args: Any, **kwargs: Any) -> Any:
    """Call what the reader wrote; an error in it becomes a fault that quotes the error."""
    try:
        return function(*args, **kwargs)
    except Exception as error:  # the reader's code may raise anything
        raise FaultError(f"your code raised {type(error).__name__}: {error}") from error


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


def _copied(x: Any) -> Any:
    if isinstance(x, list):
        return [*map(_copied, x)]
    return x.clone() if type(x) is Tensor else x


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


def compare_all(answers: Sequence[tuple[Any, Case]]) -> None:
    """Raise ``FaultError`` unless each answer is what its case says.

    The first sentence that explains all of them is said, or else all of one part of a tuple where
    it is about that part alone. Where a mistake does not show, the answer is to be right.
    """
    made = [(case.value(got), case) for got, case in answers]
    about: dict[str, set[int]] = {}
    for _, case in made:
        for said in case.wrong:
            about.setdefault(said, set()).add(case.part)
    groups = [(said, made) for said in about]
    groups += [(s, [m for m in made if m[1].part in of]) for s, of in about.items() if len(of) == 1]
    for said, group in groups:
        explained = all(c.equals(got, c.wrong.get(said, c.right)) for got, c in group)
        if explained and not all(c.equals(got, c.right) for got, c in group):
            raise FaultError(said)
    for got, case in made:
        if not case.equals(got, case.right):
            plain = "{what} is {got!r}; expected {right!r}."
            number = "{what} is {got:,.12g}; expected {right:,.12g}."
            form = case.form or (number if isinstance(got, Real) else plain)
            raise FaultError(form.format(what=case.what, got=got, right=case.right))


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


def _equal(first: Tensor, second: Tensor, atol: float) -> bool:
    if first.shape != second.shape:
        return False
    return torch.allclose(first.double(), second.double(), atol=atol, rtol=1e-4, equal_nan=True)
