"""Checks of chapter 16: a class rare in the archive, an exact paired test, what adapters learn."""

import math
from typing import Any

from exercises.exercise import Case, Code, FaultError, as_number, call, check, compare_all

REACHED = (0.15, 0.45)  # after the vote, over draws of the ten articles, and a margin


@check
def rare_class(predicted: Any) -> None:
    """Check the share of articles of a class found after k-means, where the archive has hardly any of it."""
    share = as_number(predicted, "the share")
    if not 0 <= share <= 1:
        raise FaultError("a share is a number from 0 to 1.")
    if share > 0.85:
        raise FaultError("the vote does not help here. What is the mean of articles of which hardly any are about politics?")
    if share > 0.75:
        raise FaultError("that is what the names find. The centre does not stay there: which articles are nearest to it?")
    if share > REACHED[1]:
        raise FaultError("less: the centre moves away in the first round, and the next round begins there.")
    if share < REACHED[0]:
        raise FaultError("more: some articles on politics are still nearest to the centre that has moved.")


def _is_right(function: Code, first: int, second: int, right: float) -> bool:
    """Whether the function gives this number; what goes wrong otherwise is said elsewhere."""
    try:
        return abs(as_number(call(function, first, second), "the result") - right) < 1e-9
    except FaultError:
        return False


@check
def exact_p_value(function: Code) -> None:
    """Check ``function(first, second)``: how often a fair coin splits so unevenly, or more so.

    ``first`` and ``second`` are ints: on so many articles one of two methods alone is right. The
    result is the probability that ``first + second`` tosses of a fair coin fall at least as
    unevenly, to either side; it is 1 if there are no tosses. That is McNemar's test, exact.
    """
    for first, second in [(4, 1), (1, 4), (15, 7), (2, 30), (0, 5), (3, 3), (1, 2), (0, 0)]:
        n, few = first + second, min(first, second)
        ways = [math.comb(n, k) / 2**n for k in range(n + 1)]
        tail, gap = sum(ways[: few + 1]), abs(first - second)
        square = gap**2 / n if n else 0.0
        uneven = [way if abs(n - 2 * k) >= gap else 0.0 for k, way in enumerate(ways)]
        mistakes = {
            "only one side is counted; as uneven to the other side counts too.": tail,
            "this is this split alone; add the more uneven ones.": 2 * ways[few],
            "range(n) ends before n: the split in which all tosses agree is left out.": sum(uneven[:n]),
            "abs(n - k) is not how far apart k and n - k are; abs(n - 2 * k) is.": sum(ways[: n - gap + 1]),
            "this split itself is left out.": 2 * (tail - ways[few]),
            "this is this split alone, on one side; add the other side and the more uneven.": (ways[few]),
            "this is the approximation by chi-squared.": math.erfc(math.sqrt(square / 2)),
            "this is chi-squared with the correction by one; count the splits instead.": (
                math.erfc(max(gap - 1, 0) / math.sqrt(2 * n)) if n else 1.0
            ),
            "this split is counted by half (the mid-p value); count all of it.": (2 * tail - ways[few]),
            "a probability is at most 1; an even split is counted twice.": 2 * tail,
            "these are the ways; divide by all 2 ** n of them.": 2 * tail * 2**n,
            "the whole tail is added up to the larger number; take the smaller.": sum(ways[: max(first, second) + 1]),
            "this doubles the longer tail; the shorter goes from 0 to the smaller number.": (2 * sum(ways[: max(first, second) + 1])),
        }
        if first < second:  # where 1.0 is not the answer that the reader starts from
            said = "this is the longer tail, doubled and cut to 1; start from the smaller number."
            mistakes[said] = 1.0
        what, right = f"exact_p_value({first}, {second})", min(1.0, 2 * tail)
        if first > second and _is_right(function, second, first, right):
            said = "this doubles the tail up to first, cut to 1; let it go up to the smaller number."
            mistakes[said] = 1.0
        try:
            got = call(function, first, second)
        except FaultError as fault:
            if n:
                raise
            raise FaultError(f"{fault}. {what} has no tosses: return 1 for it.") from fault
        if not n and math.isnan(as_number(got, what)):
            raise FaultError(f"{what} has no tosses: return 1 for it, not NaN.")
        compare_all([(got, Case((), right, mistakes, what))])


ADAPTERS = {
    12 * 384 * 384: "these are the matrices themselves, which stay as they are; count A and B beside them.",
    6144: "that is A and B of one matrix; there are two matrices in each of six blocks.",
    2 * 6144: "that is one block; there are six.",
    6 * 6144: "that is half. Are A and B both counted, and both the queries' matrix and the values'?",
    18 * 6144: "only two matrices of each block get an adapter: those of queries and values.",
    24 * 6144: "only two matrices of each block get an adapter: those of queries and values.",
    3072: "that is A alone, of one matrix; B learns as well, and there are twelve matrices.",
    12 * 64: "A is (r, D) and B is (D, r), not (r, r).",
    2 * 12 * 64: "A is (r, D) and B is (D, r), not (r, r).",
    144 * 6144: "each matrix serves all twelve heads: it has one adapter, not one a head.",
}


@check
def adapter_numbers(predicted: Any) -> None:
    """Check how many numbers adapters of rank 8 learn, for queries and values of six blocks of 384.

    Source: Hu and others 2021, "LoRA: Low-Rank Adaptation of Large Language Models", section 4.1.
    """
    number = as_number(predicted, "the count", whole=True)
    if number in ADAPTERS:
        raise FaultError(ADAPTERS[number])  # type: ignore[index]
    if number != 12 * 6144:
        raise FaultError("not that many. How many numbers have A and B, and how many matrices get such a pair?")
