"""The steps of a model that writes, with as little as there can be between the products.

A step for one token multiplies little, and most of its time lies between the products. It gives
what ``LanguageModel`` gives for all tokens at once, and ``write`` takes it.

Shapes: B texts, T new tokens, S tokens so far, H heads, H_kv heads of keys and values, D =
``embed_dim``, V tokens in the vocabulary.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import cast

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from chapters.ch18_model import CausalBlock, LanguageModel, SwiGLU
from utils.attention import MultiHeadAttention
from utils.cache import KeyValueCache
from utils.positions import RotaryPositionalEncoding
from utils.torch_weights import is_plain_linear


class FastSteps:
    """Read a prompt, then token after token, and give the logits of the one that follows.

    What is the same in every step or block is made once: the cosines and sines of all positions,
    and one matrix for maps that read the same. Modules are called where something else than their
    weights may count: a hook, a parametrisation, an adapter, or a module of another kind.

    Parameters
    ----------
    model : LanguageModel in evaluation mode, which does not change until all is written
    max_length : int, the most tokens that there will be, S at the end

    Raises
    ------
    ValueError
        if ``max_length`` is less than 1
    """

    @torch.no_grad()
    def __init__(self, model: LanguageModel, max_length: int) -> None:
        self.model, self.length = model, 0
        blocks = cast(list[CausalBlock], list(model.blocks))
        self.steps = [_block_step(block, KeyValueCache(max_length)) for block in blocks]
        self.cos, self.sin = rotation_table(blocks[0].mha, max_length)

    @torch.no_grad()
    def __call__(self, ids: Tensor) -> Tensor:
        """Give the logits after the last of the newest tokens: (B, T) -> (B, V).

        Raises
        ------
        ValueError
            if there is no room, or after the prompt another number of tokens than one
        """
        start, end = self.length, self.length + ids.shape[1]
        if start and end - start != 1:
            raise ValueError(f"after the prompt tokens come one by one; got {end - start}.")
        if end > len(self.cos):
            raise ValueError(f"there is room for {len(self.cos)} tokens, and this would be {end}.")
        rotation = self.cos[start:end], self.sin[start:end]
        x = self.model.embed(ids)  # (B, T, D)
        for step in self.steps:
            x = step(x, rotation)
        self.length = end
        return self.model.logits(x[:, -1])


def _block_step(
    block: CausalBlock, cache: KeyValueCache
) -> Callable[[Tensor, tuple[Tensor, Tensor]], Tensor]:
    """Do what the block does, for the newest tokens: the cache keeps those before."""
    mha = block.mha
    project, output = join(mha.q_proj, mha.k_proj, mha.v_proj), join(mha.out_proj)
    mha_norm, ff_norm = fast_norm(block.mha_norm), fast_norm(block.ff_norm)
    network = fast_network(block.ff)

    def step(x: Tensor, rotation: tuple[Tensor, Tensor]) -> Tensor:
        x = x + output(attend(mha, project(mha_norm(x)), cache, rotation))
        return x + network(ff_norm(x))

    return step


def attend(
    mha: MultiHeadAttention,
    projected: Tensor,
    cache: KeyValueCache,
    rotation: tuple[Tensor, Tensor],
) -> Tensor:
    """Attend from the newest tokens to all so far.

    Parameters
    ----------
    projected : Tensor of shape (B, T, (H + 2 * H_kv) * D_head), queries, keys and values
    cache : the keys and values before; the new ones are added
    rotation : cosines and sines, (T, D_head) each: see ``rotation_table``

    Returns
    -------
    Tensor of shape (B, T, H * D_head), the heads side by side
    """
    H, H_kv, is_first = mha.num_heads, mha.num_kv_heads, cache.length == 0
    x, v = mha.split_heads(projected).split((H + H_kv, H_kv), dim=1)  # (B, heads, T, D_head)
    cos, sin = rotation
    x = torch.addcmul(x * cos, x.roll(mha.head_dim // 2, -1), sin)
    q, k = x.split((H, H_kv), dim=1)
    k, v = cache.append(k, v)  # (B, H_kv, S, D_head)
    heads, _ = mha.attend_heads(q, k, v, is_causal=is_first)
    return mha.join_heads(heads)


def join(*projections: nn.Linear) -> Callable[[Tensor], Tensor]:
    """Give one map from (..., D) to what the projections give, side by side."""
    plain = [projection for projection in projections if is_plain_linear(projection)]
    biases: list[Tensor] = [projection.bias for projection in plain if projection.bias is not None]
    if len(plain) < len(projections) or 0 < len(biases) < len(plain):
        return lambda x: torch.cat([projection(x) for projection in projections], dim=-1)
    weights: list[Tensor] = [projection.weight for projection in plain]
    return partial(F.linear, weight=torch.cat(weights), bias=torch.cat(biases) if biases else None)


def fast_norm(norm: nn.Module) -> Callable[[Tensor], Tensor]:
    """Give what an RMSNorm gives: that of x is a layer norm of x and -x, whose mean is 0.

    On a processor PyTorch has one kernel for a layer norm, and several for an RMSNorm.
    """
    weight, eps = getattr(norm, "weight", None), getattr(norm, "eps", None)
    if not _is_plain(norm, nn.RMSNorm) or weight is None or eps is None or weight.is_cuda:
        return norm
    D = weight.numel()
    both = torch.cat([weight, torch.zeros_like(weight)])
    return lambda x: F.layer_norm(torch.cat([x, -x], -1), (2 * D,), both, None, eps)[..., :D]


def fast_network(network: nn.Module) -> Callable[[Tensor], Tensor]:
    """Give what a SwiGLU gives, with one product for the gate and for what it lets through."""
    if not _is_plain(network, SwiGLU):
        return network
    network = cast(SwiGLU, network)
    enter, leave = join(network.gate_proj, network.up_proj), join(network.down_proj)

    def fast(x: Tensor) -> Tensor:
        gate, up = enter(x).chunk(2, dim=-1)
        return leave(F.silu(gate) * up)

    return fast


def _is_plain(module: nn.Module, kind: type[nn.Module]) -> bool:
    """Say whether nothing stands at a module that its class does not have; its parts may differ."""
    hooks = module._forward_pre_hooks, module._forward_hooks
    return type(module) is kind and "forward" not in vars(module) and not any(hooks)


def rotation_table(mha: MultiHeadAttention, length: int) -> tuple[Tensor, Tensor]:
    """Give cosines and sines of all positions, (length, D_head) each, for every pair twice.

    Source: Su and others 2021, "RoFormer: Enhanced Transformer with Rotary Position Embedding".
    """
    like, positions = mha.q_proj.weight, cast(RotaryPositionalEncoding, mha.positions)
    pairs = like.new_zeros(length, mha.head_dim)
    pairs[:, : mha.head_dim // 2] = 1  # (1, 0) is turned to (cos, sin)
    cos, sin = positions.rotate(pairs).chunk(2, dim=-1)
    return torch.cat([cos, cos], dim=-1), torch.cat([-sin, sin], dim=-1)
