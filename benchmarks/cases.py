"""What all layers of a comparison share: a shape, the weights, and how they are called."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple

import torch
from torch import Tensor, nn

from benchmarks.limits import multiply_adds

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

    def flops(self, backward: bool) -> float:
        """Operations of the products that the case cannot do without; a multiply-add is two.

        Of the two orders of the products (project the keys, or bring the queries to them) the one
        that needs fewer is counted, whatever a layer does. Half of the pairs count if causal. The
        backward pass has two products for each of the forward pass.
        """
        shape = (self.batch, self.queries, self.keys, self.embed_dim, self.num_heads)
        return 2.0 * multiply_adds(*shape, causal=self.causal) * (3 if backward else 1)


SHAPES = ((32, 512, 64, 8), (4, 1024, 768, 12), (1, 4096, 512, 8))
CASES = (
    *(Case(B, T, T, D, H) for B, T, D, H in SHAPES),
    *(Case(B, T, T, D, H, causal=True) for B, T, D, H in SHAPES),
    *(Case(B, 1, T, D, H) for B, T, D, H in SHAPES[:2]),
    *(Case(1, 1, S, 512, 8) for S in (512, 1024, 2048, 4096, 8192)),
)
QUICK_CASES = (Case(2, 12, 12, 16, 2), Case(2, 12, 12, 16, 2, causal=True), Case(2, 1, 24, 16, 2))


class Projection(NamedTuple):
    """Weight (D, D) and bias (D,) of one projection."""

    weight: Tensor
    bias: Tensor


def reference(case: Case, device: torch.device, dtype: torch.dtype) -> nn.MultiheadAttention:
    """Draw the weights that all peers share, as PyTorch's layer; its biases are not zero."""
    torch.manual_seed(0)
    module = nn.MultiheadAttention(case.embed_dim, case.num_heads, batch_first=True)
    with torch.no_grad():
        for bias in (module.in_proj_bias, module.out_proj.bias):
            bias.normal_(std=0.1)
    return module.to(device, dtype)


def without_biases(module: nn.MultiheadAttention) -> nn.MultiheadAttention:
    """Give PyTorch's layer with the same weights and biases of zero."""
    copy = nn.MultiheadAttention(module.embed_dim, module.num_heads, batch_first=True)
    copy.to(module.out_proj.weight).load_state_dict(module.state_dict())
    with torch.no_grad():
        for bias in (copy.in_proj_bias, copy.out_proj.bias):
            bias.zero_()
    return copy


def projections(module: nn.MultiheadAttention) -> dict[str, Projection]:
    """Give weight and bias of the projections "q", "k", "v" and "out"."""
    pairs = zip(module.in_proj_weight.chunk(3), module.in_proj_bias.chunk(3), strict=True)
    found = {name: Projection(*pair) for name, pair in zip("qkv", pairs, strict=True)}
    return found | {"out": Projection(module.out_proj.weight, module.out_proj.bias)}


def copy_weights(linear: nn.Linear, projection: Projection) -> None:
    """Set a projection's weight, and its bias if it has one."""
    with torch.no_grad():
        linear.weight.copy_(projection.weight)
        if linear.bias is not None:
            linear.bias.copy_(projection.bias)


def copy_all(linears: Sequence[nn.Linear], module: nn.MultiheadAttention) -> None:
    """Set the projections of query, key, value and output, in this order."""
    for linear, projection in zip(linears, projections(module).values(), strict=True):
        copy_weights(linear, projection)


@dataclass(frozen=True)
class Peer:
    """A layer that is ready to be called with the queries (B, T, D) and the keys (B, S, D).

    It returns the output, (B, T, D), and the weights: None, or (B, T, S) if the mean over the heads
    is asked for, or (B, H, T, S). ``biased`` says whether its projections add biases.
    """

    name: str
    asked: Asked
    call: Callable[[Tensor, Tensor], Answer]
    modules: Sequence[nn.Module] = ()
    more: Sequence[nn.Parameter] = ()  # that no module has
    biased: bool = True
    kind: Kind = "peer"

    @property
    def parameters(self) -> list[nn.Parameter]:
        """The parameters that the call uses."""
        return [*(p for module in self.modules for p in module.parameters()), *self.more]

    def train(self, mode: bool) -> None:
        """Put the peer's modules into training mode, or out of it."""
        for module in self.modules:
            module.train(mode)
