"""What each head of a model is worth.

The functions take any model that holds attention layers, one or many, and leave it as it
was. A head's place in a result is (layer, head).

Shapes: L layers in the order of ``model.modules()``, H heads (the same number in each), B
documents, T queries, S keys.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from utils.heads import attention_layers, changed_heads, recorded_weights


@contextmanager
def scaled_heads(model: nn.Module, scale: Tensor) -> Iterator[None]:
    """Multiply the output of each head by a factor, before the heads are joined by ``out_proj``.

    Parameters
    ----------
    scale : Tensor of shape (L, H), or (L, B, H) with factors of their own for each document; 0
        takes a head out. Gradients reach it

    Raises
    ------
    ValueError
        if the shape does not fit the model
    """
    layers = attention_layers(model)
    L, H = len(layers), layers[0].num_heads
    if scale.dim() not in (2, 3) or (scale.shape[0], scale.shape[-1]) != (L, H):
        raise ValueError(
            f"scale has shape {tuple(scale.shape)}; expected ({L}, {H}), layers and heads, or "
            f"({L}, documents, {H})."
        )

    def change(number: int, heads: Tensor) -> Tensor:
        return heads * scale[number].unsqueeze(-2).unsqueeze(-1)  # (..., 1, H, 1)

    with changed_heads(layers, change):
        yield


Measure = Callable[[nn.Module, Any], Tensor]  # from a model and a batch to a number a document


def document_losses(model: nn.Module, batch: tuple[Tensor, Tensor]) -> Tensor:
    """Give the cross-entropy, in nats, of each document of a batch of ids and labels, (B,)."""
    ids, labels = batch
    return F.cross_entropy(model(ids), labels, reduction="none")


def ablation_importance(
    model: nn.Module, batches: Iterable[Any], measure: Measure = document_losses
) -> Tensor:
    """Give how much the mean of ``measure`` rises when one head is set to zero, the others kept.

    Parameters
    ----------
    batches : what ``measure`` takes, gone through 1 + L * H times
    measure : the loss of each document, (B,); with 1 for an error the result is the accuracy lost

    Returns
    -------
    Tensor of shape (L, H), double; negative where the model is better without the head

    Source: Michel, Levy and Neubig 2019, "Are Sixteen Heads Really Better than One?", section 3.
    """
    layers = attention_layers(model)
    shape = (len(layers), layers[0].num_heads)
    rises = torch.zeros(shape, dtype=torch.double)
    with _evaluation(model), torch.no_grad():
        whole = torch.cat([measure(model, batch) for batch in batches]).double().mean()
        for head in torch.cartesian_prod(*map(torch.arange, shape)):
            scale = layers[0].out_proj.weight.new_ones(shape)
            scale[*head] = 0.0
            with scaled_heads(model, scale):
                losses = torch.cat([measure(model, batch) for batch in batches])
            rises[*head] = losses.double().mean() - whole
    return rises


def gradient_importance(
    model: nn.Module, batches: Iterable[Any], measure: Measure = document_losses
) -> Tensor:
    """Give the mean over the documents of the size of the gradient of the loss by a head's mask.

    The mask multiplies the head's output and stands at 1. The size is taken for each document
    before the mean: else documents that pull in opposite directions would cancel. (The paper also
    divides the scores of a layer by their root of squares; here they are left as they are.)

    Returns
    -------
    Tensor of shape (L, H), double

    Raises
    ------
    ValueError
        if a layer was not called

    Source: Michel, Levy and Neubig 2019, section 4.1.
    """
    layers = attention_layers(model)
    sizes = []
    for batch in batches:
        masks: dict[int, Tensor] = {}
        with _evaluation(model), torch.enable_grad(), changed_heads(layers, _masked_by(masks)):
            # Documents do not meet in the model: the sum's gradient is that of each of them.
            total = measure(model, batch).sum()  # (B,) -> ()
        if len(masks) < len(layers):
            raise ValueError("a layer was not called, so its heads have no gradient.")
        in_order = [masks[number] for number in range(len(layers))]
        gradients = torch.autograd.grad(total, in_order)  # L times (B, H)
        sizes.append(torch.stack(gradients, dim=1).abs().double())  # (B, L, H)
    return torch.cat(sizes).mean(dim=0).cpu()


def confidence_importance(
    model: nn.Module,
    batches: Iterable[Any],
    measure: Measure = document_losses,
    padding: Callable[[Any], Tensor] | None = None,
) -> Tensor:
    """Give the confidence of each head, over all queries of all batches.

    Parameters
    ----------
    measure : how the model is called with a batch; what it returns is not used
    padding : from a batch to (B, T), True where a query is padding; None if no query is

    Returns
    -------
    Tensor of shape (L, H), double
    """
    found: list[list[Tensor]] = []
    for batch in batches:
        with _evaluation(model), torch.no_grad(), recorded_weights(model) as records:
            measure(model, batch)
        blocked = None if padding is None else padding(batch)
        found.append([_largest(calls[0], blocked) for calls in records])
    by_layer = zip(*found, strict=True)
    return torch.stack([torch.cat(parts).double().mean(dim=0) for parts in by_layer]).cpu()


def _largest(weights: Tensor, padding: Tensor | None) -> Tensor:
    """Give the largest weight of each query that counts: (B, H, T, S) -> (N, H)."""
    largest = weights.amax(dim=-1).transpose(1, 2)  # (B, T, H)
    return largest.flatten(0, 1) if padding is None else largest[~padding]


def _masked_by(masks: dict[int, Tensor]) -> Callable[[int, Tensor], Tensor]:
    """Multiply heads by masks of ones, (B, H), that are made at a layer's first call."""

    def change(number: int, heads: Tensor) -> Tensor:
        B, _, H, _ = heads.shape
        mask = masks.setdefault(number, heads.new_ones(B, H, requires_grad=True))
        return heads * mask.view(B, 1, H, 1)

    return change


@contextmanager
def _evaluation(model: nn.Module) -> Iterator[None]:
    """Put every module into evaluation mode, and back into its own."""
    modes = {module: module.training for module in model.modules()}
    model.eval()
    try:
        yield
    finally:
        for module, mode in modes.items():
            module.training = mode
