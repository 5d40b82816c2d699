"""Choose the next token: what changes a distribution, and how one is drawn from it.

Each function takes logits (V,) or (B, V) and gives logits of the same shape and dtype: -inf for a
token that may not come. They can be put one behind the other. ``write`` does so, token by token.

Shapes: B texts, T tokens so far, V tokens in the vocabulary.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import torch
from torch import Tensor

from chapters.ch18_steps import FastSteps

if TYPE_CHECKING:
    from chapters.ch18_model import LanguageModel


def apply_temperature(logits: Tensor, temperature: float) -> Tensor:
    """Make a distribution sharper (below 1) or flatter (above 1): divide the logits.

    Parameters
    ----------
    logits : Tensor of shape (V,) or (B, V)
    temperature : float above 0

    Raises
    ------
    ValueError
        if the temperature is not above 0

    Source: Ackley, Hinton and Sejnowski 1985, "A Learning Algorithm for Boltzmann Machines".
    """
    if not temperature > 0:
        raise ValueError(
            f"the temperature must be above 0; got {temperature}. Towards 0 only the best token is "
            "left: ask for that one, with best_token(logits) or write(..., temperature=None)."
        )
    return logits / temperature


def keep_top_k(logits: Tensor, k: int) -> Tensor:
    """Keep the k best tokens, and those that are as good as the last of them.

    Parameters
    ----------
    logits : Tensor of shape (V,) or (B, V)
    k : int, at least 1; all V tokens are kept if it is larger

    Raises
    ------
    ValueError
        if ``k`` is below 1

    Source: Fan, Lewis and Dauphin 2018, "Hierarchical Neural Story Generation".
    """
    if k < 1:
        raise ValueError(f"at least one token must be kept; got k={k}.")
    least = logits.topk(min(k, logits.shape[-1]), dim=-1).values[..., -1:]  # (..., 1)
    return logits.masked_fill(logits < least, -torch.inf)


def keep_top_p(logits: Tensor, p: float) -> Tensor:
    """Keep the best tokens, as few as have a probability of ``p`` together ("nucleus").

    Of tokens that are equally good, those with the smaller ids come first.

    Parameters
    ----------
    logits : Tensor of shape (V,) or (B, V)
    p : float above 0 and up to 1; 1 keeps all

    Raises
    ------
    ValueError
        if ``p`` is not above 0 and up to 1

    Source: Holtzman and others 2020, "The Curious Case of Neural Text Degeneration".
    """
    if not 0 < p <= 1:
        raise ValueError(f"p is a probability above 0 and up to 1; got {p}.")
    if p == 1:
        return logits.clone()
    ordered, places = logits.sort(dim=-1, descending=True, stable=True)
    probabilities = ordered.softmax(-1)
    better = probabilities.cumsum(-1) - probabilities  # of all that come before
    left_out = better >= p  # the first is never left out: before it there is nothing
    left_out = torch.zeros_like(left_out).scatter(-1, places, left_out)  # in the order of the ids
    return logits.masked_fill(left_out, -torch.inf)


def best_token(logits: Tensor) -> Tensor:
    """Give the most probable token, () or (B,) int64; of several the one with the smallest id."""
    return logits.argmax(-1)


def draw_token(logits: Tensor, generator: torch.Generator | None = None) -> Tensor:
    """Draw a token, () or (B,) int64, with the probabilities softmax(logits)."""
    return torch.multinomial(logits.softmax(-1), 1, generator=generator).squeeze(-1)


def write(
    model: LanguageModel,
    ids: Tensor,
    max_new_tokens: int,
    temperature: float | None = 1.0,
    top_k: int | None = None,
    top_p: float | None = None,
    end: int | None = None,
    seed: int | None = None,
) -> Iterator[Tensor]:
    """Go on with a text, and give each token as soon as it is chosen.

    In this order: the temperature, the k best, the probability p; as in the library
    ``transformers``.

    Parameters
    ----------
    model : LanguageModel, put into evaluation mode
    ids : Tensor of shape (B, T), int64, the texts so far, of one length
    max_new_tokens : int, the most tokens to write
    temperature : float or None; None takes the best token each time ("greedy")
    top_k, top_p : see ``keep_top_k``, ``keep_top_p``
    end : int or None, the token after which a text goes on with nothing but it; when all have come
        to their end, nothing more is given
    seed : int or None, of what is drawn; None goes on with PyTorch's generator

    Yields
    ------
    Tensor of shape (B,), int64, for each token

    Raises
    ------
    ValueError
        if there is no token to begin with or to write, or one of the others is impossible; it is
        raised at the call, before anything is written
    """
    T = ids.shape[1]
    if T < 1 or max_new_tokens < 1:
        raise ValueError(
            f"there must be a token to begin with and one to write; got {T} and {max_new_tokens}."
        )
    if temperature is not None:
        apply_temperature(torch.zeros(1), temperature)
    if top_k is not None:
        keep_top_k(torch.zeros(1), top_k)
    if top_p is not None:
        keep_top_p(torch.zeros(1), top_p)
    return _tokens(model, ids, max_new_tokens, temperature, top_k, top_p, end, seed)


def _tokens(
    model: LanguageModel,
    ids: Tensor,
    max_new_tokens: int,
    temperature: float | None,
    top_k: int | None,
    top_p: float | None,
    end: int | None,
    seed: int | None,
) -> Iterator[Tensor]:
    """Write as ``write`` says, once all is checked."""
    model.eval()
    generator = None if seed is None else torch.Generator(ids.device).manual_seed(seed)
    step = FastSteps(model, ids.shape[1] + max_new_tokens - 1)
    done = torch.zeros(len(ids), dtype=torch.bool, device=ids.device)
    new = ids
    for _ in range(max_new_tokens):
        logits = step(new)  # (B, V)
        if temperature is None:
            token = best_token(logits)  # (B,)
        else:
            logits = apply_temperature(logits, temperature)
            logits = logits if top_k is None else keep_top_k(logits, top_k)
            logits = logits if top_p is None else keep_top_p(logits, top_p)
            token = draw_token(logits, generator)
        if end is not None:
            token = token.masked_fill(done, end)
            done = done | (token == end)
        yield token
        if end is not None and done.all():
            return
        new = token.unsqueeze(1)  # (B, 1)
