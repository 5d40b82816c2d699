"""Checks of chapter 7: a mean as a layer, and what is left of shuffled pages."""

from typing import Any

import torch
from torch import Tensor, nn

from exercises.exercise import FaultError, as_number, call, check, compare, require_parts
from exercises.mistakes import wrong_means


@check
def mean_layer(layer: nn.Module) -> None:
    """Check a layer that gives the mean of the values that are not blocked.

    ``layer(query, key, value, key_padding_mask=None, need_weights=True)`` takes query (B, T, D),
    key and value (B, S, D) and the mask (B, S), bool, True = blocked. It returns the mean of the
    values, (B, 1, D), and None. Where every key is blocked the mean is zero.
    """
    if isinstance(layer, type):
        raise FaultError(f"this is the class {layer.__name__}, and the check calls a layer: make one, {layer.__name__}().")
    value = torch.tensor([[1.0, 2.0], [3.0, 4.0], [9.0, 9.0]]).repeat(3, 1, 1)  # (B, S, D)
    blocked = torch.tensor([[0, 0, 1], [0, 0, 0], [1, 1, 1]]).bool()  # (B, S)
    query = torch.tensor([[[5.0, 5.0]]]).expand(3, 1, 2)  # (B, T, D)
    expected = torch.tensor([[[2.0, 3.0]], [[13 / 3, 5.0]], [[0.0, 0.0]]])
    counts = ~blocked.unsqueeze(-1)  # (B, S, 1)
    mistakes = wrong_means(value, counts, "blocked", dim=1, keepdim=True) | {
        "this is the query.": query,
        "this is the first value, not the mean.": value[:, :1],
    }
    result = call(layer, query, value, value, key_padding_mask=blocked)
    got = _first(result)
    if result[1] is not None:
        raise FaultError("the second thing you return should be None: this layer has no weights.")
    if isinstance(got, Tensor) and got.dim() and got.isnan().any() and not got[:2].isnan().any():
        raise FaultError("where every key is blocked, the mean is 0/0; it should be zero.")
    compare(got, expected, "the output", mistakes)
    try:
        got = _first(call(layer, query, value, value, need_weights=False))
    except FaultError as error:
        raise FaultError(f"with key_padding_mask=None nothing is blocked, but {error}") from error
    compare(got, value.mean(dim=1, keepdim=True), "the output without a mask")


@check
def shuffled_pages(predicted: Any) -> None:
    """Check two predictions: what a finder still finds in passages, and in pages, that are shuffled.

    ``predicted`` is a pair of shares, ``(within, across)``.
    """
    require_parts(predicted, 2, "two shares, (within, across)")
    within, across = (as_number(p, name) for p, name in zip(predicted, ("within", "across"), strict=True))
    for name, share in (("within", within), ("across", across)):
        if not 0 <= share <= 1:
            raise FaultError(f"{name} is {share:g}; a share lies between 0 and 1.")
    if within == across == 0:
        raise FaultError("these are no predictions yet: whoever guesses among four places is right now and then.")
    if within < 0.75:
        raise FaultError(
            "within: the 20 words stay in their quarter of the page, and the finder has to say the quarter. "
            "It never asks which word follows which."
        )
    if within > 0.95:
        raise FaultError("within: shuffled or not, the finder is no better than it was. How often was it right above?")
    if across > 0.4:
        raise FaultError("across: the words about sport now stand all over the page. No place is theirs.")
    if across < 0.15:
        raise FaultError("across: a finder that knows nothing still guesses, and one of four places is right.")


def _first(result: Any) -> Any:
    require_parts(result, 2, "two things: a layer's output and the weights, here None")
    return result[0]
