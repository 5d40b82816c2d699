"""Checks of chapter 14: norms, blocks, names of weights, what heads do, and vectors of texts.

Shapes: B texts, T tokens, H heads, D numbers a token or a vector, N known texts, M asked ones.
"""

import math
from collections.abc import Callable, Sequence

import torch
import torch.nn.functional as F
from torch import Tensor

from utils.checks.comparing import Code, FaultError, call, check, compare, compare_numbers, normal
from utils.checks.mistakes import wrong_means
from utils.models import UNUSED, WEIGHT_NAMES

__all__ = [
    "encoder_block",
    "exact_p_value",
    "first_of_kind",
    "nearest_class",
    "new_name",
    "offset_share",
    "rms_norm",
]

N, M, C, D = 24, 360, 3, 5  # known texts, asked texts, classes, numbers of a vector
Part = Callable[[Tensor], Tensor]


@check
def rms_norm(function: Code) -> None:
    """Check ``function(x, weight, eps)``: each token of (B, T, D) brought to size one, same shape.

    ``weight`` is (D,); ``eps`` is added to the mean of the squares. No mean is subtracted.

    Source: Zhang and Sennrich 2019, "Root Mean Square Layer Normalization".
    """
    draw = normal(13)
    for shape, eps in [((2, 5, 6), 0.1), ((3, 4, 4), 1e-5), ((1, 3, 8), 1.0)]:
        x = 3 + 2 * draw(shape)
        weight = 1 + draw(shape[-1])
        squares = x.pow(2).mean(-1, keepdim=True)
        tokens = x.pow(2).mean(1, keepdim=True)
        expected, centred = x / (squares + eps).sqrt(), F.layer_norm(x, shape[-1:], eps=eps)
        by_sum, by_tokens = (x / (size + eps).sqrt() for size in (squares * shape[-1], tokens))
        mistakes = {
            "the mean is subtracted, as in layer norm; RMSNorm keeps it.": centred,
            "it is divided by the sum's root; take the mean of the squares.": by_sum,
            "eps stands inside the root, beside the mean.": x / (squares.sqrt() + eps),
            "eps is missing.": x / squares.sqrt(),
            "it is divided by the mean of the squares; divide by its root.": x / (squares + eps),
            "it is normalised over the tokens; take the numbers of each.": by_tokens,
            "it is not divided by anything.": x,
        }
        mistakes = {said: weight * wrong for said, wrong in mistakes.items()}
        mistakes["the weight is missing."] = expected
        got = call(function, x.clone(), weight.clone(), eps)
        compare(got, weight * expected, f"for eps = {eps}, the result", mistakes, atol=1e-4)


@check
def encoder_block(function: Code) -> None:
    """Check ``function(x, attend, feed_forward, first, second, norm_first)``: a block's output.

    ``attend``, ``feed_forward`` and the norms ``first`` and ``second`` are functions from (B, T, D)
    to (B, T, D). With ``norm_first`` a norm stands before each part, else after each sum.
    """
    draw = normal(13)
    x = draw(2, 5, 4)
    mix, matrix = draw(2, 4, 4)

    def attend(y: Tensor) -> Tensor:
        return (y @ mix).cumsum(1)

    def feed_forward(y: Tensor) -> Tensor:
        return (y @ matrix).relu()

    def first(y: Tensor) -> Tensor:
        return F.layer_norm(y, (4,)) + 0.3

    def second(y: Tensor) -> Tensor:
        return 2 * F.layer_norm(y, (4,)) - 0.2

    def block(
        pre: bool,
        parts: Sequence[Part] = (attend, feed_forward),
        norms: Sequence[Part] = (first, second),
        keep: str = "sum",
    ) -> Tensor:
        y = x
        for part, norm in zip(parts, norms, strict=True):
            kept = {"sum": y, "nothing": 0 * y, "start": x, "normed": norm(y)}[keep]
            y = kept + part(norm(y)) if pre else norm(kept + part(y))
        return y

    for pre in (False, True):
        mistakes = {
            "this is pre-norm and post-norm the wrong way round.": block(not pre),
            "the residuals are missing: add what came in.": block(pre, keep="nothing"),
            "the second sum takes what the first made, not the first x.": block(pre, keep="start"),
            "the sum keeps x itself, not the normed x.": block(pre, keep="normed"),
            "first and second are swapped.": block(pre, norms=(second, first)),
            "attention comes first.": block(pre, parts=(feed_forward, attend)),
            "there is no norm.": block(pre, norms=(Tensor.clone, Tensor.clone)),
            "the feed-forward part is missing.": block(pre, (attend,), (first,)),
        }
        got = call(function, x.clone(), attend, feed_forward, first, second, pre)
        compare(got, block(pre), f"{'pre' if pre else 'post'}-norm: the output", mistakes)


@check
def new_name(function: Code) -> None:
    """Check ``function(old)``: from a published name of a tensor, a str, to that in our model.

    None stands for a tensor that our model has no place for.
    """
    names: dict[str, str | None] = dict.fromkeys(UNUSED) | WEIGHT_NAMES
    for old, new in names.items():
        got = call(function, old)
        if got != new:
            place = f"is called {new}" if new else "has no place, so return None,"
            raise FaultError(f"{old} {place} in our model; you return {got!r}.")


@check
def offset_share(function: Code) -> None:
    """Check ``function(weights, padding, offset)``: what each head gives to a neighbour, (H,).

    ``weights`` is (B, H, T, T), ``padding`` (B, T) with True = padding. The mean, over all queries
    t of all texts for which query and key t + offset are real tokens, of the weight on that key.
    """
    draw = normal(13)
    lengths = torch.tensor([6, 3, 5])
    padding = torch.arange(6) >= lengths.unsqueeze(1)  # (B, T)
    for offset in (1, -1, 2, 0):
        scores = 2 * draw(3, 4, 6, 6)
        weights = scores.masked_fill(padding[:, None, None], -math.inf).softmax(-1)
        on_key = weights.diagonal(offset, 2, 3)  # (B, H, T - |offset|)
        behind = weights.diagonal(-offset, 2, 3)
        real = (~padding.unsqueeze(1) & ~padding.unsqueeze(2)).diagonal(offset, 1, 2)
        counts = real.unsqueeze(1)  # (B, 1, T - |offset|)
        by_text, queries = (on_key * counts).sum(2), counts.sum(2)  # (B, H), (B, 1)
        expected = by_text.sum(0) / queries.sum()
        mistakes = wrong_means(on_key, counts, "padding", dim=(0, 2)) | {
            "it looks the wrong way; the key is t + offset.": (
                (behind * counts).sum((0, 2)) / queries.sum()
            ),
            "this is a mean of the texts' means; take all queries.": (by_text / queries).mean(0),
            "the heads are averaged; give a number for each.": expected.mean(),
        }
        got = call(function, weights.clone(), padding.clone(), offset)
        compare(got, expected, f"for offset {offset}, the result", mistakes)


@check
def exact_p_value(function: Code) -> None:
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
            "this is this split alone; add the more uneven ones.": 2 * math.comb(n, few) / 2**n,
            "this split itself is left out.": 2 * (tail - math.comb(n, few) / 2**n),
            "this is the approximation by chi-squared.": math.erfc(math.sqrt(square / 2)),
            "a probability is at most 1; an even split is counted twice.": 2 * tail,
            "these are the ways; divide by all 2 ** n of them.": 2 * tail * 2**n,
        }
        what, right = f"exact_p_value({first}, {second})", min(1.0, 2 * tail)
        compare_numbers([(call(function, first, second), right, what, mistakes)])


@check
def nearest_class(function: Code) -> None:
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

    directions = F.normalize(means, dim=-1)

    def best(weights: Tensor, asked: Tensor = asked) -> Tensor:
        return (asked @ weights.T).argmax(dim=-1)

    mistakes = {
        "the sums are compared, so large classes win: take means.": best(own @ vectors),
        "divide each mean by its length, or classes whose texts are alike win.": best(means),
        "this is the class of the nearest text; take means first.": labels[best(vectors)],
        "this is the least similar class; take the largest cosine.": best(-directions),
        "these are cosines; give the class, the index of the largest.": asked @ directions.T,
        "this asks about the known texts; ask about `asked`.": best(directions, vectors),
    }
    expected = best(directions)
    got = call(function, vectors.clone(), labels.clone(), asked.clone())
    compare(got, expected, "the result", mistakes)


@check
def first_of_kind(function: Code) -> None:
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

    others = cosines - 3 * itself
    expected = place(others)
    mistakes = {
        "every text is its own nearest: leave it out.": place(cosines),
        "the nearest text has place 1, not 0.": expected - 1,
        "leave the text itself out before you count the places.": expected + 1,
        "the least similar texts come first here.": place(-cosines - 3 * itself),
        "this is the first of another kind; look for the same label.": place(others, alike=False),
        "this is the number of the text that was found; give its place in the list.": (
            others - 9 * (labels != labels.unsqueeze(1))
        ).argmax(dim=1),
    }
    got = call(function, vectors.clone(), labels.clone())
    compare(got, expected, "the result", mistakes)
