"""Multi-head attention in NumPy alone, forward only: the whole layer on one page.

Called as the layers of ``utils.attention`` are, with masks in their convention: in a mask of
booleans True means *blocked*, and a query that may attend to nothing gets a row of zeros.

Shapes: B sequences, T queries, S keys, H heads, D = ``embed_dim`` = H * D_head.

Source: Vaswani and others 2017, "Attention Is All You Need", sections 3.2.1 and 3.2.2.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

Array = NDArray[Any]
Shape = tuple[int, ...]


def softmax(scores: Array) -> Array:
    """Softmax over the last axis; a row in which every score is -inf gives zeros."""
    highest = scores.max(axis=-1, keepdims=True, initial=-np.inf)
    # With the highest score taken off, no exponential overflows; but -inf - -inf is no number.
    exponentials = np.exp(scores - np.where(highest == -np.inf, 0, highest))
    total = exponentials.sum(axis=-1, keepdims=True)
    return exponentials / np.where(total == 0, 1, total)


class NumpyMultiHeadAttention:
    """A multi-head attention layer that computes and cannot be trained.

    Parameters
    ----------
    state : what ``state_dict()`` of ``torch.nn.MultiheadAttention`` gives, or arrays of the same
        names: ``in_proj_weight`` (3 * D, D) or, where the widths differ, ``q_proj_weight`` (D, D),
        ``k_proj_weight`` (D, kdim) and ``v_proj_weight`` (D, vdim); ``out_proj.weight`` (D, D);
        and ``in_proj_bias`` (3 * D,) and ``out_proj.bias`` (D,), or neither
    num_heads : int, H, a divisor of D

    Raises
    ------
    ValueError
        if D is not a multiple of ``num_heads``, or the layer has biases that are not in the paper
    """

    def __init__(self, state: Mapping[str, ArrayLike], num_heads: int) -> None:
        arrays = {name: np.asarray(array) for name, array in state.items()}
        if "bias_k" in arrays:
            raise ValueError("add_bias_kv has no counterpart in this layer.")
        self.out_weight = arrays["out_proj.weight"]  # (D, D)
        self.embed_dim = D = len(self.out_weight)
        if num_heads < 1 or D % num_heads:
            raise ValueError(f"embed_dim ({D}) must be a multiple of num_heads ({num_heads}).")
        self.num_heads = num_heads
        self.head_dim = D // num_heads
        if "in_proj_weight" in arrays:
            self.weights = np.split(arrays["in_proj_weight"], 3)  # three of (D, D)
        else:
            self.weights = [arrays[f"{name}_proj_weight"] for name in "qkv"]  # each (D, width)
        no_bias = np.zeros(3 * D, self.out_weight.dtype)
        self.biases = np.split(arrays.get("in_proj_bias", no_bias), 3)  # three of (D,)
        self.out_bias = arrays.get("out_proj.bias", no_bias[:D])  # (D,)

    def split_heads(self, x: Array) -> Array:
        """(B, T, D) -> (B, H, T, D_head)."""
        B, T, _ = x.shape
        return x.reshape(B, T, self.num_heads, self.head_dim).transpose(0, 2, 1, 3)

    def join_heads(self, x: Array) -> Array:
        """(B, H, T, D_head) -> (B, T, D)."""
        B, _, T, _ = x.shape
        return x.transpose(0, 2, 1, 3).reshape(B, T, self.embed_dim)

    def __call__(
        self,
        query: Array,
        key: Array,
        value: Array,
        key_padding_mask: ArrayLike | None = None,
        need_weights: bool = True,
        attn_mask: ArrayLike | None = None,
        average_attn_weights: bool = True,
        is_causal: bool = False,
    ) -> tuple[Array, Array | None]:
        """Attend from ``query`` to ``key``, and return a mixture of ``value`` for each query.

        Arguments and results are those of ``AttentionLayer``, always with a batch.

        Raises
        ------
        ValueError, TypeError
            for inputs or masks whose shapes or dtypes do not fit
        """
        inputs = [np.asarray(x) for x in (query, key, value)]
        self._check_inputs(inputs)
        q, k, v = (
            self.split_heads(x @ weight.T + bias)  # (B, T or S, width) -> (B, H, T or S, D_head)
            for x, weight, bias in zip(inputs, self.weights, self.biases, strict=True)
        )
        scores = q @ k.transpose(0, 1, 3, 2) / math.sqrt(self.head_dim)  # (B, H, T, S)
        B, H, T, S = scores.shape
        later = ~np.tri(T, S, dtype=bool) if is_causal else None
        scores = _masked(scores, "key_padding_mask", key_padding_mask, {(B, S): (B, 1, 1, S)})
        square: dict[Shape, Shape] = {(T, S): (1, 1, T, S), (B * H, T, S): (B, H, T, S)}
        scores = _masked(scores, "attn_mask", attn_mask, square)
        scores = _masked(scores, "is_causal", later, square)
        weights = softmax(scores)

        output = self.join_heads(weights @ v) @ self.out_weight.T + self.out_bias  # (B, T, D)
        if not need_weights:
            return output, None
        return output, weights.mean(axis=1) if average_attn_weights else weights

    def _check_inputs(self, inputs: list[Array]) -> None:
        names = ("query", "key", "value")
        for name, x, weight in zip(names, inputs, self.weights, strict=True):
            if x.ndim != 3 or x.shape[-1] != weight.shape[1]:
                width = weight.shape[1]
                raise ValueError(f"{name} has shape {x.shape}; expected (batch, length, {width}).")
        query, key, value = (x.shape[:2] for x in inputs)
        if key != value or query[0] != key[0]:
            raise ValueError(
                f"query, key and value have the (batch, length) {query}, {key} and {value}: all "
                "need the same batch, and every key needs one value."
            )


def _masked(
    scores: Array, name: str, mask: ArrayLike | None, shapes: Mapping[Shape, Shape]
) -> Array:
    """Add a mask of floats to the scores, or -inf where a mask of booleans is True (blocked)."""
    if mask is None:
        return scores
    mask = np.asarray(mask)
    if mask.dtype != bool and not np.issubdtype(mask.dtype, np.floating):
        raise TypeError(f"{name} has dtype {mask.dtype}; use bool (True = blocked) or floats.")
    if mask.shape not in shapes:
        expected = " or ".join(map(str, shapes))
        raise ValueError(f"{name} has shape {mask.shape}; expected {expected}.")
    additive = np.where(mask, -np.inf, 0) if mask.dtype == bool else mask
    return scores + additive.astype(scores.dtype).reshape(shapes[mask.shape])
