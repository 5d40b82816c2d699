"""What all layers of a comparison share: a shape, the weights, and how they are called."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal

import torch
from torch import Tensor, nn

Kind = Literal["ours", "peer", "floor"]
Asked = Literal["none", "mean", "all"]
Answer = tuple[Tensor, Tensor | None]


@dataclass(frozen=True)
class Case:
    """One shape of attention: ``queries`` of each sequence attend to ``keys``.

    With as many queries as keys, both are the same tensor: self-attention. With fewer, the queries
    are a tensor of their own.
    """

    batch: int  # B
    queries: int  # T
    keys: int  # S
    embed_dim: int  # D
    num_heads: int  # H
    causal: bool = False

    @property
    def name(self) -> str:
        """Such as "(32, 512, 64, 8) causal" or "(1, 1 of 2048, 512, 8)"."""
        few = "" if self.is_self else f"{self.queries} of "
        shape = f"({self.batch}, {few}{self.keys}, {self.embed_dim}, {self.num_heads})"
        return shape + (" causal" if self.causal else "")

    @property
    def is_self(self) -> bool:
        """Whether the queries are the keys."""
        return self.queries == self.keys


SHAPES = ((32, 512, 64, 8), (4, 1024, 768, 12), (1, 4096, 512, 8))
CASES = (
    *(Case(B, T, T, D, H) for B, T, D, H in SHAPES),
    *(Case(B, T, T, D, H, causal=True) for B, T, D, H in SHAPES),
    *(Case(B, 1, T, D, H) for B, T, D, H in SHAPES[:2]),
    *(Case(1, 1, S, 512, 8) for S in (512, 1024, 2048, 4096, 8192)),
)
QUICK_CASES = (Case(2, 12, 12, 16, 2), Case(2, 12, 12, 16, 2, causal=True), Case(2, 1, 24, 16, 2))


@dataclass(frozen=True)
class Peer:
    """A layer that is ready to be called with the queries (B, T, D) and the keys (B, S, D).

    It returns the output, (B, T, D), and the weights: None, or (B, T, S) if the mean over the heads
    is asked for, or (B, H, T, S). ``module`` has its parameters; ``biased`` says whether its
    projections add biases.
    """

    name: str
    asked: Asked
    call: Callable[[Tensor, Tensor], Answer]
    module: nn.Module
    biased: bool = True
    kind: Kind = "peer"


def reference(case: Case, device: torch.device, dtype: torch.dtype) -> nn.MultiheadAttention:
    """Draw the weights that all peers share, as PyTorch's layer; its biases are not zero."""
    torch.manual_seed(0)
    module = nn.MultiheadAttention(case.embed_dim, case.num_heads, batch_first=True)
    for bias in (module.in_proj_bias, module.out_proj.bias):
        nn.init.normal_(bias, std=0.1)
    return module.to(device, dtype)


def projections(module: nn.MultiheadAttention) -> list[tuple[Tensor, Tensor]]:
    """Give weight (D, D) and bias (D,) of the projections of query, key, value and output."""
    weights, biases = module.in_proj_weight.chunk(3), module.in_proj_bias.chunk(3)
    pairs = list(zip(weights, biases, strict=True))
    return [*pairs, (module.out_proj.weight, module.out_proj.bias)]


@torch.no_grad()
def copy_weights(linears: Sequence[nn.Linear], pairs: Sequence[tuple[Tensor, Tensor]]) -> None:
    """Set the weight of each, and its bias if it has one."""
    for linear, (weight, bias) in zip(linears, pairs, strict=True):
        linear.weight.copy_(weight)
        if linear.bias is not None:
            linear.bias.copy_(bias)
