"""Checks of chapter 4: splitting heads, the loss of a mistake in two layers, a test for a causal layer.

Shapes: T tokens, H heads, D = H * D_head.
"""

import math
from collections.abc import Callable

import torch
import torch.nn.functional as F
from torch import Tensor

from exercises.exercise import Case, Cases, FaultError, Prediction, exercise, say
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


@exercise
def two_layers() -> Cases:
    """Check the loss of two layers with the wrong join: throws of 16 sides, T = 16, H = 4.

    What training reaches, 0.18 to 0.25, is right as well as what the count gives.
    """
    one = math.log(16) / 16  # what one next token costs that is out of sight, of the sixteen

    def other(loss: float) -> str:
        count = loss / one
        if abs(count - 1) > 0.5 and 0 < count < 16 and abs(count - round(count)) < 0.04:
            return f"this leaves {round(count)} of the sixteen next tokens out of sight. Count again."
        return "of the sixteen next tokens, how many are still out of sight?"

    mistakes = {
        16 * one: "this is the loss without a look ahead.",
        7 * one: "this is the loss of one layer. The second reads outputs of the first: what have those seen?",
        7 / 2 * one: "a second layer does not halve the loss. Count again what is in sight.",
        7 * 7 / 16 * one: "a token that is out of sight in both layers has no second chance; the shares do not multiply.",
        15 * one: "you count the tokens in sight; those out of sight cost something.",
        0.0: "one of the sixteen next tokens is not in the text at all.",
    }
    near = 0.006  # two decimals tell 3 of 16 from 7/16 times 7/16
    yield Prediction("the loss of two layers", (0.75 * one, 1.45 * one), mistakes, near, other)


def _sees(T: int, H: int, cut: Split = split, glue: Callable[[Tensor], Tensor] = join) -> Tensor:
    """Give the table (T, T) of a causal layer: whether output t depends on token j."""
    tokens = torch.arange(T).view(T, 1).expand(T, 2 * H)  # (T, D): whose each number is
    rows = F.one_hot(cut(tokens, H), T).amax(dim=-2)  # (H, T, T): the tokens in each row of a head
    seen = torch.ones_like(rows).tril() @ rows  # (H, T, T): the tokens that it sees
    taken = glue(torch.arange(H * T).view(H, T, 1).expand(H, T, 2))  # (T, D): the row of each number
    return seen.flatten(0, 1)[taken].amax(dim=1) > 0


@exercise
def causal_test() -> Cases:
    """Check ``function(table)``, True where a table (T, T) is that of a right causal layer."""
    for T, H in ((16, 4), (6, 2)):
        right = _sees(T, H)
        itself = torch.eye(T) > 0
        first = itself.clone()
        first[:, 0] = True
        tables = {
            "the right layer fails your test. Its output t sees tokens 0 to t, and t itself.": right,
            "a layer without a mask passes your test. Its outputs see what comes later.": torch.ones(T, T) > 0,
            "a layer whose mask is upside down passes your test: output t sees tokens t to T - 1.": right.T,
            "the wrong join passes your test.": _sees(T, H, glue=unswapped_join),
            "the wrong split passes your test.": _sees(T, H, unswapped),
            "Both passes your test. None of its outputs sees too much; do they see enough?": _sees(T, H, unswapped, unswapped_join),
            "a layer that sees nothing passes your test.": torch.zeros(T, T) > 0,
            "a layer passes your test whose output t sees only what comes before t, and not t itself.": right & ~itself,
            "a layer passes your test whose output t sees only the first token and token t.": first,
            "a layer with a sliding window passes your test: output t sees only tokens t - 2 to t.": right.triu(-2),
        }
        for t, j in torch.ones(T, T).nonzero().tolist():
            way = "does not see" if j <= t else "sees"
            table = right.clone()
            table[t, j] = not table[t, j]
            tables[f"a layer passes your test whose output {t} {way} token {j}; all else is right."] = table
        for said, table in tables.items():
            yield Case((table,), table is right, {said: table is not right}, alone=True, ask=say)
