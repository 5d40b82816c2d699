"""Checks of appendix A3: shuffling the words of texts."""

import torch
from torch import Tensor

from utils.checks.comparing import Code, FaultError, call, check

__all__ = ["shuffle_words"]


@check
def shuffle_words(function: Code) -> None:
    """Check a function that shuffles the tokens of each text in a batch.

    ``function(ids, padding)`` takes ids (B, T), int64, and the id of the padding, which stands at
    the ends; it returns new ids (B, T). Token 0 stays in front, padding stays at the end, and the
    tokens in between stand in a random order, another one in each row.
    """
    words = torch.arange(2, 32).expand(4, 30)  # the same 30 words in each text
    lengths = torch.tensor([30, 30, 21, 12]).unsqueeze(-1)
    words = words.masked_fill(torch.arange(30) >= lengths, 0)
    ids = torch.cat([torch.ones(4, 1, dtype=torch.int64), words], dim=1)  # (4, 31)
    before = ids.clone()
    with torch.random.fork_rng():
        torch.manual_seed(0)
        got = call(function, ids, 0)
    if not isinstance(got, Tensor):
        raise FaultError(f"return the ids as a tensor; got {type(got).__name__}.")
    if got.shape != before.shape:
        raise FaultError(f"the ids have shape {tuple(got.shape)}; expected {tuple(before.shape)}.")
    if torch.equal(got, before):
        raise FaultError("nothing is shuffled.")
    if not torch.equal(got.sort(dim=1).values, before.sort(dim=1).values):
        if torch.equal(got.flatten().sort().values, before.flatten().sort().values):
            raise FaultError("words have moved to other texts; shuffle within each row.")
        raise FaultError("each text should keep its words, each as often as it had them.")
    if not (got[:, 0] == 1).all():
        raise FaultError("token 0, which asks, has moved; it stays in front.")
    if not torch.equal(got == 0, before == 0):
        raise FaultError("padding has come between the words; it stays at the end.")
    if torch.equal(got[0], got[1]):
        raise FaultError("all texts are shuffled in the same order; each gets its own.")
    if any(torch.equal(a, b) for a, b in zip(got, before, strict=True)):
        raise FaultError("one of the texts is not shuffled.")
