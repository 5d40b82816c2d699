"""Scaled dot-product attention, the definition: it returns the weights as well.

Source: Vaswani and others 2017, "Attention Is All You Need", section 3.2.1.
"""

from __future__ import annotations

import torch.nn.functional as F
from torch import Tensor

from utils.attention.masks import causal_mask, combine_masks, masked_softmax
from utils.attention.validate import check_broadcast, check_dtypes


def scaled_dot_product_attention(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    attn_mask: Tensor | None = None,
    dropout_p: float = 0.0,
    is_causal: bool = False,
    scale: float | None = None,
) -> tuple[Tensor, Tensor]:
    """Compute softmax(Q K^T / sqrt(D_head)) V, and return the weights as well.

    Follows ``torch.nn.functional.scaled_dot_product_attention``: True in ``attn_mask`` means *may
    attend*, and dropout is applied whenever ``dropout_p`` is not 0.

    Parameters
    ----------
    query : Tensor of shape (..., T, D_head)
    key : Tensor of shape (..., S, D_head)
    value : Tensor of shape (..., S, D_value)
    attn_mask : Tensor that broadcasts to (..., T, S), True = allowed, or floats to add, or None
    dropout_p : float, the share of weights set to zero
    is_causal : bool, let query t attend to keys 0 … t only
    scale : float or None, what the scores are multiplied with; None means 1 / sqrt(D_head)

    Returns
    -------
    output : Tensor of shape (..., T, D_value)
    weights : Tensor of shape (..., T, S), after dropout; a query that may attend to nothing has
        a row of zeros

    Raises
    ------
    ValueError
        if the shapes of query, key, value or mask do not fit each other, or the mask holds NaN
    TypeError
        if the inputs are not floats of one dtype, or the mask is neither bool nor floating

    Source: Vaswani and others 2017, section 3.2.1, equation 1.
    """
    check_dtypes(query, key, value)
    if min(query.dim(), key.dim(), value.dim()) < 2:
        raise ValueError("query, key and value need at least two dimensions: (length, width).")
    T, S = query.shape[-2], key.shape[-2]
    if query.shape[-1] != key.shape[-1] or value.shape[-2] != S:
        raise ValueError(
            f"query {tuple(query.shape)}, key {tuple(key.shape)} and value {tuple(value.shape)} do "
            "not fit: query and key need the same last size, key and value the same length."
        )
    scores = query @ key.transpose(-2, -1)  # (..., T, S)
    # After the product, as in the formula: to the last bit what Hugging Face's models compute.
    scores.mul_(query.shape[-1] ** -0.5 if scale is None else scale)
    if attn_mask is not None:
        check_broadcast(attn_mask, scores.shape)
    mask = combine_masks(attn_mask, causal_mask(T, S, query.device) if is_causal else None)
    # A causal mask alone allows the first key to every query.
    weights = masked_softmax(scores, mask, overwrite=True, empty_rows=attn_mask is not None)
    weights = F.dropout(weights, dropout_p)
    return weights @ value, weights
