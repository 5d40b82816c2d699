"""Checks of chapter 17: what looks ahead, and what is written with another memory.

Shapes: B pairs, T tokens of the target, V = the vocabulary.
"""

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from exercises.exercise import Case, Cases, FaultError, check, exercise, say


@exercise
def looks_ahead() -> Cases:
    """Check ``function(decode, T, vocab_size)``: whether an output depends on a later token.

    ``decode`` takes ids (B, T), int64 from 0 to ``vocab_size`` - 1, and gives logits (B, T, V). The
    result is a bool.
    """
    T, V = 7, 5
    ones = torch.ones(T, T)
    decoders = {
        "sees all that came before": (ones.tril(), False),
        "sees its own token only, which is allowed": (ones.tril().triu(), False),
        "sees the three newest tokens": (ones.tril().triu(-2), False),
        "has no mask": (ones, True),
        "sees one token ahead": (ones.tril(1), True),
        "sees nothing but what is to come": (ones.triu(1), True),
    }
    for output, token in torch.ones(T, T).triu(1).nonzero().flip(0).tolist():
        sees = ones.tril()
        sees[output, token] = 1.0
        decoders[f"lets only output {output} see token {token}"] = (sees, True)
    for name, (sees, ahead) in decoders.items():
        said = f"a decoder that {name} {'does' if ahead else 'does not'} look ahead"
        for seed in range(3):
            if ahead:
                missed = f"{said} (beyond rounding); your function says False. Change every token, and to one that is surely another."
                yield Case((_decoder(sees, V, seed), T, V), True, {missed: False}, alone=True, ask=say)
                continue
            moved = f"{said}; your function says True. The output at the changed token may move: compare those before it."
            yield Case((_decoder(sees, V, seed, 0.0), T, V), False, {moved: True}, alone=True, ask=say)
            rounded = f"{said} (beyond rounding, here 1e-7); your function says True. Allow a tolerance."
            yield Case((_decoder(sees, V, seed), T, V), False, {rounded: True}, alone=True, ask=say)


SWITCHED = "Freitag, 25. Juli 1969"
TEXTS = {
    "Freitag, 25. Mai 2001": "month and year are of the old memory, and nothing of it is kept: each letter looks at the source anew.",
    "Sonntag, 20. Juli 1969": "the beginning is written already, and nobody takes it back: the text goes on after “Freitag, 25. ”.",
    "Freitag, 25. Mai 1969": "the month is yet to be written as well, and is read from the new memory.",
    "Freitag, 25. Juli 2001": "the year is yet to be written as well, and is read from the new memory.",
    "Freitag, 25. Sonntag, 20. Juli 1969": "what is written says where in the date the decoder is: after the day comes the month.",
    "Freitag, 25. 20. Juli 1969": "what is written says where in the date the decoder is: after the day comes the month.",
    "Freitag, 25. May 2001": "the decoder writes German, and from the new memory.",
    "Freitag, 25. Mai": "the text goes on, and not from the old memory.",
    "Juli 1969": "give the whole text, with what is written already.",
}


@check
def switched(predicted: Any) -> None:
    """Check what is written after "Freitag, 25. " from the memory of Sunday, July 20, 1969."""
    if not isinstance(predicted, str):
        raise FaultError(f"the prediction should be a text; got {type(predicted).__name__}.")
    text = " ".join(predicted.split()).rstrip(".")
    if text == SWITCHED:
        return
    raise FaultError(TEXTS.get(text, "the beginning stays, as it is written; what follows is read from the new memory, in German."))


def _decoder(sees: Tensor, vocab_size: int, seed: int, rounding: float = 1e-7) -> Callable[[Tensor], Tensor]:
    torch.manual_seed(seed)
    table = torch.randn(vocab_size, vocab_size)

    def decode(ids: Tensor) -> Tensor:
        if ids.dim() != 2 or ids.min() < 0 or ids.max() >= vocab_size:
            raise ValueError(f"ids should be (B, T), from 0 to {vocab_size - 1}")
        T = ids.shape[1]
        logits = sees[:T, :T] @ table[ids]  # (B, T, V)
        return logits + rounding * torch.randn_like(logits)  # as another kernel would round

    return decode
