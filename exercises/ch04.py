"""Checks of chapter 4: splitting heads, the losses of two mistakes, a test for a causal layer.

Shapes: T tokens, H heads, D = H * D_head.
"""

import math
from collections.abc import Callable
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor

from exercises.exercise import Case, Cases, Code, FaultError, as_number, call, check, exercise, require_parts
from exercises.mistakes import WRONG_SPLITS, Split, join, split, unswapped, unswapped_join, wrong_orders


@exercise
def split_heads() -> Cases:
    """Check ``function(x, num_heads)``: (…, T, D) to (…, H, T, D_head), with any leading axes.

    Head h takes the D_head columns from h * D_head on, of every token.
    """
    for shape, H in [((3, 4), 2), ((2, 5, 12), 3), ((2, 3, 4, 6), 1), ((2, 3, 4, 6), 6)]:
        x = torch.arange(1.0, 1 + math.prod(shape)).view(shape)
        right = split(x, H)
        mistakes = {said: wrong(x, H) for said, wrong in WRONG_SPLITS.items()}
        mistakes |= wrong_orders(right, -3)
        cut = x.unflatten(-1, (H, -1))  # (..., T, H, D_head)
        swapped = "the last two axes are swapped; count from the end: tokens and heads are -3 and -2."
        mistakes[swapped] = cut.transpose(-1, -2)
        mistakes["the head axis stands behind the token axis; swap them."] = right.transpose(-3, -2)
        try:
            yield Case((x, H), right, mistakes, f"for x of shape {shape}, the result")
        except FaultError as fault:
            if not fault.__cause__:
                raise
            more = "There may be any number of axes in front: *lead, T, D = x.shape."
            raise FaultError(f"for x of shape {shape}, {str(fault).rstrip('.')}. {more}") from fault


BEST = math.log(16)  # of somebody who sees nothing of what comes next
PREDICTIONS = {  # what is right, how to go on where no mistake explains the number, and the mistakes
    "two layers": (BEST / 16, "of the sixteen next tokens, how many are still out of sight?", {
        "this is the loss without a look ahead.": BEST,
        "this is the loss of one layer. The second reads outputs of the first: what have those seen?": 7 / 16 * BEST,
        "a second layer does not halve the loss. Count again what is in sight.": 7 / 32 * BEST,
        "a token that is out of sight in both layers has no second chance; the shares do not multiply.": (7 / 16) ** 2 * BEST,
        "you count the tokens in sight; those out of sight cost something.": 15 / 16 * BEST,
        "one of the sixteen next tokens is not in the text at all.": 0.0,
    }),
    "Both": (BEST, "what does one output of it see?", {
        "two mistakes do not add up. Follow a token from its row to its output.": BEST / 16,
        "this is the loss of one mistake. What does the join do to what the split has mixed up?": 7 / 16 * BEST,
        "the shares of two mistakes do not multiply. Follow a token from its row to its output.": (7 / 16) ** 2 * BEST,
        "some token would have to see all that comes next. Follow one from its row to its output.": 0.0,
    }),
}  # fmt: skip


@check
def two_predictions(predicted: Any) -> None:
    """Check two losses on throws of a die with 16 sides, with T = 16 and H = 4.

    The first is that of two layers with the wrong join, the second that of one layer in which both
    transposes are missing.
    """
    require_parts(predicted, 2, "two numbers: the loss of two layers, and that of Both")
    for number, (what, (right, hint, wrong)) in zip(predicted, PREDICTIONS.items(), strict=True):
        loss = as_number(number, f"the loss of {what}")
        for said, mistaken in wrong.items():
            if abs(loss - mistaken) < 0.02:
                raise FaultError(f"{what}: {said}")
        if not abs(loss - right) < 0.04:  # NaN is neither more nor less than anything
            raise FaultError(f"{what}: {hint}")


def _sees(T: int, H: int, cut: Split = split, glue: Callable[[Tensor], Tensor] = join) -> Tensor:
    """Give the table (T, T) of a causal layer: whether output t depends on token j."""
    tokens = torch.arange(T).view(T, 1).expand(T, 2 * H)  # (T, D): whose each number is
    rows = F.one_hot(cut(tokens, H), T).amax(dim=-2)  # (H, T, T): the tokens in each row of a head
    seen = torch.ones_like(rows).tril() @ rows  # (H, T, T): the tokens that it sees
    taken = glue(torch.arange(H * T).view(H, T, 1).expand(H, T, 2))  # (T, D): the row of each number
    return seen.flatten(0, 1)[taken].amax(dim=1) > 0


@check
def causal_test(function: Code) -> None:
    """Check ``function(table)``, True where a table (T, T) is that of a right causal layer."""
    for T, H in ((16, 4), (6, 2)):
        right = _sees(T, H)
        tables = {
            "the right layer fails your test. Its output t sees tokens 0 to t, and t itself.": right,
            "a layer without a mask passes your test. Its outputs see what comes later.": torch.ones(T, T) > 0,
            "a layer whose mask is upside down passes your test: output t sees tokens t to T - 1.": right.T,
            "the wrong join passes your test.": _sees(T, H, glue=unswapped_join),
            "the wrong split passes your test.": _sees(T, H, unswapped),
            "Both passes your test. None of its outputs sees too much; do they see enough?": _sees(T, H, unswapped, unswapped_join),
            "a layer that sees nothing passes your test.": torch.zeros(T, T) > 0,
        }
        for said, table in tables.items():
            got = call(function, table.clone())
            if not isinstance(got, bool) and not (isinstance(got, Tensor) and got.shape == () and got.dtype == torch.bool):
                raise FaultError(f"return True or False; got {type(got).__name__}.")
            if bool(got) != (table is right):
                raise FaultError(said)
