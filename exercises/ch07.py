"""Checks of chapter 7: a mean as a layer, and what is left of shuffled pages."""

from typing import Any

import torch
from torch import Tensor

from exercises.exercise import Case, Cases, Code, FaultError, as_number, call, check, exercise, require_parts
from exercises.mistakes import turned


@exercise
def mean_layer() -> Cases:
    """Check a layer that gives the mean of the values that are not blocked.

    ``layer(query, key, value, key_padding_mask=None, need_weights=True)`` takes query (B, T, D),
    key and value (B, S, D) and the mask (B, S), bool, True = blocked. It returns the mean of the
    values, (B, 1, D), and None. Where every key is blocked the mean is zero.
    """
    value = torch.tensor([[1.0, 2.0], [3.0, 4.0], [9.0, 9.0]]).repeat(3, 1, 1)  # (B, S, D)
    blocked = torch.tensor([[0, 0, 1], [0, 0, 0], [1, 1, 1]]).bool()  # (B, S)
    query = torch.tensor([[[5.0, 5.0]]]).expand(3, 1, 2)  # (B, T, D)
    counts = ~blocked.unsqueeze(-1)  # (B, S, 1)
    mean, total = value.mean(1, keepdim=True), (value * counts).sum(1, keepdim=True)
    number, others = counts.sum(1, keepdim=True), (value * ~counts).sum(1, keepdim=True)
    mistakes = {
        "the padding takes part.": mean,
        "padding is zero, but still counted: divide by how many are left.": total / 3,
        "this is the sum; divide it by how many are left.": total,
        turned("blocked"): others / (3 - number).clamp(min=1),
        "this is the query.": query,
        "this is the first value, not the mean.": value[:, :1],
        "where every key is blocked, the mean is 0/0; it should be zero.": total / number,
    }
    yield Case((query, value, value, blocked), total / number.clamp(min=1), mistakes, "the output", ask=_mean)
    yield Case((query, value, value), mean, {}, "the output without a mask", ask=_mean)


def _mean(layer: Code, query: Tensor, key: Tensor, value: Tensor, blocked: Tensor | None = None) -> Any:
    """Call a layer, and give its output."""
    if isinstance(layer, type):
        raise FaultError(f"this is the class {layer.__name__}, and the check calls a layer: make one, {layer.__name__}().")
    masked = {"need_weights": False} if blocked is None else {"key_padding_mask": blocked}
    try:
        result = call(layer, query, key, value, **masked)
        require_parts(result, 2, "two things: a layer's output and the weights, here None")
    except FaultError as fault:
        if blocked is not None:
            raise
        raise FaultError(f"with key_padding_mask=None nothing is blocked, but {fault}") from fault
    if blocked is not None and result[1] is not None:
        raise FaultError("the second thing you return should be None: this layer has no weights.")
    return result[0]


@check
def shuffled_pages(predicted: Any) -> dict[str, bool]:
    """Check two predictions: what a finder still finds in passages, and in pages, that are shuffled.

    ``predicted`` is a pair of shares, ``(within, across)``.
    """
    require_parts(predicted, 2, "two shares, (within, across)")
    within, across = (as_number(p, name) for p, name in zip(predicted, ("within", "across"), strict=True))
    for name, share in (("within", within), ("across", across)):
        if not 0 <= share <= 1:
            raise FaultError(f"{name} is {share:g}; a share lies between 0 and 1.")
    return {
        "these are no predictions yet: whoever guesses among four places is right now and then.": within == across == 0,
        "within: the 20 words stay in their quarter of the page, and the finder has to say the quarter. "
        "It never asks which word follows which.": within < 0.75,
        "within: shuffled or not, the finder is no better than it was. How often was it right above?": within > 0.95,
        "across: the words about sport now stand all over the page. No place is theirs.": across > 0.4,
        "across: a finder that knows nothing still guesses, and one of four places is right.": across < 0.15,
    }
