"""Checks of the exercises on writing: a step of beam search, and a decoder that looks ahead.

Shapes: ``width`` beams, V tokens in the vocabulary, B targets of T tokens.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import torch
from torch import Tensor

from utils.checks.comparing import FaultError, call, check, compare, require_parts


@check
def beam_step(function: Callable[..., Any]) -> None:
    """Check ``function(sums, steps)``: the best of all continuations.

    ``sums`` is (width,), ``steps`` (width, V), log-probabilities. The result is three tensors
    (width,), best first: the new sums, the beginning each comes from, and the token it adds.
    """
    generator = torch.Generator().manual_seed(14)
    for width, V in [(3, 5), (2, 9), (4, 4), (1, 6)]:
        sums = 2 * torch.randn(width, generator=generator) - 4
        steps = torch.randn(width, V, generator=generator).log_softmax(-1)
        result = call(function, sums.clone(), steps.clone())
        require_parts(result, 3, "three things: sums, beginnings and tokens")
        everything = sums.unsqueeze(1) + steps
        best, places = everything.flatten().topk(width)
        greedy, _ = everything.max(1)
        mistakes = {
            "each beginning keeps its own best token; all candidates compete.": greedy,
            "each beginning keeps its own best token, sorted; all candidates compete.": (
                greedy.sort(descending=True).values
            ),
            "the sums so far are missing; add them.": steps.flatten().topk(width).values,
            "these are the worst; keep the best.": (
                everything.flatten().topk(width, largest=False).values
            ),
            "log-probabilities are added, not multiplied.": (
                (sums.unsqueeze(1) * steps).flatten().topk(width).values
            ),
            "best first, please.": best.flip(0),
        }
        where = f"with {width} beginnings and {V} tokens, the "
        compare(result[0], best, f"{where}new sums", mistakes)
        beginning = {
            "beginnings and tokens are exchanged.": places % V,
            "these are places among all width * V candidates; divide by V.": places,
            "divide by the number of tokens V, not of beginnings.": places // width,
        }
        compare(result[1], places // V, f"{where}beginnings", beginning)
        token = {
            "the token is the remainder after dividing by V, not by the width.": places % width
        }
        compare(result[2], places % V, f"{where}tokens", token)


@check
def looks_ahead(function: Callable[..., Any]) -> None:
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
        for seed in range(3):
            torch.manual_seed(seed)
            got = call(function, _decoder(sees, V), T, V)
            if not isinstance(got, bool | np.bool_):
                raise FaultError(f"return True or False; got {type(got).__name__}.")
            if got != ahead:
                raise FaultError(
                    f"a decoder that {name} {'does' if ahead else 'does not'} look ahead (beyond "
                    f"rounding); your function says {got}."
                )


def _decoder(sees: Tensor, vocab_size: int) -> Callable[[Tensor], Tensor]:
    table = torch.randn(vocab_size, vocab_size)

    def decode(ids: Tensor) -> Tensor:
        if ids.dim() != 2 or ids.min() < 0 or ids.max() >= vocab_size:
            raise ValueError(f"ids should be (B, T), from 0 to {vocab_size - 1}")
        T = ids.shape[1]
        logits = sees[:T, :T] @ table[ids]  # (B, T, V)
        return logits + 1e-7 * torch.randn_like(logits)  # as another kernel would round

    return decode
