"""Heads that share keys and values: "grouped-query attention", with one key head "multi-query".

Source: Ainslie and others 2023, "GQA: Training Generalized Multi-Query Transformer Models from
Multi-Head Checkpoints", section 2.2.
"""

from __future__ import annotations

import torch.nn.functional as F
from torch import Tensor

from utils.attention.dot_product import scaled_dot_product_attention
from utils.attention.validate import check_mask_type


def grouped_attention(
    q: Tensor,
    k: Tensor,
    v: Tensor,
    mask: Tensor | None,
    dropout_p: float,
    is_causal: bool,
    scale: float | None,
    need_weights: bool,
) -> tuple[Tensor, Tensor | None]:
    """Attend with H heads of queries to H_kv heads of keys, H / H_kv queries to each.

    Parameters
    ----------
    q : Tensor of shape (B, H, T, D_head)
    k, v : Tensors of shape (B, H_kv, S, D_head)
    mask, dropout_p, is_causal, scale : as ``scaled_dot_product_attention`` has them; the mask has
        four dimensions
    need_weights : bool, whether to give the weights as well

    Returns
    -------
    heads : Tensor of shape (B, H, T, D_head)
    weights : Tensor of shape (B, H, T, S), or None
    """
    if mask is not None:
        check_mask_type("mask", mask, true_means="allowed")
    (B, H, T, head_dim), H_kv = q.shape, k.shape[1]
    groups = H // H_kv  # queries that share a key
    call = (mask, dropout_p, is_causal)
    if need_weights:  # (B, H_kv, S, D_head) -> (B, H, S, D_head)
        k, v = k.repeat_interleave(groups, dim=1), v.repeat_interleave(groups, dim=1)
        return scaled_dot_product_attention(q, k, v, *call, scale)
    if T != 1 or is_causal:
        return F.scaled_dot_product_attention(q, k, v, *call, scale=scale, enable_gqa=True), None
    # One query: let the heads that share a key be queries of one head. No key is copied then.
    if mask is not None and mask.shape[1] == H:  # (B, H, 1, S) -> (B, H_kv, groups, S)
        mask = mask.reshape(mask.shape[0], H_kv, groups, mask.shape[-1])
    q = q.reshape(B, H_kv, groups, head_dim)
    heads = F.scaled_dot_product_attention(q, k, v, mask, dropout_p, scale=scale)
    return heads.reshape(B, H, 1, head_dim), None
