"""Checks of chapter 16: a class rare in the archive, an exact paired test."""

import math
from typing import Any

from exercises.exercise import Case, Cases, Code, FaultError, as_number, call, check, exercise


@check
def rare_class(predicted: Any) -> dict[str, bool]:
    """Check the share of articles of a class found after k-means, where the archive has hardly any of it."""
    share = as_number(predicted, "the share")
    return {  # right are 0.15 to 0.5: what draws of the ten articles give after k-means, and a margin
        "a share is a number from 0 to 1.": not 0 <= share <= 1,
        "only the first round helps. What is the mean of articles of which hardly any are about politics?": share > 0.85,
        "that is about what the names find. The centre does not stay there: which articles are nearest to it?": share > 0.7,
        "less: the larger classes pull the centre further with every round.": share > 0.5,
        "more: some articles on politics are still nearest to the centre that has moved.": share < 0.15,
    }


@exercise
def exact_p_value() -> Cases:
    """Check ``function(first, second)``: how often a fair coin splits so unevenly, or more so.

    ``first`` and ``second`` are ints: on so many articles one of two methods alone is right. The
    result is the probability that ``first + second`` tosses of a fair coin fall at least as
    unevenly, to either side; it is 1 if there are no tosses. That is McNemar's test, exact.
    """
    for first, second in [(4, 1), (1, 4), (15, 7), (2, 30), (0, 5), (3, 3), (1, 2), (0, 0)]:
        n, few, gap = first + second, min(first, second), abs(first - second)
        ways = [math.comb(n, k) / 2**n for k in range(n + 1)]
        tail, longer = sum(ways[: few + 1]), sum(ways[: n - few + 1])
        uneven = [way if abs(n - 2 * k) >= gap else 0.0 for k, way in enumerate(ways)]
        root = math.sqrt(2 * n) or 1.0
        mistakes = {
            "only one side is counted; as uneven to the other side counts too.": tail,
            "this is this split alone; add the more uneven ones.": 2 * ways[few],
            "range(n) ends before n: the split in which all tosses agree is left out.": sum(uneven[:n]),
            "abs(n - k) is not how far apart k and n - k are; abs(n - 2 * k) is.": sum(ways[: n - gap + 1]),
            "this split itself is left out.": 2 * (tail - ways[few]),
            "this is this split alone, on one side; add the other side and the more uneven.": ways[few],
            "this is the approximation by chi-squared.": math.erfc(gap / root),
            "this is chi-squared with the correction by one; count the splits instead.": math.erfc(max(gap - 1, 0) / root),
            "this split is counted by half (the mid-p value); count all of it.": 2 * tail - ways[few],
            "a probability is at most 1; an even split is counted twice.": 2 * tail,
            "these are the ways; divide by all 2 ** n of them.": 2 * tail * 2**n,
            "the whole tail is added up to the larger number; take the smaller.": longer,
            "this doubles the longer tail; the shorter goes from 0 to the smaller number.": 2 * longer,
        }
        if first < second:  # where 1.0 is not the answer that the reader starts from
            mistakes["this is the longer tail, doubled and cut to 1; start from the smaller number."] = 1.0
        what = f"exact_p_value({first}, {second})"
        yield Case((first, second), min(1.0, 2 * tail), mistakes, what, alone=True, ask=_p_value)


def _p_value(function: Code, first: int, second: int) -> Any:
    what, n = f"exact_p_value({first}, {second})", first + second
    try:
        got = call(function, first, second)
    except FaultError as fault:
        if n:
            raise
        raise FaultError(f"{fault}. {what} has no tosses: return 1 for it.") from fault
    number = as_number(got, what)
    if not n and math.isnan(number):
        raise FaultError(f"{what} has no tosses: return 1 for it, not NaN.")
    if first > second and number == 1 and call(function, second, first) != 1:
        raise FaultError("this doubles the tail up to first, cut to 1; let it go up to the smaller number.")
    return number
