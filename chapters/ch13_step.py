"""Chapter 13's first worker: one training step of a block, by each of four cuts.

    torchrun --nproc-per-node 4 -m chapters.ch13_step [tokens of a text]

Every process also takes the step alone, and says how far off its share of a cut is.
"""

from __future__ import annotations

import sys
from typing import Any, cast

import torch
import torch.distributed as dist
from torch import Tensor, nn
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import fully_shard
from torch.distributed.tensor import DTensor

from chapters.ch13_heads import B, Block, D, H, T, Weights, axis_of_cut, share_of
from chapters.ch13_ring import RingAttention
from chapters.ch13_talk import all_reduce, join, written


def step(block: nn.Module, x: Tensor) -> Weights:
    """Give output and gradients; the loss is a sum over tokens."""
    x = x.detach().requires_grad_()  # as if from another block
    output = block(x)
    output.sin().sum().backward()
    return {"output": output.detach(), "x": x.grad, **gradients(block)}


def gradients(block: nn.Module) -> Weights:
    """Give the gradient of each weight."""
    return {name: w.grad for name, w in block.named_parameters() if w.grad is not None}


def all_reduced(found: Weights) -> Weights:
    """Add up over all processes."""
    return {name: all_reduce(grad) for name, grad in found.items()}


def by_heads(whole: Block, x: Tensor, rank: int, N: int) -> Weights:
    """All texts, with some of the heads."""
    block = Block(1 / N)
    block.load_state_dict(share_of(whole.state_dict(), rank, N))
    return step(block, x)


def by_texts(whole: Block, x: Tensor, rank: int, N: int) -> Weights:
    """Some of the texts, with all weights."""
    found = step(whole, x.chunk(N)[rank])
    return found | all_reduced(gradients(whole))


def by_shards(whole: Block, x: Tensor, rank: int, N: int) -> Weights:
    """Some of the texts, with an N-th of each weight: FSDP."""
    mesh = init_device_mesh("cpu", (N,))
    fully_shard(whole, mesh=mesh, reshard_after_forward=True)
    found = step(whole, x.chunk(N)[rank])
    means = gradients(whole)  # over processes; only an N-th is here
    return found | {name: N * cast(DTensor, mean).to_local() for name, mean in means.items()}


def by_tokens(whole: Block, x: Tensor, rank: int, N: int) -> Weights:
    """Some tokens of each text, with all weights and a ring."""
    ring = RingAttention(D, H, bias=False)
    ring.load_state_dict(whole.mha.state_dict())
    whole.mha = ring
    found = step(whole, x.chunk(N, dim=1)[rank])
    return found | all_reduced(gradients(whole))


def share_of_found(cut: Any, name: str, whole: Tensor, rank: int, N: int) -> Tensor:
    """Give the part of a result of one process that a process of the cut should find."""
    if name in ("output", "x"):
        axis = {by_texts: 0, by_shards: 0, by_tokens: 1}.get(cut)
    else:
        axis = {by_heads: axis_of_cut(name), by_shards: 0}.get(cut)
    return whole if axis is None else whole.chunk(N, axis)[rank]


def main(T: int = T) -> None:
    """Take the step by each cut, compare, and measure what it sends."""
    rank, N = join()
    for cut in (by_heads, by_texts, by_shards, by_tokens):
        torch.manual_seed(0)  # the same weights and tokens in all
        whole, x = Block(), torch.randn(B, T, D)
        wanted = step(whole, x)
        whole.zero_grad()
        dist.barrier()
        before = written()
        found = cut(whole, x, rank, N)
        dist.barrier()
        sent, far = written() - before, torch.zeros(())
        for name, right in wanted.items():
            gap = found[name] - share_of_found(cut, name, right, rank, N)
            far = torch.maximum(far, gap.abs().max() / right.abs().max())
        dist.all_reduce(far, dist.ReduceOp.MAX)
        if rank == 0:
            print(f"{cut.__name__:9} off by {far:.0e}, sends {sent:,.0f} numbers")
    dist.destroy_process_group()


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
