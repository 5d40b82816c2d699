"""Chapter 13: a Transformer block, whole or with some of its heads ("tensor parallelism").

Source: Shoeybi and others 2019, "Megatron-LM", section 3.
"""

from __future__ import annotations

from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from chapters.ch13_talk import all_reduce
from utils.attention import MultiHeadAttention

B, T, D, H = 4, 64, 64, 4  # texts, tokens of each, width, heads
Weights = dict[str, Tensor]


class Block(nn.Module):
    """H heads, 4 D hidden units, 12 D² weights; or a share of them."""

    def __init__(self, share: float = 1):
        super().__init__()
        heads, hidden = int(H * share), int(4 * D * share)
        self.mha = MultiHeadAttention(D, heads, bias=False, head_dim=D // H)
        self.up = nn.Linear(D, hidden, bias=False)
        self.down = nn.Linear(hidden, D, bias=False)
        cut = share < 1  # a whole block adds nothing up
        self.enter: Any = Enter.apply if cut else nn.Identity()
        self.leave: Any = Leave.apply if cut else nn.Identity()

    def forward(self, x: Tensor) -> Tensor:
        """(B, T, D) -> (B, T, D)."""
        y = self.enter(F.layer_norm(x, (D,)))
        x = x + self.leave(self.mha(y, y, y, need_weights=False, is_causal=True)[0])
        y = self.enter(F.layer_norm(x, (D,)))
        return x + self.leave(self.down(self.up(y).relu()))


def axis_of_cut(name: str) -> int:
    """Say how a weight is cut: 0, its rows; 1, its columns."""
    return 1 if name.endswith(("out_proj.weight", "down.weight")) else 0


def share_of(weights: Weights, rank: int, N: int) -> Weights:
    """Give the weights of a process's heads and hidden units."""
    cut = {name: w.chunk(N, axis_of_cut(name)) for name, w in weights.items()}
    return {name: pieces[rank] for name, pieces in cut.items()}


class Enter(torch.autograd.Function):
    """The input, the same in all processes, enters a share: Megatron's f."""

    @staticmethod
    def forward(ctx: Any, x: Tensor) -> Tensor:
        """Nothing to send: all have it."""
        return x.view_as(x)

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> Tensor:
        """Add up what the shares have found."""
        return all_reduce(gradient)


class Leave(torch.autograd.Function):
    """A part of the output leaves a share: Megatron's g."""

    @staticmethod
    def forward(ctx: Any, part: Tensor) -> Tensor:
        """Add up the parts."""
        return all_reduce(part)

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> Tensor:
        """Nothing to send: all have it."""
        return gradient
