"""The floor beneath all layers: the work alone, without a module, a check or a choice."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from benchmarks.cases import Answer, Case, Peer, projections


class _Mixed(torch.autograd.Function):
    """The tokens mixed by the softmax of their scores, with a backward pass of its own.

    The tokens are keys and values at once: one product gives both parts of their gradient.
    """

    @staticmethod
    def forward(ctx: Any, brought: Tensor, x: Tensor) -> Tensor:
        """(B, H * T, D) and (B, S, D) -> (B, H * T, D)."""
        weights = torch.bmm(brought, x.transpose(1, 2)).softmax(-1)  # (B, H * T, S)
        ctx.save_for_backward(brought, x, weights)
        return torch.bmm(weights, x)

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor, Tensor]:
        """Give the gradients of both."""
        (grad,) = grads
        brought, x, weights = ctx.saved_tensors
        grad_weights = torch.bmm(grad, x.transpose(1, 2))
        grad_scores = torch._softmax_backward_data(grad_weights, weights, -1, weights.dtype)
        left = torch.cat([grad_scores, weights], 1).transpose(1, 2)  # (B, S, 2 * H * T)
        return torch.bmm(grad_scores, x), torch.bmm(left, torch.cat([brought, grad], 1))


def floors(case: Case, module: nn.MultiheadAttention) -> Iterator[Peer]:
    """The products and the fused kernel; in the orders and packings that the case allows."""
    H, causal, D = case.num_heads, case.causal, case.embed_dim
    flat = [nn.Parameter(t.detach().clone()) for pair in projections(module) for t in pair]
    q_w, q_b, k_w, k_b, v_w, v_b, o_w, o_b = flat

    def floor(name: str, call: Callable[[Tensor, Tensor], Answer], *used: nn.Parameter) -> Peer:
        return Peer(name, "none", call, nn.ParameterList(used), kind="floor")

    def split(x: Tensor) -> Tensor:
        return x.unflatten(-1, (H, -1)).transpose(1, 2)  # (B, T, D) -> (B, H, T, D_head)

    def fuse(q: Tensor, k: Tensor, v: Tensor) -> Answer:
        heads = F.scaled_dot_product_attention(split(q), split(k), split(v), is_causal=causal)
        return F.linear(heads.transpose(1, 2).flatten(2), o_w, o_b), None

    def three(query: Tensor, x: Tensor) -> Answer:
        return fuse(F.linear(query, q_w, q_b), F.linear(x, k_w, k_b), F.linear(x, v_w, v_b))

    yield floor("floor", three, *flat)
    if case.is_self:
        weight = nn.Parameter(torch.cat([q_w, k_w, v_w]).detach())
        bias = nn.Parameter(torch.cat([q_b, k_b, v_b]).detach())

        def packed(query: Tensor, x: Tensor) -> Answer:
            return fuse(*F.linear(x, weight, bias).chunk(3, dim=-1))

        yield floor("floor, packed", packed, weight, bias, o_w, o_b)
    else:

        def absorbed(query: Tensor, x: Tensor) -> Answer:
            B, T = case.batch, case.queries
            q = F.linear(query, q_w, q_b) * (D // H) ** -0.5
            q = q.view(B * T, H, -1).transpose(0, 1)  # (H, B * T, D_head)
            brought = torch.bmm(q, k_w.view(H, -1, D)).view(H, B, T, D)
            # The key's bias shifts all scores of a query alike: the softmax does not see it.
            mixed = _Mixed.apply(brought.transpose(0, 1).reshape(B, H * T, D), x)
            mixed = mixed.view(B, H, T, D).transpose(0, 1).reshape(H, B * T, D)
            heads = torch.bmm(mixed, v_w.view(H, -1, D).transpose(1, 2))  # (H, B * T, D_head)
            # The value's bias is added once, because the weights of a query sum to one.
            return F.linear(heads.transpose(0, 1).reshape(B, T, D) + v_b, o_w, o_b), None

        yield floor("floor, absorbed", absorbed, q_w, q_b, k_w, v_w, v_b, o_w, o_b)
