"""Chapter 13: a sequence over processes; keys and values go round ("ring attention").

Source: Liu, Zaharia and Abbeel 2023, "Ring Attention with Blockwise Transformers for Near-Infinite
Context".
"""

from __future__ import annotations

import math
from typing import Any

import torch
import torch.distributed as dist
from torch import Tensor

from chapters.ch13_talk import pass_on
from utils.attention import MultiHeadAttention, causal_mask

Part = tuple[Tensor, Tensor]  # an output (B, H, T / N, D_head), a log-sum-exp (B, H, T / N, 1)


def ring(q: Tensor, k: Tensor, v: Tensor) -> Part:
    """Attend from this slice, (B, H, T / N, D_head), to it and those before."""
    N, kv = dist.get_world_size(), torch.stack([k, v])  # one message, not two
    so_far = torch.zeros_like(q), torch.full_like(q[..., :1], -math.inf)  # to no keys
    for step in range(N):
        coming = pass_on(kv) if step < N - 1 else None  # travels while we compute
        if step <= dist.get_rank():  # of an earlier slice; else all of these keys are later
            so_far = merge(so_far, attend(q, kv, is_causal=step == 0))
        kv = coming() if coming else kv
    return so_far


def attend(q: Tensor, kv: Tensor, is_causal: bool) -> Part:
    """Attend to some of the keys: all, or in its own slice those up to the query."""
    k, v = kv
    scores = q @ k.mT * q.shape[-1] ** -0.5
    if is_causal:
        scores = scores.masked_fill(~causal_mask(*scores.shape[-2:]), -math.inf)
    log_sum = scores.logsumexp(dim=-1, keepdim=True)
    return (scores - log_sum).exp() @ v, log_sum


def merge(one: Part, other: Part) -> Part:
    """Merge attention over some keys with that over others."""
    (o1, log_sum1), (o2, log_sum2) = one, other
    log_sum = torch.logaddexp(log_sum1, log_sum2)
    return o1 * (log_sum1 - log_sum).exp() + o2 * (log_sum2 - log_sum).exp(), log_sum


class Ring(torch.autograd.Function):
    """The ring, with its gradient: the keys go round again, and their gradients behind them."""

    @staticmethod
    def forward(ctx: Any, q: Tensor, k: Tensor, v: Tensor) -> Tensor:
        """Keep the slice, and a log-sum-exp for each query: no more."""
        output, log_sum = ring(q, k, v)
        ctx.save_for_backward(q, k, v, output, log_sum)
        return output

    @staticmethod
    def backward(ctx: Any, d_output: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """Compute the weights again, as chapter 11's tiles do."""
        q, k, v, output, log_sum = ctx.saved_tensors
        N, scale, kv = dist.get_world_size(), q.shape[-1] ** -0.5, torch.stack([k, v])
        delta = (d_output * output).sum(-1, keepdim=True)  # (B, H, T / N, 1)
        dq, d_kv = torch.zeros_like(q), torch.zeros_like(kv)
        for step in range(N):
            part = torch.zeros_like(kv)
            if step <= dist.get_rank():  # of an earlier slice, as above
                k, v = kv
                weights = (q @ k.mT * scale - log_sum).exp()  # those of the whole softmax
                weights = weights.tril() if step == 0 else weights
                d_scores = weights * (d_output @ v.mT - delta) * scale
                dq += d_scores @ k
                part = torch.stack([d_scores.mT @ q, weights.mT @ d_output])
            if step == 0:
                own = part  # need not travel
            else:
                d_kv = pass_on(d_kv + part)()  # after N - 1 passes it is home
            if step < N - 1:
                kv = pass_on(kv)()
        dk, dv = own + d_kv
        return dq, dk, dv


class RingAttention(MultiHeadAttention):
    """The layer, called with a slice of the tokens: its queries attend to all up to them."""

    def attend_heads(
        self, q: Tensor, k: Tensor, v: Tensor, *_: Any, **__: Any
    ) -> tuple[Tensor, None]:
        """Give the heads; there are no weights to give."""
        return Ring.apply(q, k, v), None
