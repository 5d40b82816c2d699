"""Write a target with a trained model: the best token each time, or the best of several beams.

Shapes: B sources, S tokens of the source, V tokens in the vocabulary, ``width`` beams.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch
from torch import Tensor

from utils.text import BEGIN, END

if TYPE_CHECKING:
    from chapters.ch17_transformer import DecodingState, Transformer


@torch.no_grad()
def greedy(model: Transformer, source: Tensor, max_length: int, *, cached: bool = True) -> Tensor:
    """Write the most probable token each time, until the end is written.

    Parameters
    ----------
    model : Transformer, put into evaluation mode
    source : Tensor of shape (B, S), int64, padded at its end
    max_length : int, the most tokens to write, the end included
    cached : bool, whether to keep keys and values, or to compute all tokens anew for each

    Returns
    -------
    Tensor of shape (B, T), int64, T <= ``max_length``: padding after the end

    Raises
    ------
    ValueError
        if ``max_length`` is less than 1, or the model is not causal and ``cached`` is True
    """
    written = _Written(model, source, max_length, cached)
    B = len(source)
    ids = source.new_full((B, 1), BEGIN)
    done = torch.zeros(B, dtype=torch.bool, device=source.device)
    while ids.shape[1] <= max_length and not done.all():
        best = written.logits(ids).argmax(-1)  # (B, V) -> (B,)
        best = best.masked_fill(done, model.padding_idx)
        ids = torch.cat([ids, best.unsqueeze(1)], dim=1)
        done = done | (best == END)
    return ids[:, 1:]


@torch.no_grad()
def beam_search(
    model: Transformer,
    source: Tensor,
    max_length: int,
    width: int = 4,
    length_penalty: float = 0.6,
    *,
    cached: bool = True,
) -> tuple[Tensor, Tensor]:
    """Go on from the ``width`` best beginnings each time, and give the best text of all.

    The score of n tokens is the sum of their log-probabilities, divided by
    ((5 + n) / 6) ** ``length_penalty``. A beginning that ends is put aside with its score and takes
    up no beam after that. The search stops when nothing that is yet to end can score higher than
    the best that has ended. What has not ended after ``max_length`` tokens competes as it is.

    Parameters
    ----------
    width : int, the number of beams. With 1 it writes what ``greedy`` does
    length_penalty : float; the paper has 0.6, and 0 compares the sums
    model, source, max_length, cached : as in ``greedy``

    Returns
    -------
    ids : Tensor of shape (B, T), int64: padding after the end
    scores : Tensor of shape (B,)

    Raises
    ------
    ValueError
        if ``max_length`` or ``width`` is less than 1, or as in ``greedy``

    Sources: Wu and others 2016, "Google's Neural Machine Translation System", section 7, equation
    14; Vaswani and others 2017, section 6.1.
    """
    if width < 1:
        raise ValueError(f"a beam search keeps at least one beginning; got width {width}.")
    B, device = len(source), source.device
    written = _Written(model, source.repeat_interleave(width, dim=0), max_length, cached)
    first = width * torch.arange(B, device=device).unsqueeze(1)  # (B, 1): the row of its first beam
    ids = source.new_full((B * width, 1), BEGIN)
    sums = torch.full((B, width), -torch.inf, device=device)  # -inf: there is no such beam
    sums[:, 0] = 0.0  # all beams are equal at first: only one may go on
    texts = source.new_full((B, max_length), model.padding_idx)  # the best that have ended
    scores = torch.full((B,), -torch.inf, device=device)
    longest = 0
    for length in range(1, max_length + 1):
        steps = written.logits(ids).log_softmax(-1).unflatten(0, (B, width))  # (B, width, V)
        V = steps.shape[-1]
        # (B, width * V) -> (B, width)
        sums, best = (sums.unsqueeze(-1) + steps).flatten(1).topk(width)
        rows, token = (first + best // V).flatten(), best % V  # (B * width,), (B, width)
        written.select(rows)
        ids = torch.cat([ids[rows], token.view(-1, 1)], dim=1)

        ended = (token == END) | (length == max_length)
        ranked = (sums / _penalty(length, length_penalty)).masked_fill(~ended, -torch.inf)
        score, beam = ranked.max(dim=1)  # (B,)
        better = score > scores
        if better.any():
            texts[better, :length] = ids.unflatten(0, (B, width))[better, beam[better], 1:]
            scores, longest = torch.where(better, score, scores), length

        sums = sums.masked_fill(ended, -torch.inf)
        # What is yet to end can only lose from its sum; its penalty lies between these two.
        most = max(_penalty(n, length_penalty) for n in (length, max_length))
        if (sums.amax(dim=1) / most <= scores).all():
            break
    return texts[:, :longest], scores


def _penalty(length: int, power: float) -> float:
    return ((5 + length) / 6) ** power


class _Written:
    """The logits of the next token, from a cache or from all that is written."""

    def __init__(self, model: Transformer, source: Tensor, max_length: int, cached: bool) -> None:
        if max_length < 1:
            raise ValueError(
                f"max_length is the most tokens to write, at least 1; got {max_length}"
            )
        model.eval()
        self.model, self.source = model, source
        self.state: DecodingState | None = None
        if cached:
            self.state = model.start(source, max_length)
        else:
            self.memory = model.encode(source)

    def logits(self, ids: Tensor) -> Tensor:
        """Give (N, V) for all tokens so far, (N, T)."""
        if self.state is not None:
            return self.model.step(ids[:, -1:], self.state)[:, -1]
        return self.model.decode(ids, self.memory, self.source)[:, -1]

    def select(self, rows: Tensor) -> None:
        """Let the beams go on from these rows, which have the same sources as before."""
        if self.state is not None:
            self.state.select(rows)
