"""Checks of chapter 15: norms, blocks, names of weights, what heads do, and vectors of texts.

Shapes: B texts, T tokens, H heads, D numbers a token or a vector, N texts.
"""

import math
from collections.abc import Callable, Sequence

import torch
import torch.nn.functional as F
from torch import Tensor
from utils.minilm import UNUSED, WEIGHT_NAMES

from exercises.exercise import Case, Cases, Code, FaultError, call, check, compare, exercise, normal
from exercises.mistakes import wrong_means

Part = Callable[[Tensor], Tensor]


@exercise
def rms_norm() -> Cases:
    """Check ``function(x, weight, eps)``: each token of (B, T, D) brought to size one, same shape.

    ``weight`` is (D,); ``eps`` is added to the mean of the squares. No mean is subtracted.
    Source: Zhang and Sennrich 2019, "Root Mean Square Layer Normalization".
    """
    draw = normal(13)
    for shape, eps in [((2, 5, 6), 0.1), ((3, 4, 4), 1e-5), ((1, 3, 8), 1.0)]:
        x, weight = 3 + 2 * draw(shape), 1 + draw(shape[-1])
        squares, mean = x.pow(2).mean(-1, keepdim=True), x.mean(-1, keepdim=True)
        tokens, variance = x.pow(2).mean(1, keepdim=True), x.var(-1, keepdim=True, correction=0)
        sizes = (squares, squares * shape[-1], tokens, squares.mean(), mean.pow(2))
        expected, by_sum, by_tokens, by_all, by_mean = (x / (n + eps).sqrt() for n in sizes)
        by_length, std = x / (x.norm(dim=-1, keepdim=True) + eps), x.std(-1, keepdim=True)
        mistakes = {
            "it is divided by the sum's root; take the mean of the squares.": by_sum,
            "it is divided by the length; take the root of the mean of the squares.": by_length,
            "this is the square of the mean; take the mean of the squares.": by_mean,
            "there is one mean for all tokens; give each its own (dim=-1).": by_all,
            "eps stands inside the root, beside the mean.": x / (squares.sqrt() + eps),
            "eps is missing.": x / squares.sqrt(),
            "it is divided by the mean of the squares; divide by its root.": x / (squares + eps),
            "it is divided by the variance; take the squares' mean.": x / (variance + eps),
            "it is normalised over the tokens; take the numbers of each.": by_tokens,
            "it is not divided by anything.": x,
        }
        roots = [n.sqrt() for n in (variance + eps, std.pow(2) + eps, squares + eps)] + [std + eps]
        for by, root in zip(("", " (var)", " above the line", " (std)"), roots, strict=True):
            divided = f"it is divided by the standard deviation{by}; take the mean of the squares."
            if root is not roots[2]:  # that one is right
                mistakes[divided] = x / root
            mistakes[f"the mean is subtracted{by}; RMSNorm keeps it."] = (x - mean) / root
        mistakes = {said: weight * wrong for said, wrong in mistakes.items()}
        mistakes["the weight is missing."] = expected
        yield Case((x, weight, eps), weight * expected, mistakes, f"for eps = {eps}, the result", atol=1e-4)


@check
def encoder_block(function: Code) -> None:
    """Check ``function(x, self_attention, feed_forward, first, second, norm_first)``: a block.

    The two parts and the norms ``first`` and ``second`` are functions from (B, T, D) to (B, T, D).
    With ``norm_first`` a norm stands before each part, else after each sum.
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
            kept = {"nothing": 0 * y, "start": x, "normed": norm(y)}.get(keep, y)
            read = x if keep == "old" else y
            y = kept + part(norm(read)) if pre else norm(kept + part(read))
            y = norm(y) if keep == "twice" else y
        return y

    def late() -> Tensor:
        y = x + first(attend(x))
        return y + second(feed_forward(y))

    results = {pre: call(function, x.clone(), attend, feed_forward, first, second, pre) for pre in (False, True)}
    if all(isinstance(result, Tensor) for result in results.values()):
        orders = {"pre": block(True), "post": block(False)}
        for name, wrong in orders.items():
            if all(r.shape == wrong.shape and r.allclose(wrong, atol=1e-5) for r in results.values()):
                raise FaultError(f"norm_first is not used: this is {name}-norm in either case.")
    for pre in (False, True):
        mistakes = {
            "this is pre-norm and post-norm the wrong way round.": block(not pre),
            "the residuals are missing: add what came in.": block(pre, keep="nothing"),
            "the second sum takes what the first made, not the first x.": block(pre, keep="start"),
            "the feed-forward part reads what the first sum made, not the first x.": (block(pre, keep="old")),
            "the sum keeps x itself, not the normed x.": block(pre, keep="normed"),
            "a norm stands on what a part adds; it belongs before the part or on the sum.": late(),
            "pre-norm never normalises the sum.": block(True, keep="twice"),
            "first is used twice; the feed-forward part has second.": block(pre, norms=(first, first)),
            "second is used twice; attention has first.": block(pre, norms=(second, second)),
            "first and second are swapped.": block(pre, norms=(second, first)),
            "attention comes first.": block(pre, parts=(feed_forward, attend)),
            "there is no norm.": block(pre, norms=(Tensor.clone, Tensor.clone)),
            "the feed-forward part is missing.": block(pre, (attend,), (first,)),
        }
        compare(results[pre], block(pre), f"{'pre' if pre else 'post'}-norm: the output", mistakes)


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
            hint = " The order matters: the longer name first." if "attention.ff" in str(got) else ""
            raise FaultError(f"{old} {place} in our model; you return {got!r}.{hint}")


@exercise
def offset_share() -> Cases:
    """Check ``function(weights, padding, offset)``: what each head gives to a neighbour, (H,).

    ``weights`` is (B, H, T, T), ``padding`` (B, T) with True = padding. The mean, over all queries
    t of all texts for which query and key t + offset are real tokens, of the weight on that key.
    """
    draw = normal(13)
    lengths = torch.tensor([6, 3, 5])
    padding = torch.arange(6) >= lengths.unsqueeze(1)  # (B, T)
    for offset in (1, -1, 2, 0):
        weights = (2 * draw(3, 4, 6, 6)).masked_fill(padding[:, None, None], -math.inf).softmax(-1)
        on_key = weights.diagonal(offset, 2, 3)  # (B, H, T - |offset|)
        behind = weights.diagonal(-offset, 2, 3)
        real = (~padding.unsqueeze(1) & ~padding.unsqueeze(2)).diagonal(offset, 1, 2)
        counts = real.unsqueeze(1)  # (B, 1, T - |offset|)
        by_text, queries = (on_key * counts).sum(2), counts.sum(2)  # (B, H), (B, 1)
        given, number = by_text.sum(0), queries.sum()
        expected = given / number
        places, around = torch.arange(6 - abs(offset)), ~padding & ~padding.roll(-offset, 1)
        rolled = weights.roll(-offset, 3).diagonal(0, 2, 3) * around.unsqueeze(1)  # (B, H, T)
        wrapped, away = rolled.sum((0, 2)) / around.sum(), (behind * counts).sum((0, 2)) / number
        query_real, key_real = (~padding[:, places + max(0, shift)].unsqueeze(1) for shift in (-offset, offset))
        mistakes = {
            "a query counts only where the key is a real token too.": given / query_real.sum(),
            "queries that are padding take part.": ((on_key * key_real).sum((0, 2)) / key_real.sum()),
            "divide by the pairs of two real tokens, not by all real tokens.": (given / (~padding).sum()),
            "divide by the pairs at this distance, not by all.": given / weights[:, 0].numel(),
        }
        mistakes |= wrong_means(on_key, counts, "padding", dim=(0, 2)) | {
            "it looks the wrong way; the key is t + offset.": away,
            "it looks both ways; the key is t + offset.": (expected + away) / 2,
            "the last queries wrap round to the first keys; leave them out.": wrapped,
            "this is a mean of the texts' means; take all queries.": (by_text / queries).mean(0),
            "the heads are averaged; give a number for each.": expected.mean(),
        }
        del mistakes["padding is zero, but still counted: divide by how many are left."]  # the same here
        yield Case((weights, padding, offset), expected, mistakes, f"for offset {offset}, the result")


@exercise
def first_of_kind() -> Cases:
    """Check ``function(vectors, labels)``: how far down a text's list is the first of its kind.

    ``vectors`` is (N, D), each of length one, ``labels`` (N,), each at least twice. The result is
    (N,), int64: with the other texts ordered by the cosine, the nearest first, the place of the
    first that has the text's own label. The nearest text has place 1.
    """
    draw = normal(13)
    kinds = draw(3, 5)  # (classes, D)
    turns = torch.arange(24) % 3  # (N,)
    spread = F.normalize(kinds[turns] + draw(24, 5), dim=-1)
    corners = 4 * torch.eye(4) - 1 + 0.2 * draw(4, 4)  # far apart: all their cosines are negative
    opposed = F.normalize(corners, dim=-1)
    for vectors, labels in ((spread, turns), (opposed, torch.arange(4) % 2)):
        expected, mistakes = _places_of_kinds(vectors, labels)
        got = yield Case((vectors, labels), expected, mistakes)
        if got.dtype != torch.int64:
            raise FaultError(f"the places are right, but of {got.dtype}; give int64.")


def _places_of_kinds(vectors: Tensor, labels: Tensor) -> tuple[Tensor, dict[str, Tensor]]:
    """Give the right places, and wrong ones with what is said of them."""
    cosines, itself = vectors @ vectors.T, torch.eye(len(vectors))  # (N, N)

    def place(scores: Tensor, alike: bool = True) -> Tensor:
        order = scores.argsort(dim=1, descending=True)
        same = (labels[order] == labels.unsqueeze(1)) == alike
        return same.long().argmax(dim=1) + 1

    others = cosines - 3 * itself
    expected = place(others)
    mistakes = {
        "cosines can be negative: a 0 for itself is not the end of a text's list.": (place(cosines * (1 - itself))),
        "every text finds itself: leave it out, or sort descending if it has -inf.": place(cosines),
        "the nearest text has place 1, not 0.": expected - 1,
        "leave the text itself out before you count the places.": expected + 1,
        "the least similar texts come first here.": place(-cosines - 3 * itself),
        "this is the first of another kind; look for the same label.": place(others, alike=False),
        "this is the number of the text that was found; give its place in the list.": (others - 9 * (labels != labels.unsqueeze(1))).argmax(
            dim=1
        ),
    }
    return expected, mistakes
