"""Where the heads of a model look when a text repeats, and what they are worth there.

Shapes: B texts, H heads, T tokens; L layers in the order of ``model.modules()``.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager

import torch
from torch import Tensor, nn

from utils.heads import attention_layers, changed_heads


def previous_token(weights: Tensor) -> Tensor:
    """Give the mean weight of each head on the token before, (H,).

    Parameters
    ----------
    weights : Tensor of shape (B, H, T, T); the first query, which has none before it, does not
        count

    Raises
    ------
    ValueError
        if the weights are not square, or of fewer than two tokens

    Source: Elhage and others 2021, "A Mathematical Framework for Transformer Circuits".
    """
    text_length(weights)
    return weights.diagonal(-1, dim1=-2, dim2=-1).mean(dim=(0, 2))  # of (B, H, T - 1)


def prefix_matching(weights: Tensor) -> Tensor:
    """Give the mean weight of each head on what followed the first copy of the token, (H,).

    The second half of each text repeats the first. So query t of the second half finds its first
    copy T / 2 tokens before it, and the token that followed it at T / 2 - 1.

    Parameters
    ----------
    weights : Tensor of shape (B, H, T, T)

    Raises
    ------
    ValueError
        if the weights are not square, or T is odd or below 4

    Source: Olsson and others 2022, "In-context Learning and Induction Heads".
    """
    T = text_length(weights)
    if T % 2 or T < 4:
        raise ValueError(f"a half of at least 2 tokens and its copy are needed; got {T} tokens.")
    late = torch.arange(T // 2, T, device=weights.device)
    return weights[:, :, late, late + 1 - T // 2].mean(dim=(0, 2))  # of (B, H, T / 2)


def text_length(weights: Tensor) -> int:
    """Give T of weights (B, H, T, T), or raise ValueError."""
    if weights.dim() != 4 or weights.shape[2] != weights.shape[3] or weights.shape[3] < 2:
        raise ValueError(
            f"weights have shape {tuple(weights.shape)}; expected (B, H, T, T) of two tokens or "
            "more."
        )
    return weights.shape[3]


@contextmanager
def averaged_heads(model: nn.Module, heads: Iterable[tuple[int, int]]) -> Iterator[None]:
    """Let these heads give every token the same: the mean of what they give in the batch.

    What a head finds for one token is lost so, and what it gives to all of them is not.

    Parameters
    ----------
    heads : places (layer, head)

    Raises
    ------
    ValueError
        if the model has no such head

    Source: Wang and others 2022, "Interpretability in the Wild" ("mean ablation").
    """
    layers, chosen = attention_layers(model), set(heads)
    L, H = len(layers), layers[0].num_heads
    if wrong := [place for place in chosen if not (0 <= place[0] < L and 0 <= place[1] < H)]:
        raise ValueError(f"there is no head {wrong[0]} in {L} layers of {H} heads.")

    def change(number: int, heads: Tensor) -> Tensor:
        taken = [h for layer, h in chosen if layer == number]
        heads = heads.clone()  # (B, T, H, D_head), or (T, H, D_head)
        some = heads[..., taken, :]
        heads[..., taken, :] = some.mean(dim=tuple(range(some.dim() - 2)), keepdim=True)
        return heads

    with changed_heads(layers, change):
        yield
