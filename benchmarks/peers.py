"""A layer that takes part in a comparison; ours and PyTorch's, from the same weights.

What other libraries write is in ``libraries``, what none can do without in ``floors``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Literal

import torch
from torch import Tensor, nn

from benchmarks.cases import Case
from benchmarks.shared_weights import parameters
from utils.fast_attention import FastMultiHeadAttention

Kind = Literal["ours", "peer", "floor"]
Asked = Literal["none", "mean", "all"]
Answer = tuple[Tensor, Tensor | None]


@dataclass(frozen=True)
class Peer:
    """A layer that is ready to be called with the queries (B, T, D) and the keys (B, S, D).

    It returns the output, (B, T, D), and the weights: None, or (B, T, S) if the mean over the heads
    is asked for, or (B, H, T, S). ``biased`` says whether its projections add biases.
    """

    name: str
    kind: Kind
    asked: Asked
    call: Callable[[Tensor, Tensor], Answer]
    parameters: list[nn.Parameter]
    modules: list[nn.Module] = field(default_factory=list)
    biased: bool = True

    def train(self, mode: bool) -> None:
        """Put the peer's modules into training mode, or out of it."""
        for module in self.modules:
            module.train(mode)


def ours(case: Case, module: nn.MultiheadAttention) -> Iterator[Peer]:
    """Our layer, asked for no weights, for their mean over the heads, and for all of them.

    It is the fast one: where it projects keys and values, it is ``MultiHeadAttention``.
    """
    yield from _three("ours", "ours", FastMultiHeadAttention.from_torch(module), case, None)


def torch_peers(case: Case, module: nn.MultiheadAttention) -> Iterator[Peer]:
    """PyTorch's layer, asked for the same three."""
    mask = None
    if case.causal:  # PyTorch's layer wants the mask as well as the hint
        sizes = (case.queries, case.keys)
        mask = torch.ones(sizes, dtype=torch.bool, device=module.out_proj.weight.device).triu(1)
    yield from _three("torch.nn", "peer", module, case, mask)


def _three(
    name: str, kind: Kind, layer: nn.Module, case: Case, mask: Tensor | None
) -> Iterator[Peer]:
    """A layer with the call of PyTorch's, asked for the three kinds of weights."""
    kinds: tuple[Asked, ...] = ("none", "mean", "all")
    for asked in kinds:

        def call(query: Tensor, x: Tensor, asked: str = asked) -> Answer:
            return layer(
                query,
                x,
                x,
                need_weights=asked != "none",
                average_attn_weights=asked == "mean",
                attn_mask=mask,
                is_causal=case.causal,
            )

        yield Peer(name, kind, asked, call, parameters(layer), [layer])
