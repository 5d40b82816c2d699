"""What is left of a layer without some of its heads."""

from __future__ import annotations

import copy
from collections.abc import Sequence
from typing import TypeVar

import numpy as np
import torch
from torch import Tensor, nn

from utils.attention import MultiHeadAttention
from utils.torch_weights import check_weights

Layer = TypeVar("Layer", bound=MultiHeadAttention)


def prune_heads(layer: Layer, keep: Sequence[int]) -> Layer:
    """Copy a layer with the kept heads alone, in the order of ``layer``.

    A head keeps its width: there are fewer rows of the three projections and fewer columns of
    ``out_proj``. The result gives what ``layer`` gives with the other heads scaled by zero.

    Raises
    ------
    TypeError
        if it is no multi-head attention layer, or ``keep`` is a mask: it takes the numbers of
        the heads
    ValueError
        if the layer's weights do not say all that it does (see ``check_weights``), its heads cannot
        be taken apart (see ``select_heads``), no head is kept, or one is named
        twice or is not there
    """
    if not isinstance(layer, MultiHeadAttention):
        raise TypeError(f"prune_heads takes layers of utils.attention; got {layer}.")
    check_weights(layer)
    numbers = keep.tolist() if isinstance(keep, Tensor | np.ndarray) else list(keep)
    if any(isinstance(head, bool | np.bool) for head in numbers):
        raise TypeError(
            f"keep is {numbers}; it takes the numbers of the heads to keep, such as [0, 2], "
            "and not a mask of them."
        )
    H, known = layer.num_heads, set(range(layer.num_heads))
    if not numbers or len(set(numbers)) < len(numbers) or not known.issuperset(numbers):
        raise ValueError(
            f"keep is {numbers}; it must name at least one of the heads 0 to {H - 1}, each once."
        )
    pruned = copy.deepcopy(layer)
    select_heads(pruned, sorted(numbers))
    return pruned


def select_heads(layer: MultiHeadAttention, heads: list[int]) -> None:
    """Keep these heads alone, in this order.

    Raises
    ------
    ValueError
        for a layer with ``positions``, which may have parts for each head, with shared keys, or
        without one projection each for query, key and value
    """
    if not hasattr(layer, "q_proj"):
        raise ValueError("the heads of this layer cannot be cut out; MultiHeadAttention's can.")
    if layer.positions is not None:
        raise ValueError("heads of a layer with positions cannot be cut out: remove these.")
    if layer.num_kv_heads != layer.num_heads:
        raise ValueError("heads that share their keys and values cannot be cut out one by one.")
    rows = torch.arange(layer.num_heads * layer.head_dim, device=layer.out_proj.weight.device)
    rows = rows.view(layer.num_heads, layer.head_dim)[heads].flatten()
    for projection in (layer.q_proj, layer.k_proj, layer.v_proj):
        _select(projection, rows, dim=0)
    _select(layer.out_proj, rows, dim=1)
    layer.num_heads = layer.num_kv_heads = len(heads)


def _select(linear: nn.Linear, indices: Tensor, dim: int) -> None:
    """Keep these rows (``dim`` 0, with their bias) or columns (1) of a linear map's weight."""
    names = ["weight"] if dim or linear.bias is None else ["weight", "bias"]
    for name in names:
        whole = getattr(linear, name)
        kept = whole.detach().index_select(dim, indices)
        setattr(linear, name, nn.Parameter(kept, whole.requires_grad))
    linear.out_features, linear.in_features = linear.weight.shape
