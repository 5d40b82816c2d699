"""Multi-head attention by the cheapest order of its products.

Shapes: B sequences, T queries, S keys, H heads, H_kv heads of keys and values, D = ``embed_dim``.
"""

from __future__ import annotations

import torch
from torch import Tensor

from utils.attention.absorbed import absorbed_attention
from utils.attention.masks import causal_mask
from utils.attention.multi_head import MultiHeadAttention
from utils.attention.weights import is_plain_linear


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
        self,
        query: Tensor,
        key: Tensor,
        value: Tensor,
        mask: Tensor | None,
        need_weights: bool,
        is_causal: bool = False,
    ) -> tuple[Tensor, Tensor | None]:
        """Run all heads at once, in the order of the products that needs the fewest."""
        T, S = query.shape[1], key.shape[1]
        if not (self.may_absorb() and self.absorbing_is_cheaper(T, S)):
            return super().attend(query, key, value, mask, need_weights, is_causal)
        if is_causal:
            mask = causal_mask(T, S, query.device)
        joined, weights = absorbed_attention(
            self.q_proj(query),  # (B, T, H * D_head)
            key,
            value,
            *self._absorbed_parts(),
            mask,
            self.dropout if self.training else 0.0,
            self.scale,
        )
        return joined, weights if need_weights else None

    def may_absorb(self) -> bool:
        """Say whether keys and values may go without ``k_proj`` and ``v_proj`` being called."""
        if self.positions is not None:
            return False
        if torch.compiler.is_exporting():
            return False
        return is_plain_linear(self.k_proj) and is_plain_linear(self.v_proj)

    def absorbing_is_cheaper(self, T: int, S: int) -> bool:
        """Compare what the two orders of the products need for T queries and S keys."""
        projecting, absorbing = products_of_orders(
            T, S, T * S, self.kdim + self.vdim, self.num_heads, self.num_kv_heads, self.head_dim
        )
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


def products_of_orders(
    T: int, S: int, pairs: int, width: int, num_heads: int, num_kv_heads: int, head_dim: int
) -> tuple[int, int]:
    """Count the multiply-adds between the query's projection and the last one, for one sequence.

    With E = H * D_head and E_kv = H_kv * D_head, the widths of all heads,

    projecting: S * width * E_kv for keys and values, then 2 * pairs * E
    absorbing: T * width * E to bring the queries there and back, then pairs * width * H

    Parameters
    ----------
    T, S, pairs : int, queries, keys, and the pairs of the two that attend, T * S without a mask
    width : int, kdim + vdim
    num_heads, num_kv_heads, head_dim : int, H, H_kv and D_head

    Returns
    -------
    projecting, absorbing : int
    """
    inner_dim, kv_dim = num_heads * head_dim, num_kv_heads * head_dim
    projecting = S * width * kv_dim + 2 * pairs * inner_dim
    absorbing = T * width * inner_dim + pairs * width * num_heads
    return projecting, absorbing
