"""Checks of appendix A1: weights packed for another library, and masks in another convention.

Shapes: B sequences, T queries, S keys, H heads, D = H * D_head. Arrays are NumPy's.
"""

from typing import Any

import numpy as np
import torch
from torch import Tensor

from exercises.exercise import Case, Cases, Code, FaultError, call, exercise


@exercise
def kernels_for_keras() -> Cases:
    """Check the way from GPT-NeoX's packed rows to Keras's three kernels.

    ``function(packed, num_heads)`` takes an array (3 * D, D) whose rows are query, key and value of
    head 0, then those of head 1, and so on. It returns the kernels of the queries, the keys and the
    values, arrays (D, H, D_head), or one array of all three.
    """
    for H, D_head in ((2, 3), (4, 2)):
        D = H * D_head
        packed = torch.arange(3.0 * D * D).view(3 * D, D) / D
        parts = packed.view(H, 3, D_head, D)
        as_torch = packed.view(3, H, D_head, D).permute(0, 3, 1, 2)
        right = parts.permute(1, 3, 0, 2)  # (3, D, H, D_head)
        mistakes = {
            "the rows are read as (3, H, D_head), PyTorch's order; they come as (H, 3, D_head).": as_torch,
            "the rows are read as (H, D_head, 3); D_head rows of one kind stay together.": packed.view(H, D_head, 3, D).permute(2, 3, 0, 1),
            "the columns of packed are not the last axis any more: transpose, do not reshape.": parts.transpose(0, 1).reshape(right.shape),
            "the first axis of packed.T is D, not the three kernels: reshape its last one.": packed.T.reshape(right.shape),
            "packed is read as three matrices in turn, PyTorch's order, and not transposed.": packed.reshape(right.shape),
            "the kernels are not transposed: their first axis is the columns of packed.": parts.transpose(0, 1),
            "the axis of the heads comes last; it comes before D_head.": right.mT,
            "the axis of the heads comes first; a kernel is (D, H, D_head).": right.transpose(1, 2),
            "the axes of the heads are folded into one, D; a kernel is (D, H, D_head).": right.reshape(3, D, D),
            "the kernels are in the wrong order; it is q, k, v.": right.flip(0),
            "the kernels of keys and values are exchanged; the order is q, k, v.": right[[0, 2, 1]],
        }
        yield Case((packed, H), right, mistakes, "the stack of the three kernels", ask=_kernels)


def _kernels(function: Code, packed: Tensor, H: int) -> Tensor:
    got = call(function, packed.numpy(), H)
    if not isinstance(got, tuple | list):
        got = [*torch.atleast_1d(_tensor(got, "the result"))]
    if len(got) != 3:
        raise FaultError(f"your function should return three kernels; got {len(got)}.")
    kernels = [_tensor(part, "a kernel") for part in got]
    shapes = [tuple(part.shape) for part in kernels]
    if len(set(shapes)) > 1:
        raise FaultError(f"the kernels have the shapes {shapes}; expected {(packed.shape[1], H, packed.shape[1] // H)}.")
    return torch.stack(kernels)


@exercise
def mask_for_jax() -> Cases:
    """Check the way from the two masks of PyTorch's layer to the one of JAX.

    ``function(attn_mask, key_padding_mask)`` takes boolean arrays (T, S) and (B, S), True =
    blocked, and returns a boolean array (B, 1, T, S), True = allowed.
    """
    for B, T, S in ((3, 4, 4), (2, 3, 5)):
        later = torch.ones(T, S).tril().logical_not()  # (T, S), True = blocked
        sizes = torch.tensor([S, S - 2, S - 1][:B])
        padding = torch.arange(S) >= sizes.unsqueeze(1)  # (B, S), True = blocked
        blocked = later | padding[:, None]  # (B, T, S)
        right = ~blocked[:, None]  # (B, 1, T, S)
        mistakes = {
            "True still means blocked; JAX wants True where a query may attend.": ~right,
            "allowed is what neither of the two blocks; yours allows what one of them does.": ~(later & padding[:, None])[:, None],
            "blocked keys of one mask are allowed, those of the other are not: turn both.": (later & ~padding[:, None])[:, None],
            "the padding is still the wrong way round; turn both masks.": (~later & padding[:, None])[:, None],
            "`~` turns only the first mask: write brackets, ~(... | ...).": (~later | padding[:, None])[:, None],
            "the padding is not used.": (~later).expand(B, 1, T, S),
            "the mask of the layer, attn_mask, is not used.": (~padding)[:, None, None].expand(B, 1, T, S),
            "an axis for the heads is missing: (B, 1, T, S).": right[:, 0],
            "the axis for the heads comes second: (B, 1, T, S).": right.transpose(0, 1),
        }
        if T == S:
            queries = ~(later | padding[:, :, None])[:, None]
            mistakes["the padding blocks queries; it should block keys, the last axis."] = queries
        yield Case((later, padding), right, mistakes, f"the mask for {B} texts", ask=_mask)


def _mask(function: Code, *masks: Tensor) -> Tensor:
    got = _tensor(call(function, *(mask.numpy() for mask in masks)), "the mask")
    if got.dtype != torch.bool:
        raise FaultError(f"the mask has dtype {got.numpy().dtype}; expected bool.")
    return got


def _tensor(got: Any, what: str) -> Tensor:
    """What the reader's code returned, an array of NumPy, JAX or PyTorch, as a tensor."""
    if isinstance(got, Tensor):
        return got.detach()
    array = np.array(got) if hasattr(got, "__array__") else None
    if array is None or array.dtype == object:
        raise FaultError(f"{what} should be an array; got {type(got).__name__}.")
    return torch.from_numpy(array)
