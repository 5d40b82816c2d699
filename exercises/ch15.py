"""Checks of chapter 15: the two orders of a block, and biases that change nothing.

Shapes: B texts, T tokens, D numbers a token.
"""

from collections.abc import Callable, Sequence
from typing import Any

import torch.nn.functional as F
from torch import Tensor

from exercises.exercise import Code, FaultError, call, check, compare, normal

Part = Callable[[Tensor], Tensor]


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
            kept = 0 * y if keep == ("second" if part is parts[0] else "first") else kept
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
            "the first residual is missing: add x to what attention makes.": block(pre, keep="second"),
            "the second residual is missing: add what came in to what the feed-forward part makes.": (block(pre, keep="first")),
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


IDLE = {
    "k_proj": "q · (k + b) adds q · b, the same number to all scores of a query. Does the softmax see it?",
    "q_proj": "(q + b) · k adds b · k, another number for each key: the softmax sees it.",
    "v_proj": "the weights of a query sum to one, so the bias of the values reaches its output whole.",
    "out_proj": "its bias is added to every output, and nothing after it takes it away.",
}


@check
def idle_biases(predicted: Any) -> None:
    """Check which projections' biases change nothing but the rounding: a list, ``["k_proj"]``."""
    if not isinstance(predicted, list | tuple | set | dict):
        raise FaultError("give a list of names, such as ['out_proj'].")
    names = list(predicted)
    for name in names:
        if name not in IDLE:
            raise FaultError(f"{name!r} is none of the four: {', '.join(IDLE)}.")
    for name, why in reversed(IDLE.items()):
        if (name in names) != (name == "k_proj"):
            raise FaultError(why)
