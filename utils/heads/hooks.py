"""Reach the heads inside a model: scale them, or watch their weights, for as long as needed.

The model may hold any number of attention layers. What is put into it is taken out again
at the end of the ``with`` block, also after an error.

Shapes: L layers in the order of ``model.modules()``, H heads, B documents, T queries, S keys.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from functools import partial
from typing import Any

from torch import Tensor, nn

from utils.attention import AttentionLayer


def attention_layers(model: nn.Module) -> list[AttentionLayer]:
    """List the model's attention layers.

    Raises
    ------
    ValueError
        if there is none, or they differ in their number of heads
    """
    layers = [module for module in model.modules() if isinstance(module, AttentionLayer)]
    if len({layer.num_heads for layer in layers}) != 1:
        numbers = [layer.num_heads for layer in layers]
        raise ValueError(
            "the model needs layers of utils.attention, all with the same number of heads; "
            f"its layers have {numbers} heads."
        )
    return layers


@contextmanager
def changed_heads(
    layers: Sequence[AttentionLayer], change: Callable[[int, Tensor], Tensor]
) -> Iterator[None]:
    """Let ``change`` replace the heads of each layer before they are joined by ``out_proj``.

    Parameters
    ----------
    change : takes the layer's place in ``layers`` and its heads, (B, T, H, D_head), and returns
        what stands in for them, of the same shape
    """

    def before(number: int, H: int, _: nn.Module, inputs: tuple[Tensor, ...]) -> Tensor:
        heads = inputs[0].unflatten(-1, (H, -1))  # (B, T, H * D_head) -> (B, T, H, D_head)
        return change(number, heads).flatten(-2)

    with ExitStack() as hooks:
        for number, layer in enumerate(layers):
            hook = partial(before, number, layer.num_heads)
            hooks.callback(layer.out_proj.register_forward_pre_hook(hook).remove)
        yield


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


@contextmanager
def recorded_weights(model: nn.Module) -> Iterator[list[list[Tensor]]]:
    """Record the attention weights of every call, also where ``need_weights`` is False.

    What the layers return to their callers stays as it was. (``decode`` is no call, and is not
    recorded.) In training the weights are those after dropout.

    Yields
    ------
    one list for each layer, to which each of its calls adds a Tensor (B, H, T, S), detached
    """
    layers = [module for module in model.modules() if isinstance(module, AttentionLayer)]
    records: list[list[Tensor]] = [[] for _ in layers]
    with ExitStack() as hooks:
        for layer, record in zip(layers, records, strict=True):
            recorder = _Recorder(record)
            before = layer.register_forward_pre_hook(recorder.ask, with_kwargs=True)
            # First of all hooks: what it was given is what the hooks before it asked for.
            after = layer.register_forward_hook(recorder.keep, prepend=True)
            hooks.callback(before.remove)
            hooks.callback(after.remove)
        yield records


class _Recorder:
    """Ask a layer for the weights of each head, and give its caller what it had asked for."""

    def __init__(self, record: list[Tensor]) -> None:
        self.record = record
        self.asked = (True, True)  # need_weights and average_attn_weights of the call

    def ask(
        self, layer: nn.Module, args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> tuple[tuple[Any, ...], dict[str, Any]]:
        call = inspect.signature(layer.forward).bind(*args, **kwargs)
        call.apply_defaults()
        self.asked = (call.arguments["need_weights"], call.arguments["average_attn_weights"])
        call.arguments |= {"need_weights": True, "average_attn_weights": False}
        return call.args, call.kwargs

    def keep(
        self, layer: nn.Module, args: tuple[Any, ...], result: tuple[Tensor, Tensor]
    ) -> tuple[Tensor, Tensor | None]:
        output, weights = result  # of shape (B, H, T, S), or (H, T, S) without a batch
        self.record.append(weights.detach().view(-1, *weights.shape[-3:]))
        need_weights, average = self.asked
        if not need_weights:
            return output, None
        return output, weights.mean(dim=-3) if average else weights
