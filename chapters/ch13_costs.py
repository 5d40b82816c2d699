"""What work that is spread over processes costs: its messages, counted, and its time, by a model.

Shapes: B sequences, T tokens, D = ``embed_dim``; P processes.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

from torch import Tensor
from torch._ops import OpOverload
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves

from utils.costs import multiply_adds

SENDING = ("all_reduce", "all_gather", "reduce_scatter", "all_to_all", "broadcast", "send")
ONE_NAME = {"allreduce": "all_reduce", "allgather": "all_gather", "alltoall": "all_to_all"}


class Message(NamedTuple):
    """A call by which processes talk to each other."""

    name: str  # such as "all_reduce" or "send"
    bytes: int  # of the tensor that this process hands over


def count_messages(function: Callable[[], object]) -> list[Message]:
    """Call a function once, and list what this process hands to the others in it, in order.

    How many bytes then pass a link is up to the algorithm: for an all-reduce ``all_reduce_bytes``,
    for a send those of the tensor.

    Parameters
    ----------
    function : called once, without arguments, in every process of the group. It may call
        ``backward``
    """
    with _Listener() as listener:
        function()
    return listener.messages


class _Listener(TorchDispatchMode):
    """See each call below autograd, and below DTensor."""

    def __init__(self) -> None:
        super().__init__()
        self.messages: list[Message] = []

    def __torch_dispatch__(
        self, function: OpOverload, types: Any, args: Any = (), kwargs: Any = None
    ) -> Any:
        if any(kind.__name__ == "DTensor" for kind in types):
            return NotImplemented  # let it first become what it does to each process's part
        name = function.overloadpacket.__name__ if "c10d" in function.namespace else ""
        for other, ours in ONE_NAME.items():
            name = name.replace(other, ours)
        kind = next((kind for kind in SENDING if name.lstrip("_").startswith(kind)), None)
        if kind:
            handed = args[1] if name.endswith("_base_") else args  # args[0] is what will come
            tensors = [leaf for leaf in tree_leaves(handed) if isinstance(leaf, Tensor)]
            self.messages.append(Message(kind, sum(tensor.nbytes for tensor in tensors)))
        return function(*args, **(kwargs or {}))


def all_reduce_bytes(size: float, processes: int) -> float:
    """Give the bytes that each process sends, and receives, in an all-reduce of ``size`` bytes.

    2 * size * (P - 1) / P: the sum of each P-th goes round once to be made, and once to be known.
    No algorithm in which every process sends as much as any other needs fewer.

    Source: Patarasuk and Yuan 2009, "Bandwidth Optimal All-reduce Algorithms for Clusters of
    Workstations".
    """
    return 2 * size * (processes - 1) / processes


@dataclass(frozen=True)
class Cluster:
    """Equal devices in equal nodes; per second and device."""

    flops: float  # operations that large products reach; a multiply-add is two
    link: float  # bytes to another device of the node, each way
    network: float  # bytes to a device of another node, each way
    latency: float = 5e-6  # seconds until a message begins to arrive


class BlockSeconds(NamedTuple):
    """Seconds of one block's forward and backward pass on each device, one after the other."""

    products: float
    heads: float  # all-reduces among the processes that share the heads
    batches: float  # the all-reduce of the gradients, among those that share the batch

    @property
    def efficiency(self) -> float:
        """The share of the time in which a device multiplies."""
        return self.products / sum(self)


def block_seconds(
    B: int,
    T: int,
    D: int,
    cluster: Cluster,
    processes: int = 1,
    copies: int = 1,
    *,
    itemsize: int = 2,
    recompute: bool = False,
) -> BlockSeconds:
    """Say how long a Transformer block trains on B sequences, by products and messages alone.

    ``processes`` devices of a node share the heads and the hidden units (4 D of them), and
    ``copies`` such groups share the batch, so ``processes * copies`` devices work. Assumed: norms,
    residuals, the softmax and the optimiser cost nothing; products always reach ``flops``; nothing
    is sent while products are computed; each message takes its bytes at full speed, and latency
    twice for each doubling of the group.

    Parameters
    ----------
    B, T, D : int, sequences of all devices together, tokens of each, the model's width
    cluster : Cluster
    processes : int, P: 2 all-reduces of (B / copies, T, D) in the forward pass, 2 in the backward
    copies : int, one all-reduce of the 12 D^2 / P weights' gradients
    itemsize : int, bytes of a number
    recompute : bool, whether the backward pass does the forward pass again, to have stored less

    Returns
    -------
    BlockSeconds

    Source: Narayanan and others 2021, "Efficient Large-Scale Language Model Training on GPU
    Clusters Using Megatron-LM", which counts so.
    """
    batch = B / copies
    multiplied = multiply_adds(1, T, T, D, 1, absorbed=False) + 8 * T * D**2
    passes = 4 if recompute else 3  # a backward pass is two

    def all_reduce(size: float, group: int, speed: float) -> float:
        return all_reduce_bytes(size, group) / speed + 2 * math.log2(group) * cluster.latency

    activations, weights = batch * T * D * itemsize, 12 * D**2 / processes * itemsize
    return BlockSeconds(
        products=passes * 2 * batch * multiplied / processes / cluster.flops,
        heads=2 * (passes - 1) * all_reduce(activations, processes, cluster.link),
        batches=all_reduce(weights, copies, cluster.network),
    )
