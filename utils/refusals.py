"""What no layer takes, each in a sentence that says what was given and what to do.

``no_…`` makes the error, where it has been seen already that something is wrong; ``check_…`` looks
and raises it.
"""

from __future__ import annotations

import math
from numbers import Integral
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from torch import Tensor, nn
from torch.autograd.forward_ad import unpack_dual
from torch.func import debug_unwrap
from torch.nn.attention.bias import CausalBias

if TYPE_CHECKING:
    from utils.attention import MultiHeadAttention

FLOATS = frozenset(
    dtype for dtype in vars(torch).values() if getattr(dtype, "is_floating_point", None) is True
)
MASK_DTYPES = FLOATS | {torch.bool}
NO_BIAS_KV = (
    "add_bias_kv and add_zero_attn have no counterpart in this layer: the paper has neither."
)


# A layer's sizes and options.


def check_whole(name: str, size: Any) -> None:
    """Raise TypeError for a size that is not a whole number."""
    if isinstance(size, bool):
        raise TypeError(
            f"{name} is {size}, and takes a whole number. (PyTorch's constructor has add_bias_kv "
            "and add_zero_attn before kdim and vdim: give by name what comes after bias.)"
        )
    if not isinstance(size, Integral):
        raise TypeError(f"{name} is {size!r}, and takes a whole number.")


def check_sizes(
    embed_dim: int,
    num_heads: int,
    head_dim: int | None,
    kdim: int,
    vdim: int,
    num_kv_heads: int,
) -> None:
    """Raise TypeError or ValueError for sizes that no layer can have."""
    sizes = {"embed_dim": embed_dim, "num_heads": num_heads, "kdim": kdim, "vdim": vdim}
    sizes |= {"num_kv_heads": num_kv_heads} | ({} if head_dim is None else {"head_dim": head_dim})
    for name, size in sizes.items():
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
    if num_kv_heads < 1 or num_heads % num_kv_heads:
        raise ValueError(
            f"num_kv_heads ({num_kv_heads}) must be a divisor of num_heads ({num_heads}): each "
            "key head serves as many query heads as any other."
        )


def check_options(
    dropout: float, scale: float | None, batch_first: bool, has_extra_keys: bool
) -> None:
    """Raise ValueError for an impossible dropout or scale, or what only PyTorch's layer has."""
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


# Queries, keys and values.


def no_floats(name: str, x: Any) -> TypeError:
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


def no_input(
    layer: MultiHeadAttention, query: Tensor, key: Tensor, value: Tensor
) -> TypeError | ValueError:
    """Say why a layer cannot attend from this query to these keys and values."""
    given = {"query": query, "key": key, "value": value}
    for name, x in given.items():
        if not isinstance(x, Tensor) or x.dtype not in FLOATS:
            return no_floats(name, x)
    if any(x.is_nested for x in given.values()):
        return TypeError(
            "a nested tensor cannot be attended to; pad it with `.to_padded_tensor(0.0)`, and "
            "pass a key_padding_mask."
        )
    dims = [x.dim() for x in given.values()]
    if dims not in ([2, 2, 2], [3, 3, 3]):
        return ValueError(
            f"query, key and value have {dims[0]}, {dims[1]} and {dims[2]} dimensions; expected 3 "
            "each, (batch, length, width), or 2 each without a batch."
        )
    widths = (layer.embed_dim, layer.kdim, layer.vdim)
    for (name, x), width in zip(given.items(), widths, strict=True):
        if x.shape[-1] != width:
            shape = tuple(x.shape)
            return ValueError(f"{name} has shape {shape}; expected (batch, length, {width}).")
    if dims[0] == 3 and not len(query) == len(key) == len(value):
        return ValueError(
            f"query, key and value hold {len(query)}, {len(key)} and {len(value)} sequences; they "
            "must hold the same number (the layer is batch first)."
        )
    return ValueError(
        f"there are {key.shape[-2]} keys and {value.shape[-2]} values in each sequence; every key "
        "needs one value."
    )


def no_products(query: Tensor, key: Tensor, value: Tensor) -> TypeError | ValueError:
    """Say why Q K^T or W V cannot be computed."""
    given = {"query": query, "key": key, "value": value}
    for name, x in given.items():
        if not isinstance(x, Tensor) or x.dtype not in FLOATS:
            return no_floats(name, x)
    dtypes = [x.dtype for x in given.values()]
    if len(set(dtypes)) > 1 and not torch.is_autocast_enabled(query.device.type):
        return TypeError(
            f"query, key and value have dtypes {dtypes[0]}, {dtypes[1]} and {dtypes[2]}; convert "
            "them to one floating dtype, such as torch.float32."
        )
    if min(x.dim() for x in given.values()) < 2:
        return ValueError("query, key and value need at least two dimensions: (length, width).")
    return ValueError(
        f"query {tuple(query.shape)}, key {tuple(key.shape)} and value {tuple(value.shape)} do "
        "not fit: query and key need the same last size, key and value the same length."
    )


def check_decoding(layer: MultiHeadAttention, x: Tensor) -> None:
    """Raise where a layer cannot decode these tokens, (B, T, D), with a cache."""
    if not isinstance(x, Tensor) or x.dtype not in FLOATS:
        raise no_floats("x", x)
    if x.dim() != 3 or x.shape[1] < 1 or x.shape[2] != layer.embed_dim:
        raise ValueError(
            f"x has shape {tuple(x.shape)}; expected (B, T, {layer.embed_dim}), with at least "
            "one token."
        )


# Masks.


def no_mask(
    name: str, mask: Any, true_means: str, shape: tuple[int, ...] | None = None
) -> TypeError | ValueError:
    """Say what was given in the place of a mask for scores of this shape, and what to do.

    ``true_means`` is "allowed" or "blocked", what the caller means by True. Integers are refused
    because their 1 could mean either, PyTorch's ``CausalBias`` because it holds no numbers.
    """
    if not isinstance(mask, Tensor):
        return TypeError(
            f"{name} is of type {type(mask).__name__}: pass a tensor of booleans (True = "
            f"{true_means}), such as torch.tensor makes of a list or an array."
        )
    if isinstance(mask, CausalBias):
        return TypeError(
            f"{name} is PyTorch's CausalBias, which holds no numbers; pass is_causal=True instead, "
            "or a mask of booleans."
        )
    if mask.dtype not in MASK_DTYPES:
        tokens, padding = (1, 0) if true_means == "allowed" else (0, 1)
        return TypeError(
            f"{name} has dtype {mask.dtype}; use torch.bool (True = {true_means}) or floats (added "
            f"to the scores). If its 1 is a token to read, as in Hugging Face's attention_mask, "
            f"pass `{name} == {tokens}`; if its 1 is to be left out, `{name} == {padding}`."
        )
    return ValueError(
        f"{name} has shape {tuple(mask.shape)}, which does not broadcast to the scores' shape "
        f"{shape}, (..., queries, keys)."
    )


def no_layer_mask(
    name: str, mask: Any, sizes: tuple[int, int, int, int], has_batch: bool
) -> TypeError | ValueError:
    """Say why this is no mask for a layer whose scores have these sizes, (B, H, T, S)."""
    wrong, (B, H, T, S) = no_mask(name, mask, "blocked"), sizes
    if isinstance(wrong, TypeError):
        return wrong
    if name == "key_padding_mask":
        expected = f"{(B, S) if has_batch else (S,)}"
    else:
        expected = f"{(T, S)}, {(B * H, T, S)}, or what broadcasts to {sizes}"
    return ValueError(
        f"{name} has shape {tuple(mask.shape)}; expected {expected}, "
        f"for {B} sequences, {H} heads, {T} queries and {S} keys."
    )


def check_numbers(name: str, mask: Tensor) -> None:
    """Raise TypeError for a mask of floats without numbers, ValueError for NaN, as 0 * -inf is.

    It does not look where that would wait (GPUs) or cannot be done (a compiler, ``torch.vmap``).
    """
    if isinstance(mask, CausalBias):
        raise no_mask(name, mask, true_means="allowed")
    if mask.device.type != "cpu" or not is_plain(mask):
        return
    numbers = mask.detach().float()  # of another class where a mode makes fake tensors of all
    if type(numbers) is Tensor and np.isnan(numbers.numpy()).any():
        raise ValueError(
            f"{name} holds NaN, and so would every score that it is added to. (0 * -inf is NaN: "
            "write -inf into zeros with masked_fill.)"
        )


def is_plain(x: Tensor) -> bool:
    """Say whether x is just its numbers, which code may then look at.

    It is not while a compiler makes a graph, while ``torch.func`` maps or
    differentiates it, with a derivative that is carried forward, or on the meta device.
    """
    if torch.compiler.is_compiling() or x.is_meta:
        return False
    if type(x) not in (Tensor, nn.Parameter):  # such as a fake tensor
        return False
    return debug_unwrap(x, recurse=False) is x and unpack_dual(x).tangent is None
