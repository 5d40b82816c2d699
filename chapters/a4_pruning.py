"""What is left of a layer without some of its heads."""

from __future__ import annotations

import copy
from collections.abc import Sequence
from typing import TypeVar

import numpy as np
from torch import Tensor

from utils.attention import AttentionLayer, check_weights

Layer = TypeVar("Layer", bound=AttentionLayer)


def prune_heads(layer: Layer, keep: Sequence[int]) -> Layer:
    """Copy a layer with the kept heads alone, in the order of ``layer``.

    A head keeps its width: there are fewer rows of the three projections and fewer columns of
    ``out_proj``. The result gives what ``layer`` gives with the other heads scaled by zero.

    Raises
    ------
    TypeError
        if it is no layer of ``utils.attention``, or ``keep`` is a mask: it takes the numbers of
        the heads
    ValueError
        if the layer's weights do not say all that it does (see ``check_weights``), its heads cannot
        be taken apart (see ``AttentionLayer.select_heads``), no head is kept, or one is named
        twice or is not there
    """
    if not isinstance(layer, AttentionLayer):
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
    pruned.select_heads(sorted(numbers))
    return pruned
