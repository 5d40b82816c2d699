"""A sequence over processes ("context parallelism"): keys and values travel round in a ring.

Each process holds a slice of the queries, keys and values. It attends to the keys that it has, and
passes them on to the next process while it does so; after P steps its queries have seen all keys,
and no process holds more than three slices of them: its own, those at hand and those that come.
What a step gives is a partial attention; ``merge_attention`` puts the parts together.

With a causal mask, the process with the last slice would work most, and the others wait for it. So
the sequence is cut into 2 P pieces, and process r takes two, the pieces r and 2 P - 1 - r
(``ring_positions``): then all have as much to do, in every step.

Shapes: T tokens in the sequence, T / P of them in a process.

Sources: Liu, Zaharia and Abbeel 2023, "Ring Attention with Blockwise Transformers for Near-Infinite
Context"; the pieces from both ends are those of PyTorch's context parallelism and of Zhu's
"ring-flash-attention" ("zigzag").
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, cast

import torch
import torch.distributed as dist
from torch import Tensor
from torch.autograd.function import once_differentiable

from utils.refusals import check_products
from utils.tiled import merge_attention, partial_attention

if TYPE_CHECKING:  # a build of PyTorch may lack it
    from torch.distributed import ProcessGroup

TILE = 256  # keys of which the scores exist at once
Index = tuple[Any, slice, slice]  # of the tokens of a piece: x[..., start:stop, :]


def ring_positions(T: int, rank: int, processes: int, is_causal: bool = False) -> Tensor:
    """Say which tokens of a sequence a process holds, so that all have as much to do.

    Parameters
    ----------
    T : int, the length of the sequence
    rank, processes : int, which process, of how many
    is_causal : bool. False: a slice, T / P neighbours. True: two pieces of T / (2 P), one as far
        from the beginning as the other from the end

    Returns
    -------
    Tensor of shape (T / P,), int64, ascending

    Raises
    ------
    ValueError
        if the sequence cannot be cut into as many pieces of one length
    """
    pieces = 2 * processes if is_causal else processes
    if T % pieces:
        raise ValueError(
            f"a sequence of {T} tokens cannot be cut into {pieces} pieces of one length for "
            f"{processes} processes: pad it."
        )
    of_piece = torch.arange(T).view(pieces, -1)
    return of_piece[_pieces(rank, processes, is_causal)].flatten()


def _pieces(rank: int, processes: int, is_causal: bool) -> list[int]:
    return [rank, 2 * processes - 1 - rank] if is_causal else [rank]


def ring_attention(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    is_causal: bool = False,
    group: ProcessGroup | None = None,
) -> Tensor:
    """Compute softmax(Q K^T / sqrt(D_head)) V of a sequence whose tokens live in P processes.

    All processes of the group call it, each with its own tokens, and each gets the output of its
    own queries, and the gradients of its own queries, keys and values. Half precision is computed
    in float32. Differentiable once: the keys go round a second time, and their gradients with
    them, so that a process keeps no more than its own slices and one number a query.

    Parameters
    ----------
    query : Tensor of shape (..., T / P, D_head)
    key, value : Tensors of shape (..., T / P, D_head) and (..., T / P, D_value); their other sizes
        broadcast to the query's: shared key heads (B, H_kv, 1, ...) to queries (B, H_kv, H / H_kv,
        ...), and only the key heads travel
    is_causal : bool, let each query attend to the keys up to its own place in the whole sequence;
        the tokens must then be those of ``ring_positions(..., is_causal=True)``
    group : the processes, None for all

    Returns
    -------
    Tensor of shape (..., T / P, D_value)

    Raises
    ------
    ValueError, TypeError
        for shapes that do not fit each other, a causal slice of odd length, or inputs that are not
        floats of one dtype
    RuntimeError
        if there is no process group; or, after the group's timeout, where a process waits for one
        that does not come
    """
    check_products(query, key, value)
    q, k, v = query.shape, key.shape, value.shape
    if min(map(len, (q, k, v))) < 2 or (*k[:-1], q[-2:]) != (*v[:-1], (k[-2], k[-1])):
        sizes = f"{tuple(q)}, {tuple(k)} and {tuple(v)}"
        raise ValueError(f"query, key and value of shapes {sizes} are not slices of one sequence.")
    if is_causal and q[-2] % 2:
        raise ValueError(f"a causal slice is two pieces of one length, and not {q[-2]} tokens.")
    if not dist.is_available() or not dist.is_initialized():
        raise RuntimeError("there is no process group: start it with torchrun, or run_processes.")
    with torch.autocast(query.device.type, enabled=False):
        return cast(Tensor, _RingAttention.apply(query, key, value, is_causal, group))


class _RingAttention(torch.autograd.Function):
    @staticmethod
    def forward(
        ctx: Any, q: Tensor, k: Tensor, v: Tensor, is_causal: bool, group: ProcessGroup | None
    ) -> Tensor:
        (rank, P), widths = _place(group), (k.shape[-1], v.shape[-1])
        merged: dict[int, tuple[Tensor, Tensor]] = {}  # of each piece of the queries, so far
        kv = torch.cat([k, v], dim=-1)  # (..., T / P, D_head + D_value): one message, not two
        for step in range(P):
            coming = _Message(kv, group) if step < P - 1 else None  # travels while we compute
            k_j, v_j = kv.split(widths, dim=-1)
            for i, rows, keys, mask in _pairs(rank, (rank - step) % P, P, q, is_causal):
                part = partial_attention(q[rows], k_j[keys], v_j[keys], mask)
                merged[i] = merge_attention([merged[i], part] if i in merged else [part])
            kv = coming.wait() if coming else kv
        pieces = zip(*(merged[i] for i in sorted(merged)), strict=True)
        output, log_sum = (torch.cat(parts, dim=-2) for parts in pieces)
        output = output.to(q.dtype)
        ctx.save_for_backward(q, k, v, output, log_sum)
        ctx.is_causal, ctx.group = is_causal, group
        return output

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, d_output: Tensor) -> tuple[Tensor | None, ...]:
        q, k, v, output, log_sum = ctx.saved_tensors
        (rank, P), widths, dtype = _place(ctx.group), (k.shape[-1], v.shape[-1]), log_sum.dtype
        scale, d_output = 1 / math.sqrt(q.shape[-1]), d_output.to(dtype)
        delta = (d_output * output).sum(dim=-1, keepdim=True)  # (..., T / P, 1)
        dq = torch.zeros_like(q, dtype=dtype)
        kv = torch.cat([k, v], dim=-1)
        d_kv = torch.zeros_like(kv, dtype=dtype)  # goes round with its keys, and comes home
        for step in range(P):
            coming = _Message(kv, ctx.group) if step < P - 1 else None
            (k_j, v_j), (dk_j, dv_j) = kv.to(dtype).split(widths, -1), d_kv.split(widths, -1)
            for _, rows, keys, mask in _pairs(rank, (rank - step) % P, P, q, ctx.is_causal):
                q_i, d_i = q[rows].to(dtype) * scale, d_output[rows]
                scores = q_i @ k_j[keys].mT
                if mask is not None:
                    scores.masked_fill_(~mask, -math.inf)
                weights = scores.sub_(log_sum[rows]).exp_()  # those of the whole softmax
                d_scores = (d_i @ v_j[keys].mT).sub_(delta[rows]).mul_(weights)
                dq[rows] += d_scores @ k_j[keys] * scale
                dk_j[keys] += (d_scores.mT @ q_i).sum_to_size(dk_j[keys].shape)
                dv_j[keys] += (weights.mT @ d_i).sum_to_size(dv_j[keys].shape)
            kv = coming.wait() if coming else kv
            d_kv = _Message(d_kv, ctx.group).wait() if P > 1 else d_kv
        dk, dv = d_kv.split(widths, dim=-1)
        return dq.to(q.dtype), dk.to(k.dtype), dv.to(v.dtype), None, None


def _place(group: ProcessGroup | None) -> tuple[int, int]:
    """Say who this is in the ring, and how many there are."""
    return dist.get_rank(group), dist.get_world_size(group)


def _pairs(
    rank: int, other: int, P: int, q: Tensor, is_causal: bool
) -> Iterator[tuple[int, Index, Index, Tensor | None]]:
    """Give the pieces of our queries with those keys of another process that they may see.

    Each with its number; at most ``TILE`` keys at a time, so that the scores that exist at once are
    linear in T; and with a mask where queries and keys are of the same piece.
    """
    mine, theirs = _pieces(rank, P, is_causal), _pieces(other, P, is_causal)
    width = q.shape[-2] // len(mine)
    places = torch.arange(width, device=q.device)
    for i, queries in enumerate(mine):
        rows = (..., slice(i * width, (i + 1) * width), slice(None))
        for j, keys in enumerate(theirs):
            if is_causal and keys > queries:
                continue
            for tile in places.split(TILE):
                first = j * width + int(tile[0])
                mask = places.unsqueeze(-1) >= tile if is_causal and keys == queries else None
                yield i, rows, (..., slice(first, first + len(tile)), slice(None)), mask


class _Message:
    """Send a tensor to the next process, and get that of the one before, while work goes on."""

    def __init__(self, tensor: Tensor, group: ProcessGroup | None) -> None:
        group = dist.group.WORLD if group is None else group
        assert group is not None
        rank, P = _place(group)
        following, before = (dist.get_global_rank(group, (rank + i) % P) for i in (1, -1))
        self.leaving, self.coming = tensor.contiguous(), torch.empty_like(tensor)
        send = dist.P2POp(dist.isend, self.leaving, following, group)
        receive = dist.P2POp(dist.irecv, self.coming, before, group)
        self.requests = dist.batch_isend_irecv([send, receive])

    def wait(self) -> Tensor:
        for request in self.requests:
            request.wait()
        return self.coming
