"""Checks of chapter 16: an exact paired test, the nearest class, and an adapter beside a weight.

Shapes: N known texts, M asked ones, C classes, D numbers of a vector, r the rank of an adapter.
"""

import math

import torch
import torch.nn.functional as F

from exercises.exercise import Case, Cases, Code, FaultError, as_number, call, check, compare_all, exercise, hint, normal

N, M, C, D = 24, 360, 3, 5  # known texts, asked texts, classes, numbers of a vector


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
        try:
            got = call(function, first, second)
        except FaultError as fault:
            if n:
                raise
            raise FaultError(f"{fault}. {what} has no tosses: return 1 for it.") from fault
        if not n and math.isnan(as_number(got, what)):
            raise FaultError(f"{what} has no tosses: return 1 for it, not NaN.")
        compare_all([(got, Case((), right, mistakes, what))])


@exercise
def nearest_class() -> Cases:
    """Check ``function(vectors, labels, asked)``: the class whose mean vector points most alike.

    ``vectors`` is (N, D), each of length one, ``labels`` (N,) from 0 to C - 1, every class among
    them, and ``asked`` (M, D), each of length one. The result is (M,), int64: the class with the
    largest cosine between a text and the mean of the class's vectors.
    """
    generator = torch.Generator().manual_seed(13)
    labels = torch.cat([torch.zeros(14), torch.ones(7), 2 * torch.ones(3)]).long()  # (N,)
    labels = labels[torch.randperm(N, generator=generator)].flip(0)  # 0, 2, 1 as first seen
    spread = torch.tensor([2.0, 1.0, 0.3])[labels].unsqueeze(1)  # classes wide and narrow
    middles = torch.randn(C, D, generator=generator)
    noise = torch.randn(N, D, generator=generator)
    vectors = F.normalize(middles[labels] + spread * noise, dim=-1)
    asked = F.normalize(torch.randn(M, D, generator=generator), dim=-1)
    own = F.one_hot(labels, C).float().T  # (C, N)
    means = own @ vectors / own.sum(dim=1, keepdim=True)  # (C, D)
    directions = F.normalize(means, dim=-1)

    def best(weights: torch.Tensor, asked: torch.Tensor = asked) -> torch.Tensor:
        return (asked @ weights.T).argmax(dim=-1)

    order = torch.tensor([int((labels == c).nonzero()[0]) for c in range(C)]).argsort()
    mistakes = {
        "the sums are compared, so large classes win: take means.": best(own @ vectors),
        "divide each mean by its length, or classes whose texts are alike win.": best(means),
        "this is the nearest by distance to the mean itself; compare directions.": torch.cdist(asked, means).argmin(dim=-1),
        "this is the class of the nearest text; take means first.": labels[best(vectors)],
        "this is the least similar class; take the largest cosine.": best(-directions),
        "classes are numbered as they first appear; row c belongs to label c.": order.argsort()[best(directions)],
        "each column of the means was brought to length one; take each row (dim=-1).": best(F.normalize(means, dim=0)),
        "each column of the sums was brought to length one; take each row (dim=-1).": best(F.normalize(own @ vectors, dim=0)),
        "argmax(dim=0) looks for the best text of each class; take dim=-1.": (asked @ directions.T).argmax(dim=0),
        "these are cosines; give the class, the index of the largest.": asked @ directions.T,
        "this asks about the known texts; ask about `asked`.": best(directions, vectors),
    }
    with hint("(Are the means (C, D)? .mean(dim=0) averages the texts of a class, number by number.)", "RuntimeError"):
        yield Case((vectors, labels, asked), best(directions), mistakes, "the result")


@exercise
def with_adapter() -> Cases:
    """Check ``function(weight, small_a, small_b, alpha)``: W + (alpha / r) B A, (out, in).

    ``weight`` is (out, in), ``small_a`` (r, in) and ``small_b`` (out, r). ``weight`` itself stays
    as it is.

    Source: Hu and others 2021, "LoRA: Low-Rank Adaptation of Large Language Models", section 4.1.
    """
    draw = normal(16)
    for out, into, r, alpha in [(6, 6, 2, 5.0), (5, 7, 3, 1.0), (8, 4, 1, 16.0)]:
        weight, a, b = draw(out, into), draw(r, into), draw(out, r)
        product = b @ a
        mistakes = {
            "the product is not scaled: multiply it by alpha / r.": weight + product,
            "the product is multiplied by alpha, not yet divided by r.": weight + alpha * product,
            "it is divided by r, but not multiplied by alpha.": weight + product / r,
            "r is the rank, the rows of A; here another side was taken.": (weight + alpha / into * product),
            "r is the rank, the columns of B; here another side was taken.": (weight + alpha / out * product),
            "it is divided by alpha; multiply by alpha and divide by r.": (weight + r / alpha * product),
            "the weight itself is missing from the sum.": alpha / r * product,
            "the weight is scaled too; scale the product alone.": alpha / r * (weight + product),
            "nothing is added.": weight,
            "the product is taken off; add it.": weight - alpha / r * product,
        }
        if out == into:
            said = "the product is transposed: B A, not its transpose."
            mistakes[said] = weight + alpha / r * product.T
            mistakes["the weight is transposed; it is (out, in) already."] = weight.T + alpha / r * product
            del mistakes["r is the rank, the columns of B; here another side was taken."]  # the same here
        what = f"for r = {r} and alpha = {alpha:g}, the sum"
        right, in_place = weight + alpha / r * product, "the weight was changed in place; the sum is a new matrix."
        with hint("(Is the product B A, (out, in)? A B has other sides, (r, r), or none at all.)", "RuntimeError"):
            yield Case((weight, a, b, alpha), right, mistakes, what, kept=in_place)
