"""The weights that all layers of a comparison share, drawn once and copied into each."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import torch
from torch import Tensor, nn

from benchmarks.cases import Case


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


def parameters(*modules: nn.Module) -> list[nn.Parameter]:
    """Give the parameters of all modules."""
    return [parameter for module in modules for parameter in module.parameters()]
