"""Check of appendix A3: shuffle the words of each text behind [CLS] and before the padding."""

from collections import Counter

import torch
from torch import Tensor

from exercises.exercise import Code, FaultError, call, check

PAD = 0
IDS = torch.tensor(
    [
        [1, 11, 12, 13, 14, 15, 16, PAD, PAD],
        [1, 21, 22, 23, PAD, PAD, PAD, PAD, PAD],
        [1, 31, 32, 33, 34, 35, 36, 37, 38],
        [1, 41, 42, 43, 44, 45, 46, PAD, PAD],
    ]
)
CALLS = 600  # each of the six orders of text 1 comes 100 times, give or take 9
FEWEST, MOST = 55, 150


@check
def shuffle_words(function: Code) -> None:
    """Check a function that shuffles the words of each text, and nothing else.

    ``function(ids, pad, draw)`` takes ids (B, T), of which the first of each text is [CLS] and the
    last may be ``pad``, and a ``torch.Generator``. It returns new ids (B, T): the words of each
    text in an order of its own, drawn with ``draw``, each order as likely as another.
    """
    draw = _seeded(0)
    results = [_shuffled(function, draw) for _ in range(CALLS)]
    everything = torch.stack(results)  # (calls, B, T)
    if (everything == IDS).all():
        raise FaultError("nothing is shuffled yet.")
    if (everything == everything[0]).all():
        raise FaultError("each call gives the same order; draw goes on from call to call, so take it as it is, without a seed.")
    for text, n in enumerate((IDS != PAD).sum(dim=1).tolist()):
        stays = (everything[:, text] == IDS[text]).all(dim=0)[:n]  # (n,)
        if stays[1:].all():
            raise FaultError(f"text {text} is never shuffled; every text of the batch is.")
        if stays[1]:
            raise FaultError("the first word never moves; only [CLS] stays, so begin at place 1.")
        if stays[-1]:
            raise FaultError("the last word never moves; the words end where the padding begins.")
    if torch.equal(everything[:, 0] + 30 * (IDS[0] > 1), everything[:, 3]):
        raise FaultError("texts of one length get the same order; draw one for each text.")
    torch.manual_seed(0)
    if not torch.equal(_shuffled(function, _seeded(5)), _shuffled(function, _seeded(5))):
        raise FaultError("two generators of one seed give two orders: something is not drawn with draw; pass generator=draw.")
    orders = Counter(tuple(row) for row in everything[:, 1, 1:4].tolist())
    if len(orders) < 6:
        raise FaultError(f"three words have 6 orders, and in {CALLS} calls only {len(orders)} of them came; torch.randperm gives any.")
    if min(orders.values()) < FEWEST or max(orders.values()) > MOST:
        raise FaultError(
            f"in {CALLS} calls one order of three words came {max(orders.values())} times and "
            f"another {min(orders.values())}; each should be as likely, as torch.randperm has it."
        )


def _seeded(seed: int) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


def _shuffled(function: Code, draw: torch.Generator) -> Tensor:
    """Call the function on the texts; fault what is wrong whatever was drawn."""
    given = IDS.clone()
    got = call(function, given, PAD, draw)
    if not torch.equal(given, IDS):
        raise FaultError("your function changes ids itself; write into ids.clone().")
    if not isinstance(got, Tensor):
        raise FaultError(f"the result should be a tensor, not {type(got).__name__}.")
    if got.shape != IDS.shape:
        raise FaultError(f"the result has shape {tuple(got.shape)} instead of {tuple(IDS.shape)}; [CLS] and the padding stay in it.")
    if got.dtype != IDS.dtype:
        raise FaultError(f"the result is {got.dtype}; ids are whole numbers, {IDS.dtype}.")
    if not (got[:, 0] == IDS[:, 0]).all():
        raise FaultError("[CLS] has moved; it asks, and stays at place 0.")
    if not torch.equal(got == PAD, IDS == PAD):
        raise FaultError(
            "padding has come among the words; shuffle the n - 1 words behind [CLS], where n counts what is no padding in this text."
        )
    if not torch.equal(got.sort(dim=1)[0], IDS.sort(dim=1)[0]):
        if torch.equal(got.flatten().sort()[0], IDS.flatten().sort()[0]):
            raise FaultError("words have changed from one text to another; shuffle within each.")
        raise FaultError("some words are lost and others come twice; take each once, as torch.randperm does.")
    return got
