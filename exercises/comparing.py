"""How the exercises that are no tables yet compare numbers and work."""

from collections.abc import Mapping, Sequence
from typing import Any

from torch import Tensor

from exercises.exercise import Code, FaultError, as_number, call, compare, work


def mistake_in_all(got: Sequence[float], mistakes: Sequence[Mapping[str, Any]], atol: float = 1e-9) -> str | None:
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
    with work(enough, waste):
        compare(call(function, *inputs), right, what, mistakes, atol=1e-4)
