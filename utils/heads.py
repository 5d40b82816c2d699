"""Watch the weights of the heads inside a model, for as long as needed.

The model may hold any number of attention layers. What is put into it is taken out again
at the end of the ``with`` block, also after an error.

Shapes: H heads, B documents, T queries, S keys.
"""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from typing import Any

from torch import Tensor, nn

from utils.attention import MultiHeadAttention


@contextmanager
def recorded_weights(model: nn.Module) -> Iterator[list[list[Tensor]]]:
    """Record the attention weights of every call, also where ``need_weights`` is False.

    What the layers return to their callers stays as it was. (``decode`` is no call, and is not
    recorded.) In training the weights are those after dropout.

    Yields
    ------
    one list for each layer, to which each of its calls adds a Tensor (B, H, T, S), detached
    """
    layers = [module for module in model.modules() if isinstance(module, MultiHeadAttention)]
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
