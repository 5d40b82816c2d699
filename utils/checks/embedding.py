"""Checks of chapter 13, on vectors of texts: an exact test, class means, neighbours."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor

from utils.checks.comparing import FaultError, call, check, compare

N, M, C, D = 24, 360, 3, 5  # known texts, asked texts, classes, numbers of a vector


@check
def exact_p_value(function: Callable[..., float]) -> None:
    """Check ``function(first, second)``: how often a fair coin splits so unevenly, or more so.

    ``first`` and ``second`` are ints: on so many articles one of two methods alone is right. The
    result is the probability that ``first + second`` tosses of a fair coin fall at least as
    unevenly, to either side; it is 1 if there are no tosses. That is McNemar's test, exact.
    """
    for first, second in [(4, 1), (1, 4), (15, 7), (2, 30), (0, 5), (3, 3), (1, 2), (0, 0)]:
        n, few = first + second, min(first, second)
        tail = sum(math.comb(n, k) for k in range(few + 1)) / 2**n
        square = (first - second) ** 2 / n if n else 0.0
        mistakes = {
            "only one side is counted; as uneven to the other side counts too.": tail,
            "this is the probability of this split alone; add the more uneven ones.": (
                2 * math.comb(n, few) / 2**n
            ),
            "leave nothing out: this split itself is among those at least as uneven.": (
                2 * (tail - math.comb(n, few) / 2**n)
            ),
            "this is the approximation by chi-squared; count the ways.": math.erfc(
                math.sqrt(square / 2)
            ),
            "a probability is at most 1; an even split is counted twice.": 2 * tail,
            "these are the ways; divide by all 2 ** n of them.": 2 * tail * 2**n,
        }
        what = f"exact_p_value({first}, {second})"
        _number(call(function, first, second), min(1.0, 2 * tail), what, mistakes)


def _number(got: Any, expected: float, what: str, mistakes: dict[str, float]) -> None:
    """Raise ``FaultError`` unless ``got`` is the number expected."""
    try:
        found = float(got)
    except (TypeError, ValueError):
        raise FaultError(f"{what} should be a number; got {type(got).__name__}.") from None
    if math.isclose(found, expected, abs_tol=1e-9):
        return
    for said, wrong in mistakes.items():
        if math.isclose(found, wrong, abs_tol=1e-9):
            raise FaultError(said)
    raise FaultError(f"{what} is {found:.4g}; expected {expected:.4g}.")


@check
def nearest_class(function: Callable[..., Tensor]) -> None:
    """Check ``function(vectors, labels, asked)``: the class whose mean vector points most alike.

    ``vectors`` is (N, D), each of length one, ``labels`` (N,) from 0 to C - 1, every class among
    them, and ``asked`` (M, D), each of length one. The result is (M,), int64: the class with the
    largest cosine between a text and the mean of the class's vectors.
    """
    generator = torch.Generator().manual_seed(13)
    labels = torch.cat([torch.zeros(14), torch.ones(7), 2 * torch.ones(3)]).long()  # (N,)
    labels = labels[torch.randperm(N, generator=generator)]
    spread = torch.tensor([2.0, 1.0, 0.3])[labels].unsqueeze(1)  # classes wide and narrow
    middles = torch.randn(C, D, generator=generator)
    noise = torch.randn(N, D, generator=generator)
    vectors = F.normalize(middles[labels] + spread * noise, dim=-1)
    asked = F.normalize(torch.randn(M, D, generator=generator), dim=-1)
    own = F.one_hot(labels, C).float().T  # (C, N)
    means = own @ vectors / own.sum(dim=1, keepdim=True)  # (C, D)

    def best(weights: Tensor) -> Tensor:
        return (asked @ weights.T).argmax(dim=-1)

    nearest = labels[(asked @ vectors.T).argmax(dim=-1)]
    mistakes = {
        "the sums are compared, so large classes win: take means, and their direction.": best(
            own @ vectors
        ),
        "divide each mean by its length, or classes whose texts are alike win.": best(means),
        "this is the class of the nearest text; take the mean of each class first.": nearest,
        "this is the least similar class; take the largest cosine.": (
            asked @ F.normalize(means, dim=-1).T
        ).argmin(dim=-1),
        "these are cosines; give the class, the index of the largest.": (
            asked @ F.normalize(means, dim=-1).T
        ),
        "this asks about the known texts; ask about `asked`.": (
            vectors @ F.normalize(means, dim=-1).T
        ).argmax(dim=-1),
    }
    expected = best(F.normalize(means, dim=-1))
    got = call(function, vectors.clone(), labels.clone(), asked.clone())
    compare(got, expected, "the result", mistakes)


@check
def first_of_kind(function: Callable[..., Tensor]) -> None:
    """Check ``function(vectors, labels)``: how far down a text's list is the first of its kind.

    ``vectors`` is (N, D), each of length one, ``labels`` (N,), each at least twice. The result is
    (N,), int64: with the other texts ordered by the cosine, the nearest first, the place of the
    first that has the text's own label. The nearest text has place 1.
    """
    generator = torch.Generator().manual_seed(13)
    labels = torch.arange(N) % C
    vectors = torch.randn(C, D, generator=generator)[labels]
    vectors = F.normalize(vectors + torch.randn(N, D, generator=generator), dim=-1)
    cosines, itself = vectors @ vectors.T, torch.eye(N)  # (N, N)

    def place(scores: Tensor, alike: bool = True) -> Tensor:
        order = scores.argsort(dim=1, descending=True)
        same = (labels[order] == labels.unsqueeze(1)) == alike
        return same.long().argmax(dim=1) + 1

    expected = place(cosines - 3 * itself)
    mistakes = {
        "every text is its own nearest: leave it out.": place(cosines),
        "the nearest text has place 1, not 0.": expected - 1,
        "leave the text itself out before you count the places.": expected + 1,
        "the least similar texts come first here; the largest cosine has place 1.": place(
            -cosines - 3 * itself
        ),
        "this is the first of another kind; look for the same label.": place(
            cosines - 3 * itself, alike=False
        ),
        "this is the number of the text that was found; give its place in the list.": (
            cosines - 3 * itself - 9 * (labels != labels.unsqueeze(1))
        ).argmax(dim=1),
    }
    got = call(function, vectors.clone(), labels.clone())
    compare(got, expected, "the result", mistakes)
