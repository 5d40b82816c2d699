"""The weights of a layer: whether they say all that it does, and how they go to PyTorch's layer.

Shapes: H heads, D = ``embed_dim``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar

import torch
from torch import Tensor, nn

from utils.refusals import NO_BIAS_KV

if TYPE_CHECKING:
    from utils.attention import MultiHeadAttention

Layer = TypeVar("Layer", bound="MultiHeadAttention")


def is_plain_linear(module: nn.Module) -> bool:
    """Say whether calling this module does what its weight and its bias say, and nothing else.

    A parametrisation changes the class of the module; ``torch.nn.utils.prune`` and its like, and
    libraries that move weights between devices, use hooks or put a ``forward`` into the instance;
    a quantised weight is a tensor of another class.
    """
    if type(module) is not nn.Linear or "forward" in vars(module):
        return False
    hooks = (
        module._forward_pre_hooks,
        module._forward_hooks,
        module._backward_pre_hooks,
        module._backward_hooks,
    )
    return type(module.weight) in (nn.Parameter, Tensor) and not any(hooks)


def check_weights(layer: MultiHeadAttention) -> None:
    """Refuse a layer whose projections do not say all that it does.

    Raises
    ------
    ValueError
        if a projection is no plain ``torch.nn.Linear``, or only some of them have a bias
    """
    parts = [*(part for name in "qkv" for part in layer.projections(name)), layer.out_proj]
    if not all(map(is_plain_linear, parts)):
        raise ValueError(
            "a projection is no plain torch.nn.Linear: merge or remove adapters, hooks, "
            "pruning and parametrisations before the weights are copied."
        )
    if len({part.bias is None for part in parts}) > 1:
        raise ValueError("only some of the projections have a bias: give all one, or none.")


def from_torch(layer_class: type[Layer], module: nn.MultiheadAttention) -> Layer:
    """Build a layer with the weights, dtype, device and mode of PyTorch's, copied exactly.

    Raises
    ------
    ValueError
        for ``add_bias_kv`` or ``add_zero_attn``, or if PyTorch's layer cannot be this one
    """
    if module.bias_k is not None or module.add_zero_attn:
        raise ValueError(NO_BIAS_KV)
    bias, sizes = module.in_proj_bias is not None, (module.embed_dim, module.num_heads)
    layer = layer_class(*sizes, module.dropout, bias, module.kdim, module.vdim)
    _check_torch_has(layer)
    layer.to(module.out_proj.weight).train(module.training)
    with torch.no_grad():
        for ours, theirs in _pairs(layer, module):
            ours.copy_(theirs)
    return layer


def to_torch(layer: MultiHeadAttention) -> nn.MultiheadAttention:
    """Build PyTorch's layer (batch first) with a layer's weights, dtype, device and mode.

    Raises
    ------
    ValueError
        if PyTorch's layer cannot be what this one is
    """
    _check_torch_has(layer)
    weight, bias = layer.out_proj.weight, layer.out_proj.bias is not None
    module = nn.MultiheadAttention(
        layer.embed_dim,
        layer.num_heads,
        layer.dropout,
        bias,
        kdim=layer.kdim,
        vdim=layer.vdim,
        batch_first=True,
        device=weight.device,
        dtype=weight.dtype,
    ).train(layer.training)
    with torch.no_grad():
        for ours, theirs in _pairs(layer, module):
            theirs.copy_(ours)
    return module


def _check_torch_has(layer: MultiHeadAttention) -> None:
    check_weights(layer)
    reason = None
    if layer.positions is not None:
        reason = "it has positions"
    elif layer.num_kv_heads != layer.num_heads:
        reason = "its heads share keys and values"
    elif layer.scale not in (None, layer.head_dim**-0.5):
        reason = f"its scale is {layer.scale}, and not 1 / sqrt(head_dim)"
    elif layer.num_heads * layer.head_dim != layer.embed_dim:
        reason = f"its {layer.num_heads} heads are {layer.head_dim} wide, not embed_dim / num_heads"
    if reason:
        raise ValueError(f"PyTorch's layer cannot be this one: {reason}.")


def _pairs(layer: MultiHeadAttention, module: nn.MultiheadAttention) -> list[tuple[Tensor, Tensor]]:
    """Pair each weight and bias of our layer with what says the same in PyTorch's, as views.

    PyTorch packs the weights of the three projections below each other in one, (3 * D, D), where
    all widths are D. Within a projection, the rows of the heads are below each other in both.
    """
    if module.in_proj_weight is not None:
        weights = module.in_proj_weight.chunk(3)  # (3 * D, D) -> 3 times (D, D)
    else:
        weights = (module.q_proj_weight, module.k_proj_weight, module.v_proj_weight)
    pairs = [(layer.out_proj.weight, module.out_proj.weight)]
    for name, weight in zip("qkv", weights, strict=True):
        parts = layer.projections(name)
        pairs += zip((part.weight for part in parts), weight.chunk(len(parts)), strict=True)
    if module.in_proj_bias is not None:
        pairs.append((layer.out_proj.bias, module.out_proj.bias))
        for name, bias in zip("qkv", module.in_proj_bias.chunk(3), strict=True):
            parts = layer.projections(name)
            pairs += zip((part.bias for part in parts), bias.chunk(len(parts)), strict=True)
    return pairs
