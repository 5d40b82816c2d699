"""What no layer takes: sizes, dtypes and masks that cannot be meant.

Shapes: B sequences, H heads, T queries, S keys.
"""

from __future__ import annotations

import math
from numbers import Integral
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn
from torch.autograd.forward_ad import unpack_dual
from torch.func import debug_unwrap
from torch.nn.attention.bias import CausalBias
from torch.utils._python_dispatch import is_in_torch_dispatch_mode

NO_BIAS_KV = (
    "add_bias_kv and add_zero_attn have no counterpart in this layer: the paper has neither."
)


def check_whole(name: str, size: Any) -> None:
    """Refuse a size that is not a whole number.

    Raises
    ------
    TypeError
        as said above
    """
    if isinstance(size, bool):
        raise TypeError(
            f"{name} is {size}, and takes a whole number. (PyTorch's constructor has add_bias_kv "
            "and add_zero_attn before kdim and vdim: give by name what comes after bias.)"
        )
    if not isinstance(size, Integral):
        raise TypeError(f"{name} is {size!r}, and takes a whole number.")


def check_sizes(embed_dim: int, num_heads: int, head_dim: int | None, kdim: int, vdim: int) -> None:
    """Refuse sizes that no layer can have; ``head_dim`` None means ``embed_dim / num_heads``.

    Raises
    ------
    TypeError
        if a size is not a whole number
    ValueError
        if one is less than 1, or ``embed_dim`` no multiple of ``num_heads`` without ``head_dim``
    """
    sizes = {"embed_dim": embed_dim, "num_heads": num_heads, "kdim": kdim, "vdim": vdim}
    for name, size in (sizes if head_dim is None else sizes | {"head_dim": head_dim}).items():
        check_whole(name, size)
    if embed_dim < 1 or num_heads < 1 or (head_dim is None and embed_dim % num_heads):
        raise ValueError(
            f"embed_dim ({embed_dim}) must be a positive multiple of num_heads ({num_heads}): "
            "each head gets embed_dim / num_heads dimensions."
        )
    if head_dim is not None and head_dim < 1:
        raise ValueError(f"head_dim ({head_dim}) must be at least 1.")
    if kdim < 1 or vdim < 1:
        raise ValueError(f"kdim ({kdim}) and vdim ({vdim}) must be at least 1.")


def check_options(
    dropout: float, scale: float | None, batch_first: bool, has_extra_keys: bool
) -> None:
    """Refuse an impossible dropout or scale, and what PyTorch's layer has and ours has not.

    Raises
    ------
    ValueError
        as said above
    """
    if not batch_first:
        raise ValueError(
            "this layer is batch first: give it (batch, length, width), for which "
            "x.transpose(0, 1) turns what is (length, batch, width)."
        )
    if has_extra_keys:
        raise ValueError(NO_BIAS_KV)
    if scale is not None and not 0.0 < scale < math.inf:
        raise ValueError(f"scale ({scale}) must be a positive number, or None.")
    if not 0.0 <= dropout <= 1.0:
        raise ValueError(f"dropout is a probability between 0 and 1; got {dropout}.")


def check_tensors(**given: Any) -> None:
    """Refuse what is no tensor, or one of whole numbers, such as token ids, by its name.

    Raises
    ------
    TypeError
        as said above
    """
    for name, x in given.items():
        if not isinstance(x, Tensor) or not x.is_floating_point():
            raise no_embedding(name, x)


def no_embedding(name: str, x: Any) -> TypeError:
    """Say what was given in the place of a tensor of floats, and what to do."""
    if isinstance(x, Tensor):
        return TypeError(
            f"{name} has dtype {x.dtype}: pass embeddings in one floating dtype, (B, T, D), not "
            "token ids; nn.Embedding makes the one of the other."
        )
    if x is None:
        way = "the same one for query, key and value is self-attention"
    elif isinstance(x, np.ndarray):
        way = f"torch.from_numpy({name}).float()"
    else:
        way = "such as torch.tensor makes of a list"
    kind = "None" if x is None else f"of type {type(x).__name__}"
    return TypeError(f"{name} is {kind}: pass a tensor of floats, {way}.")


def check_dtypes(query: Tensor, key: Tensor, value: Tensor) -> None:
    """Refuse what ``check_tensors`` does, and different dtypes that autocast does not convert.

    Raises
    ------
    TypeError
        as said above
    """
    check_tensors(query=query, key=key, value=value)
    one_dtype = query.dtype == key.dtype == value.dtype
    if one_dtype or torch.is_autocast_enabled(query.device.type):
        return
    raise TypeError(
        f"query, key and value have dtypes {query.dtype}, {key.dtype} and {value.dtype}; convert "
        "them to one floating dtype, such as torch.float32."
    )


def check_mask_type(name: str, mask: Tensor, true_means: str) -> None:
    """Refuse what looks like a mask and is none, without a look at its numbers.

    Parameters
    ----------
    name : str, what the caller calls it
    mask : Tensor, bool or floating
    true_means : str, "allowed" or "blocked", what the caller means by True

    Raises
    ------
    TypeError
        for a mask of integers, whose 1 could be meant either way, for PyTorch's ``CausalBias``,
        which describes a mask and holds no numbers, and for what is no tensor
    """
    if not isinstance(mask, Tensor):
        raise TypeError(
            f"{name} is of type {type(mask).__name__}: pass a tensor of booleans (True = "
            f"{true_means}), such as torch.tensor makes of a list or an array."
        )
    if isinstance(mask, CausalBias):
        raise TypeError(
            f"{name} is PyTorch's CausalBias, which holds no numbers; pass is_causal=True instead, "
            "or a mask of booleans."
        )
    if mask.dtype != torch.bool and not mask.is_floating_point():
        tokens, padding = (1, 0) if true_means == "allowed" else (0, 1)
        raise TypeError(
            f"{name} has dtype {mask.dtype}; use torch.bool (True = {true_means}) or floats (added "
            f"to the scores). If its 1 is a token to read, as in Hugging Face's attention_mask, "
            f"pass `{name} == {tokens}`; if its 1 is to be left out, `{name} == {padding}`."
        )


def check_mask(name: str, mask: Tensor, true_means: str) -> None:
    """Refuse what ``check_mask_type`` does, and NaN.

    Raises
    ------
    TypeError
        as ``check_mask_type`` does
    ValueError
        for a mask of floats that holds NaN, as 0 * -inf is; compiled code, ``torch.vmap`` and GPUs,
        which would have to be waited for, do not look
    """
    check_mask_type(name, mask, true_means)
    look = mask.is_floating_point() and mask.device.type == "cpu" and is_plain(mask)
    if look and not is_in_torch_dispatch_mode() and mask.isnan().any():
        raise ValueError(
            f"{name} holds NaN, and so would every score that it is added to. (0 * -inf is NaN: "
            "write -inf into zeros with masked_fill.)"
        )


def check_broadcast(attn_mask: Tensor, shape: tuple[int, ...]) -> None:
    """Refuse what is no mask, or one that would enlarge the scores, (..., T, S).

    Raises
    ------
    TypeError, ValueError
        as ``check_mask`` does, where True means allowed; ValueError too for a mask that does not
        broadcast to ``shape``
    """
    check_mask("attn_mask", attn_mask, true_means="allowed")
    if not broadcasts(attn_mask, shape):
        raise ValueError(
            f"attn_mask has shape {tuple(attn_mask.shape)}, which does not broadcast to the "
            f"scores' shape {tuple(shape)}, (..., queries, keys)."
        )


def broadcasts(mask: Tensor, shape: tuple[int, ...]) -> bool:
    """Say whether a mask fits scores of this shape without enlarging them."""
    sides = zip(reversed(mask.shape), reversed(shape), strict=False)
    return mask.dim() <= len(shape) and all(side in (1, full) for side, full in sides)


def is_plain(x: Tensor) -> bool:
    """Say whether x is just its numbers, which code may then look at and overwrite.

    It is not while a compiler makes a graph, while ``torch.func`` maps or
    differentiates it, with a derivative that is carried forward, or on the meta device.
    """
    if torch.compiler.is_compiling() or x.is_meta:
        return False
    if type(x) not in (Tensor, nn.Parameter):  # such as a fake tensor
        return False
    return debug_unwrap(x, recurse=False) is x and unpack_dual(x).tangent is None
