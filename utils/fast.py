"""Multi-head attention by the cheapest order of its products.

Products associate: q (x Wk)^T = (q Wk^T) x^T, and w (x Wv) = (w x) Wv. On the left every key and
value is projected; on the right the query is brought to the keys, and what a head mixed is brought
back ("absorbed": the projections are absorbed by the query and the mixture). Where there are few
queries the right side needs far fewer operations, and it is the same function.

Shapes: B sequences, T queries, S keys, H heads, H_kv heads of keys and values, D = ``embed_dim``;
key and value have their own widths, kdim and vdim.
"""

from __future__ import annotations

import math
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor

from utils.attention import MultiHeadAttention, causal_mask, combine_masks, masked_softmax
from utils.refusals import is_plain
from utils.torch_weights import is_plain_linear


class FastMultiHeadAttention(MultiHeadAttention):
    """``MultiHeadAttention`` that does not project the keys and values where that is dear.

    Parameters, call, errors and the function that it computes are those of ``MultiHeadAttention``,
    up to rounding. Where there are few queries and many keys, it is cheaper to bring each query to
    the keys (``absorbed``): ``k_proj`` and ``v_proj`` are then read, not called. It goes the
    plain way where that could be noticed or would be wrong: with ``positions``, which change the
    keys; where a hook, a parametrisation, an adapter or another module than ``torch.nn.Linear``
    stands at ``k_proj`` or ``v_proj``; and while ``torch.export`` makes a program for all shapes.
    (Hooks of all modules at once, as profilers set them, see what is called.)
    """

    def attend(
        self, query: Tensor, key: Tensor, value: Tensor, mask: Tensor | None, **how: bool
    ) -> tuple[Tensor, Tensor | None]:
        """Run all heads at once, in the order of the products that needs the fewest."""
        T, S = query.shape[1], key.shape[1]
        if not (self.may_absorb() and self.absorbing_is_cheaper(T, S)):
            return super().attend(query, key, value, mask, **how)
        if how["is_causal"]:
            mask = combine_masks(mask, causal_mask(T, S, query.device))
        joined, weights = absorbed_attention(
            self.q_proj(query),  # (B, T, H * D_head)
            key,
            value,
            *self._absorbed_parts(),
            mask,
            self.dropout if self.training else 0.0,
            self.scale,
        )
        return joined, weights if how["need_weights"] else None

    def may_absorb(self) -> bool:
        """Say whether keys and values may go without ``k_proj`` and ``v_proj`` being called."""
        if self.positions is not None:
            return False
        if torch.compiler.is_exporting():
            return False
        return is_plain_linear(self.k_proj) and is_plain_linear(self.v_proj)

    def absorbing_is_cheaper(self, T: int, S: int) -> bool:
        """Compare the multiply-adds of the two orders for T queries and S keys, of one sequence."""
        E, E_kv = self.num_heads * self.head_dim, self.num_kv_heads * self.head_dim
        width = self.kdim + self.vdim
        projecting = S * width * E_kv + 2 * T * S * E  # keys and values; scores and mixtures
        absorbing = T * width * E + T * S * width * self.num_heads  # queries there and back
        return absorbing < projecting

    def _absorbed_parts(self) -> tuple[Tensor, Tensor, Tensor | None, Tensor | None]:
        """Weights of key and value projection, (H, D_head, width), and the biases of both."""
        k_proj, v_proj = self.k_proj, self.v_proj
        heads = (self.num_kv_heads, self.head_dim, -1)
        k_weight, v_weight = k_proj.weight.view(heads), v_proj.weight.view(heads)
        v_bias: Tensor | None = v_proj.bias
        groups = self.num_heads // self.num_kv_heads
        if groups > 1:
            k_weight = k_weight.repeat_interleave(groups, dim=0)
            v_weight = v_weight.repeat_interleave(groups, dim=0)
            if v_bias is not None:
                v_bias = v_bias.view(heads[:2]).repeat_interleave(groups, dim=0).flatten()
        return k_weight, v_weight, k_proj.bias, v_bias


def absorbed_attention(
    q: Tensor,
    key: Tensor,
    value: Tensor,
    k_weight: Tensor,
    v_weight: Tensor,
    k_bias: Tensor | None = None,
    v_bias: Tensor | None = None,
    mask: Tensor | None = None,
    dropout_p: float = 0.0,
    scale: float | None = None,
) -> tuple[Tensor, Tensor]:
    """Attend with projected queries to keys and values that are not projected.

    The key's bias has no part: it adds the same number to all scores of a query, and the softmax
    does not see it. (It is taken all the same, so that it has a gradient, zero.) The value's bias
    is added once for each unit of weight.

    Parameters
    ----------
    q : Tensor of shape (B, T, H * D_head), the projected queries
    key : Tensor of shape (B, S, kdim)
    value : Tensor of shape (B, S, vdim)
    k_weight : Tensor of shape (H, D_head, kdim), the key projection of each head
    v_weight : Tensor of shape (H, D_head, vdim), the value projection of each head
    k_bias : Tensor of shape (H * D_head,), or None
    v_bias : Tensor of shape (H * D_head,), or None
    mask : Tensor that broadcasts to (B, H, T, S), in the convention of ``utils.attention``, or None
    dropout_p : float, the share of weights set to zero
    scale : float or None, what the scores are multiplied with; None means 1 / sqrt(D_head)

    Returns
    -------
    heads : Tensor of shape (B, T, H * D_head), side by side
    weights : Tensor of shape (B, H, T, S), after dropout; zeros for a query that may attend to
        nothing
    """
    B, T, _ = q.shape
    H, head_dim, kdim = k_weight.shape
    q = q / math.sqrt(head_dim) if scale is None else q * scale
    q = q.reshape(B * T, H, head_dim).transpose(0, 1)  # (H, B * T, D_head)
    brought = torch.bmm(q, k_weight).view(H, B, T, kdim).transpose(0, 1)  # (B, H, T, kdim)
    keep = None
    if dropout_p:  # what the weights are multiplied with: 0, or 1 / (1 - dropout_p)
        keep = F.dropout(q.new_ones(B, H, T, key.shape[1]), dropout_p)
    parts = (brought, key, None if key is value else value, mask, keep)
    if not torch.is_grad_enabled():
        mixed, weights = _mix(*parts)
    elif all(part is None or is_plain(part) for part in (*parts, k_bias)):
        mixed, weights = _Mixture.apply(*parts, k_bias)
    else:  # a compiler, torch.func and forward derivatives want operations that they know
        mixed, weights = _mix(*parts)
        if k_bias is not None:
            mixed = mixed + 0 * k_bias.sum()
    vdim = value.shape[-1]
    mixed = mixed.transpose(0, 1).reshape(H, B * T, vdim)  # (B, H, T, vdim) -> (H, B * T, vdim)
    heads = torch.bmm(mixed, v_weight.transpose(1, 2))  # (H, B * T, D_head)
    joined = heads.transpose(0, 1).reshape(B, T, H * head_dim)
    if keep is not None:
        weights = weights * keep
    if v_bias is not None:
        if mask is not None or keep is not None:  # the weights of a query may not sum to one
            sums = weights.sum(-1).transpose(1, 2).unsqueeze(-1)  # (B, T, H, 1)
            v_bias = (sums * v_bias.view(H, head_dim)).flatten(2)
        joined = joined + v_bias
    return joined, weights


def _mix(
    brought: Tensor,
    key: Tensor,
    value: Tensor | None,
    mask: Tensor | None,
    keep: Tensor | None,
) -> tuple[Tensor, Tensor]:
    """Give the mixture of the values for each head, (B, H, T, vdim), and the softmax.

    Without ``value`` the keys are the values as well.
    """
    (B, H, T, kdim), S = brought.shape, key.shape[1]
    value = key if value is None else value
    scores = torch.bmm(brought.reshape(B, H * T, kdim), key.transpose(1, 2)).view(B, H, T, S)
    softmax = masked_softmax(scores, mask)
    weights = softmax if keep is None else softmax * keep
    mixed = torch.bmm(weights.view(B, H * T, S), value)
    return mixed.view(B, H, T, value.shape[-1]), softmax


class _Mixture(torch.autograd.Function):
    """``_mix`` with a backward pass of its own.

    In self-attention keys and values are one tensor, which then has two gradients. Autograd
    computes both, (B, S, D) each, and adds them; here, without ``value``, they are one product. The
    gradient of the key's bias, which has no part in the result, is zero.
    """

    generate_vmap_rule = True  # where torch.vmap maps over something that these inputs are not

    @staticmethod
    def forward(
        brought: Tensor,
        key: Tensor,
        value: Tensor | None,
        mask: Tensor | None,
        keep: Tensor | None,
        k_bias: Tensor | None,
    ) -> tuple[Tensor, Tensor]:
        return _mix(brought, key, value, mask, keep)

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Any, ...], output: tuple[Tensor, Tensor]) -> None:
        brought, key, value, mask, keep, k_bias = inputs
        ctx.mask_shape = None if mask is None else mask.shape
        device = key.device.type
        ctx.autocast = (device, torch.get_autocast_dtype(device), torch.is_autocast_enabled(device))
        ctx.set_materialize_grads(False)  # who does not use the weights pays nothing for them
        ctx.save_for_backward(brought, key, value, output[1], keep, k_bias)

    @staticmethod
    def backward(
        ctx: Any, d_mixed: Tensor | None, d_softmax: Tensor | None
    ) -> tuple[Tensor | None, ...]:
        brought, key, value, softmax, keep, k_bias = ctx.saved_tensors
        (B, H, T, S), kdim = softmax.shape, key.shape[-1]
        source = key if value is None else value
        if d_mixed is None:
            d_mixed = brought.new_zeros(B, H, T, source.shape[-1])
        device, dtype, enabled = ctx.autocast
        with torch.autocast(device, dtype, enabled):
            rows, d_rows = (
                brought.reshape(B, H * T, kdim),
                d_mixed.reshape(B, H * T, source.shape[-1]),
            )
            d_weights = torch.bmm(d_rows, source.transpose(1, 2)).view(B, H, T, S)
            if keep is not None:
                d_weights = d_weights * keep
            if d_softmax is not None:
                d_weights = d_weights + d_softmax
            share = softmax * d_weights
            d_scores = share - softmax * share.sum(-1, keepdim=True)  # through the softmax
            d_s = d_scores.view(B, H * T, S)
            w = (softmax if keep is None else softmax * keep).view(B, H * T, S)
            d_brought = torch.bmm(d_s, key).view_as(brought)
            d_key = d_value = None
            if value is not None and ctx.needs_input_grad[2]:
                d_value = torch.bmm(w.transpose(1, 2), d_rows)
            if ctx.needs_input_grad[1]:
                left, right = d_s, rows
                if value is None:  # [dS; W]^T [rows; d_rows] = dS^T rows + W^T d_rows
                    left, right = torch.cat([d_s, w], 1), torch.cat([rows, d_rows], 1)
                d_key = torch.bmm(left.transpose(1, 2), right)
            d_mask = d_scores.sum_to_size(ctx.mask_shape) if ctx.needs_input_grad[3] else None
            d_k_bias = None if k_bias is None else torch.zeros_like(k_bias)
            return d_brought, d_key, d_value, d_mask, None, d_k_bias
