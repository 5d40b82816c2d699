"""Which query may attend to which key.

PyTorch has two conventions, and they are opposite. In ``torch.nn.MultiheadAttention`` a True in
``key_padding_mask`` or ``attn_mask`` means *blocked*; in
``torch.nn.functional.scaled_dot_product_attention`` a True in ``attn_mask`` means *allowed*.

Inside this package there is one convention: **True means allowed**. What comes from a caller of a
layer is turned round once, at the edge, by ``blocked_to_allowed``. A mask of floats is added to
the scores and means the same in both conventions: 0 leaves a score alone, -inf blocks.

Shapes: B sequences, H heads, T queries, S keys.
"""

from __future__ import annotations

import torch
from torch import Tensor

from utils.attention.validate import broadcasts, check_mask, check_mask_type, is_plain

BLOCKED = float("-inf")


def valid_length_mask(lengths: Tensor, num_keys: int) -> Tensor:
    """Allow the first ``lengths`` keys; what follows them is padding.

    Parameters
    ----------
    lengths : Tensor of shape (...), of whole numbers from 0 to S, such as (B,): one length for each
        sequence
    num_keys : int, S

    Returns
    -------
    Tensor of shape (..., S), bool, True = allowed

    Raises
    ------
    TypeError
        if the lengths are floats, which may be NaN, or booleans, which are a mask already
    ValueError
        if a length is negative or larger than ``num_keys``; compiled code does not look
    """
    if lengths.dtype == torch.bool or lengths.is_floating_point() or lengths.is_complex():
        raise TypeError(
            f"the lengths have dtype {lengths.dtype}; they count keys, so give whole numbers, such "
            "as torch.int64."
        )
    if is_plain(lengths) and ((lengths < 0) | (lengths > num_keys)).any():
        raise ValueError(
            f"the lengths go from {lengths.min().item()} to {lengths.max().item()}; they must lie "
            f"between 0 and the number of keys, {num_keys}."
        )
    return torch.arange(num_keys, device=lengths.device) < lengths.unsqueeze(-1)


def causal_mask(
    num_queries: int, num_keys: int, device: torch.device | None = None, start: int = 0
) -> Tensor:
    """Let query ``t`` attend to keys ``0 … start + t`` only.

    Parameters
    ----------
    start : int, the place of the first query among the keys

    Returns
    -------
    Tensor of shape (T, S), bool, True = allowed

    Source: Vaswani and others 2017, "Attention Is All You Need", section 3.2.3.
    """
    return torch.ones(num_queries, num_keys, dtype=torch.bool, device=device).tril(start)


def blocked_to_allowed(mask: Tensor) -> Tensor:
    """Turn a mask of ``nn.MultiheadAttention`` (True = blocked) into one of ours (True = allowed).

    A mask of floats is returned as it is: added to the scores, it means the same in both. One of
    integers is refused with TypeError, here as in all functions below.
    """
    check_mask_type("mask", mask, true_means="blocked")
    return ~mask if mask.dtype == torch.bool else mask


def combine_masks(first: Tensor | None, second: Tensor | None) -> Tensor | None:
    """Allow what both masks allow.

    Two masks of booleans give booleans; with a mask of floats the result is one of floats, to be
    added to the scores. None allows everything.
    """
    for name, mask in (("first", first), ("second", second)):
        if mask is not None:
            check_mask_type(name, mask, true_means="allowed")
    if first is None or second is None:
        return second if first is None else first
    if first.dtype == torch.bool and second.dtype == torch.bool:
        return first & second
    dtype = torch.promote_types(first.dtype, second.dtype)
    return to_additive(first, dtype) + to_additive(second, dtype)


def to_additive(mask: Tensor, dtype: torch.dtype) -> Tensor:
    """Write a mask as numbers to add to the scores: 0 where allowed, -inf where blocked.

    -inf, and not a large number such as -1e9, which half precision cannot hold.
    """
    check_mask_type("mask", mask, true_means="allowed")
    if mask.dtype != torch.bool:
        return mask.to(dtype)
    return torch.zeros(mask.shape, dtype=dtype, device=mask.device).masked_fill(~mask, BLOCKED)


def masked_softmax(
    scores: Tensor, mask: Tensor | None, *, overwrite: bool = False, empty_rows: bool = True
) -> Tensor:
    """Softmax over the keys that are allowed; a row in which none is allowed gives zeros.

    Parameters
    ----------
    scores : Tensor of shape (..., T, S), floating
    mask : Tensor that broadcasts to ``scores``, bool (True = allowed) or floating (added), or None
    overwrite : bool, whether the caller does without ``scores`` afterwards, so that their memory
        may be used: memory that the system has yet to provide takes longer than the softmax
    empty_rows : bool, False if the caller knows that every row has a key that is allowed

    Returns
    -------
    Tensor of shape (..., T, S); each row sums to one, or to zero where nothing is allowed
    """
    if mask is not None:
        check_mask_type("mask", mask, true_means="allowed")
    overwrite = overwrite and is_plain(scores) and (mask is None or is_plain(mask))
    empty = None
    if mask is not None:
        if mask.dtype == torch.bool and empty_rows:
            empty = ~mask.any(dim=-1, keepdim=True)  # (..., T, 1): rows with nothing to attend to
            mask = mask | empty  # the softmax of a row of -inf is 0/0, so an empty row stays
        added = to_additive(mask, scores.dtype)
        scores = scores.add_(added) if overwrite else scores + added
        if empty_rows and empty is None:
            empty = (scores == BLOCKED).all(dim=-1, keepdim=True)
            scores = scores.masked_fill(empty, 0.0)
    if overwrite and not (torch.is_grad_enabled() and scores.requires_grad):
        weights = torch.softmax(scores, dim=-1, out=scores)
    else:
        weights = scores.softmax(dim=-1)
    return weights if empty is None else weights.masked_fill(empty, 0.0)


def merge_layer_masks(
    key_padding_mask: Tensor | None,
    attn_mask: Tensor | None,
    is_causal: bool,
    sizes: tuple[int, int, int, int],
    like: Tensor,
    has_batch: bool = True,
) -> Tensor | None:
    """Make one mask of the three that a layer's caller may give, in our convention.

    Parameters
    ----------
    key_padding_mask : Tensor of shape (B, S), bool (True = blocked) or floating, or None
    attn_mask : Tensor of shape (T, S), (B * H, T, S), or one of four dimensions that broadcasts to
        (B, H, T, S), bool (True = blocked) or floating, or None
    is_causal : bool, also block every key that comes after the query
    sizes : (B, H, T, S)
    like : Tensor with the device and the dtype of the layer's input
    has_batch : bool, False if the caller's tensors have no batch: B is 1, and a padding mask (S,)

    Returns
    -------
    Tensor that broadcasts to (B, H, T, S), bool (True = allowed) or floating (added), or None

    Raises
    ------
    TypeError
        for a mask that is neither bool nor floating
    ValueError
        for a mask of another shape, or with NaN
    """
    B, H, T, S = sizes
    merged = causal_mask(T, S, like.device) if is_causal else None
    if key_padding_mask is not None:
        check_mask("key_padding_mask", key_padding_mask, true_means="blocked")
        expected = (B, S) if has_batch else (S,)
        if key_padding_mask.shape != expected:
            raise _wrong_shape("key_padding_mask", key_padding_mask, str(expected), sizes)
        allowed = blocked_to_allowed(key_padding_mask).view(B, 1, 1, S)
        merged = combine_masks(merged, allowed)
    if attn_mask is not None:
        check_mask("attn_mask", attn_mask, true_means="blocked")
        if attn_mask.dim() == 4 and broadcasts(attn_mask, sizes):
            shape = tuple(attn_mask.shape)
        elif attn_mask.shape == (T, S):
            shape = (1, 1, T, S)
        elif attn_mask.shape == (B * H, T, S):
            shape = sizes
        else:
            expected_shapes = f"{(T, S)}, {(B * H, T, S)}, or what broadcasts to {sizes}"
            raise _wrong_shape("attn_mask", attn_mask, expected_shapes, sizes)
        merged = combine_masks(merged, blocked_to_allowed(attn_mask).view(shape))
    if merged is not None and merged.dtype != torch.bool:
        merged = merged.to(like.dtype)
    return merged


def _wrong_shape(
    name: str, mask: Tensor, expected: str, sizes: tuple[int, int, int, int]
) -> ValueError:
    B, H, T, S = sizes
    return ValueError(
        f"{name} has shape {tuple(mask.shape)}; expected {expected}, "
        f"for {B} sequences, {H} heads, {T} queries and {S} keys."
    )
