"""Batches over several processes: each computes its rows, and all take the step of one process.

PyTorch's own parts do the work: ``torchrun`` starts the processes, ``DistributedDataParallel`` or
``fully_shard`` adds up their gradients. What is here gives each its rows, and weighs the losses by
what they are the mean of.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import torch
import torch.distributed as dist
from torch import Tensor, nn


def place() -> tuple[int, int]:
    """Give which process this is, from 0, and how many there are: (0, 1) without a group."""
    if dist.is_available() and dist.is_initialized():
        return dist.get_rank(), dist.get_world_size()
    return 0, 1


Loss = Callable[..., Tensor]


def rows_of(*batch: Tensor) -> int:
    """Give how many rows a batch has: what the mean loss of a classifier is the mean of."""
    return len(batch[0])


def share_batches(model: nn.Module, loss_of: Loss, weigh: Callable[..., Any] = rows_of) -> Loss:
    """Make a loss that each process computes on its rows alone, and whose gradient is that of all.

    It takes the place of ``loss_of`` in ``gradient_steps`` and ``train_epochs``. Every process
    goes through the same whole batches, and process r of P computes the rows r, r + P, …; what is
    given is the mean over the whole batch, the same number in every process.

    Dropout draws other numbers in every process, and from the same state: before and after, the
    random state is the same in all, so that one checkpoint serves them all. With one process
    ``loss_of`` itself is given.

    Parameters
    ----------
    model : nn.Module, the same weights in every process; or one that ``fully_shard`` has cut. The
        loss is always that of this model
    loss_of : function, called as ``loss_of(model, *batch)``, that gives a mean, ()
    weigh : function, called as ``weigh(*batch)``, that gives how many things it is the mean of:
        rows, or tokens that are not padding

    Source: Li and others 2020, "PyTorch Distributed: Experiences on Accelerating Data Parallel
    Training".
    """
    rank, count = place()
    if count == 1:
        return loss_of
    shared = model if _is_sharded(model) else _replica(model)

    def loss(_: nn.Module, *batch: Tensor) -> Tensor:
        mine = [part[rank::count] for part in batch]
        weight = int(weigh(*mine)) / int(weigh(*batch))
        with _own_random_numbers(rank):
            # Nothing to do, while the others wait for a gradient: that of all, times nothing.
            own = loss_of(shared, *(mine if weight else batch)) * weight
        total = own.detach().clone()
        dist.all_reduce(total)  # the sum of the shares
        own = own * count  # gradients are averaged, and this makes it their sum
        return total + (own - own.detach())  # the value of all, the gradient of this process

    return loss


def _replica(model: nn.Module) -> nn.Module:
    """Let the backward pass average the gradients; what the model has can be asked for still."""
    from torch.nn.parallel import DistributedDataParallel

    class Replica(DistributedDataParallel):
        def __getattr__(self, name: str) -> Any:
            try:
                return super().__getattr__(name)
            except AttributeError:
                return getattr(self.module, name)

    return Replica(model, gradient_as_bucket_view=True)  # gradients are kept once, as they are sent


@contextmanager
def _own_random_numbers(rank: int) -> Iterator[None]:
    """Draw other numbers in each process; then all go on with the same."""
    seed = int(torch.randint(2**62, ()))  # the same in all
    devices = [torch.cuda.current_device()] if torch.cuda.is_available() else []
    with torch.random.fork_rng(devices):
        torch.manual_seed(seed + rank)
        yield


def _is_sharded(model: nn.Module) -> bool:
    from torch.distributed.fsdp import FSDPModule

    return isinstance(model, FSDPModule)


def held_bytes(model: nn.Module, optimizer: torch.optim.Optimizer) -> dict[str, int]:
    """Count the bytes that this process keeps from step to step.

    Returns
    -------
    dict with ``weights``, ``gradients`` and ``moments`` (what the optimiser keeps), in bytes
    """
    parameters = list(model.parameters())
    kept: dict[str, list[Any]] = {
        "weights": parameters,
        "gradients": [p.grad for p in parameters],
        "moments": [value for state in optimizer.state.values() for value in state.values()],
    }
    return {name: sum(_bytes(value) for value in values) for name, values in kept.items()}


def _bytes(value: Any) -> int:
    here = value.to_local() if hasattr(value, "to_local") else value  # a DTensor's piece
    return here.nbytes if isinstance(here, Tensor) else 0
