"""Heads over processes ("tensor parallelism"): each process has some of the heads, whole.

Head h needs rows of ``q_proj``, ``k_proj`` and ``v_proj``, and columns of ``out_proj``, that no
other head needs. So each process keeps those of its heads, attends in them, and gets a part of the
output's sum; the parts are added where heads always were, in the last projection: one all-reduce.
A feed-forward network is cut in the same way, hidden unit by hidden unit.

Shapes: B sequences, T queries, S keys, H heads, D = ``embed_dim``; P processes.

Source: Shoeybi and others 2019, "Megatron-LM: Training Multi-Billion Parameter Language Models
Using Model Parallelism".
"""

from __future__ import annotations

import copy
import inspect
from typing import TYPE_CHECKING, Any

from torch import Tensor, nn

from utils.attention import MultiHeadAttention
from utils.positions import ALiBi, RotaryPositionalEncoding

if TYPE_CHECKING:  # a build of PyTorch may lack torch.distributed
    from torch.distributed.device_mesh import DeviceMesh

FEED_FORWARD = ("up_proj", "down_proj")


def parallelize_heads(module: nn.Module, mesh: DeviceMesh) -> nn.Module:
    """Spread the heads of every ``MultiHeadAttention`` in a module over the processes of a mesh.

    Every process calls it, on the same module. From then on each calls the module as before, with
    the same input, and has the same output, (B, T, D), and the same gradients of the input. The
    projections' weights are DTensors, taken from process 0: each process stores H / P heads of
    them, as it stores its part of their gradients; ``weight.full_tensor()`` gives the whole. What
    is not spread (norms, embeddings) every process has, and it gets the same gradient in each.

    A forward pass needs one all-reduce of (B, T, D) for each attention layer, and one for each
    feed-forward network (a module with ``up_proj`` and ``down_proj``, both ``torch.nn.Linear``); a
    backward pass as many, for each different tensor among query, key and value. The attention
    weights, where they are asked for, are fetched from all.

    Dropout of the weights is drawn in each process for its heads; what stands outside (a block's
    own dropout) must be drawn alike, so give every process the same seed.

    Parameters
    ----------
    module : a layer, a block or a whole model; it is changed in place
    mesh : DeviceMesh of one dimension, such as ``init_device_mesh("cpu", (2,))``, or
        ``mesh["heads"]`` of one with more

    Returns
    -------
    the module

    Raises
    ------
    ValueError
        if the heads, the key heads or the hidden units do not divide by the processes, a layer has
        something that cannot be cut between heads, or there is nothing to spread. The module is
        unchanged then
    """
    from torch.distributed.tensor.parallel import (
        ColwiseParallel,
        RowwiseParallel,
        parallelize_module,
    )

    layers = [layer for layer in module.modules() if isinstance(layer, MultiHeadAttention)]
    networks: list[Any] = [part for part in module.modules() if _are_linear(part, FEED_FORWARD)]
    if not layers and not networks:
        raise ValueError("there is no MultiHeadAttention here whose heads could be spread.")
    for layer in layers:
        _check_layer(layer, mesh.size())
    for network in networks:
        _check_divides("the hidden units", len(network.up_proj.weight), mesh.size())

    by_rows, by_columns = ColwiseParallel, RowwiseParallel  # of a weight (out, in), as we store it
    for layer in layers:
        plan = {"q_proj": by_rows(), "k_proj": by_rows(), "v_proj": by_rows()}
        parallelize_module(layer, mesh, {**plan, "out_proj": by_columns()})
        _take_own_heads(layer, mesh)
    for network in networks:
        parallelize_module(network, mesh, {"up_proj": by_rows(), "down_proj": by_columns()})
    return module


def _are_linear(module: nn.Module, names: tuple[str, ...]) -> bool:
    return all(isinstance(getattr(module, name, None), nn.Linear) for name in names)


def _check_layer(layer: MultiHeadAttention, processes: int) -> None:
    _check_divides("the heads", layer.num_heads, processes)
    _check_divides("the heads of keys and values", layer.num_kv_heads, processes)
    what = layer.between
    if type(layer.positions) not in (type(None), ALiBi, RotaryPositionalEncoding):
        what = f"positions of the class {type(layer.positions).__name__}"
    elif not _are_linear(layer, ("q_proj", "k_proj", "v_proj", "out_proj")):
        what = "a projection that is not torch.nn.Linear"
    elif hasattr(layer.out_proj.weight, "placements"):  # a DTensor
        what = "heads that are already spread"
    if what:
        raise ValueError(f"a layer with {what} cannot be cut between its heads.")


def _check_divides(what: str, number: int, processes: int) -> None:
    if number % processes:
        raise ValueError(
            f"{what} ({number}) do not divide by {processes} processes: each takes as many, whole."
        )


def _take_own_heads(layer: MultiHeadAttention, mesh: DeviceMesh) -> None:
    """Let a layer be one of H / P heads, that takes and gives what the whole layer does."""
    P = mesh.size()
    layer.num_heads, layer.num_kv_heads = layer.num_heads // P, layer.num_kv_heads // P
    if isinstance(layer.positions, ALiBi):  # a slope for each head
        first = mesh.get_local_rank() * layer.num_heads
        layer.positions = copy.copy(layer.positions)
        layer.positions.slopes = layer.positions.slopes[first : first + layer.num_heads]

    signature = inspect.signature(layer.forward)  # with it each argument has its name

    def take(_: nn.Module, given: Any, named: Any) -> tuple[tuple[()], dict[str, Any]]:
        return (), _spread(signature.bind(*given, **named).arguments, mesh, layer.num_heads)

    def give(_: nn.Module, given: Any, result: Any) -> tuple[Tensor, Tensor | None]:
        output, weights = result
        return output, None if weights is None else _whole(weights, output.dim(), mesh)

    layer.register_forward_pre_hook(take, with_kwargs=True)
    layer.register_forward_hook(give)


def _spread(call: dict[str, Any], mesh: DeviceMesh, num_heads: int) -> dict[str, Any]:
    """Mark the inputs as whole in every process, and cut a mask that has a part for each head."""
    from torch.distributed.tensor import DTensor, Replicate

    marked: dict[int, Tensor] = {}  # a tensor given twice is marked once: its gradient is one sum
    for name in ("query", "key", "value"):
        x = call[name]
        if id(x) not in marked:
            marked[id(x)] = DTensor.from_local(x, mesh, [Replicate()], run_check=False)
        call[name] = marked[id(x)]
    mask, all_heads = call.get("attn_mask"), num_heads * mesh.size()
    first = mesh.get_local_rank() * num_heads
    if mask is not None and mask.dim() == 3 and len(mask) % all_heads == 0:  # (B * H, T, S)
        mask = mask.unflatten(0, (-1, all_heads)).narrow(1, first, num_heads).flatten(0, 1)
    elif mask is not None and mask.dim() == 4 and mask.shape[1] == all_heads > 1:  # (B, H, T, S)
        mask = mask.narrow(1, first, num_heads)
    return call | {"attn_mask": mask}


def _whole(weights: Tensor, dimensions: int, mesh: DeviceMesh) -> Tensor:
    """Fetch the attention weights of all heads, or average the processes' averages."""
    from torch.distributed.tensor import DTensor, Partial, Shard

    if weights.dim() == dimensions:  # (B, T, S), as the output has three: a mean over own heads
        part = DTensor.from_local(weights / mesh.size(), mesh, [Partial()], run_check=False)
    else:  # (B, H / P, T, S)
        part = DTensor.from_local(weights, mesh, [Shard(weights.dim() - 3)], run_check=False)
    return part.full_tensor()
