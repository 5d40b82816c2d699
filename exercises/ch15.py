"""Checks of chapter 15: the two orders of a block, and biases that change nothing.

Shapes: B texts, T tokens, D numbers a token.
"""

from collections.abc import Callable, Sequence
from typing import Any

import torch.nn.functional as F
from torch import Tensor

from exercises.exercise import Case, Cases, Code, Wrong, call, check, exercise, normal, refuse_names

Part = Callable[[Tensor], Tensor]


@exercise
def encoder_block() -> Cases:
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
        pre: bool, parts: Sequence[Part] = (attend, feed_forward), norms: Sequence[Part] = (first, second), keep: str = "sum"
    ) -> Tensor:
        y = x
        for part, norm in zip(parts, norms, strict=True):
            kept = {"nothing": 0 * y, "start": x, "normed": norm(y)}.get(keep, y)
            kept = 0 * y if keep == ("second" if part is parts[0] else "first") else kept
            read = x if keep == "old" else y
            y = kept + part(norm(read)) if pre else norm(kept + part(read))
            y = norm(y) if keep == "twice" else y
        return y

    half = x + first(attend(x))
    late = half + second(feed_forward(half))

    def both(**changes: Any) -> tuple[Tensor, Tensor]:
        return block(False, **changes), block(True, **changes)

    def ask(function: Code, x: Tensor) -> list[Any]:
        return [call(function, x.clone(), attend, feed_forward, first, second, pre) for pre in (False, True)]

    post_norm, pre_norm = right = both()
    wrong: Wrong = {
        "norm_first is not used: this is pre-norm in either case.": (pre_norm, pre_norm),
        "norm_first is not used: this is post-norm in either case.": (post_norm, post_norm),
        "this is pre-norm and post-norm the wrong way round.": (pre_norm, post_norm),
        "the residuals are missing: add what came in.": both(keep="nothing"),
        "the first residual is missing: add x to what attention makes.": both(keep="second"),
        "the second residual is missing: add what came in to what the feed-forward part makes.": both(keep="first"),
        "the second sum takes what the first made, not the first x.": both(keep="start"),
        "the feed-forward part reads what the first sum made, not the first x.": both(keep="old"),
        "the sum keeps x itself, not the normed x.": both(keep="normed"),
        "a norm stands on what a part adds; it belongs before the part or on the sum.": (late, late),
        "pre-norm never normalises the sum.": (block(True, keep="twice"),) * 2,
        "first is used twice; the feed-forward part has second.": both(norms=(first, first)),
        "second is used twice; attention has first.": both(norms=(second, second)),
        "first and second are swapped.": both(norms=(second, first)),
        "attention comes first.": both(parts=(feed_forward, attend)),
        "there is no norm.": both(norms=(Tensor.clone, Tensor.clone)),
        "the feed-forward part is missing.": both(parts=(attend,), norms=(first,)),
    }
    yield Case((x,), right, wrong, ("post-norm: the output", "pre-norm: the output"), ask=ask)


IDLE = {
    "k_proj": "q · (k + b) adds q · b, the same number to all scores of a query. Does the softmax see it?",
    "q_proj": "(q + b) · k adds b · k, another number for each key: the softmax sees it.",
    "v_proj": "the weights of a query sum to one, so the bias of the values reaches its output whole.",
    "out_proj": "its bias is added to every output, and nothing after it takes it away.",
}


@check
def idle_biases(predicted: Any) -> None:
    """Check which projections' biases change nothing but the rounding: a list, ``["k_proj"]``."""
    refuse_names(predicted, IDLE, "k_proj", "out_proj")
