"""The group of processes that ``torchrun`` started: meet, share what is to do, tell one another."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from datetime import timedelta
from threading import Thread
from typing import Any, TypeVar

import torch
import torch.distributed as dist

from chapters.ch13_batches import place

Thing = TypeVar("Thing")


@contextmanager
def process_group(joining: float = 30.0, waiting: float = 300.0) -> Iterator[tuple[int, int]]:
    """Meet the other processes that ``torchrun`` has started, and leave them at the end.

    They talk with gloo on a processor and with NCCL between GPUs, of which each process gets its
    own. Started without ``torchrun``, or in a group already, there is nothing to do.

    Parameters
    ----------
    joining : float, seconds until all must have come
    waiting : float, seconds that one may wait for what another has to send

    Yields
    ------
    which process this is, and how many there are; see ``place``

    Raises
    ------
    RuntimeError
        if the first process cannot be reached, its port is taken, or others do not come in time;
        ``torch.distributed`` may also be missing
    """
    started = {"RANK", "WORLD_SIZE", "MASTER_ADDR", "MASTER_PORT"} <= set(os.environ)
    if started and not dist.is_available():
        raise RuntimeError("this build of PyTorch has no torch.distributed: start one process.")
    if not started or dist.is_initialized():
        yield place()
        return
    gpus = torch.cuda.device_count()
    if (local := int(os.environ.get("LOCAL_RANK", 0))) < gpus:
        torch.cuda.set_device(local)
    store, rank, count = _meet(timedelta(seconds=joining))
    backend = "cpu:gloo,cuda:nccl" if gpus else "gloo"
    limit = timedelta(seconds=waiting)
    dist.init_process_group(backend, store=store, rank=rank, world_size=count, timeout=limit)
    yield rank, count
    dist.destroy_process_group()  # not after an error: then nobody waits for anybody


def _meet(limit: timedelta) -> tuple[Any, int, int]:
    """Give the store where the processes find each other, once all have come."""
    rank, count = int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"])
    found: list[Any] = []
    from torch.distributed.distributed_c10d import PrefixStore
    from torch.distributed.rendezvous import rendezvous

    def meet() -> None:
        try:
            store, *_ = next(rendezvous("env://", timeout=limit))
            # torchrun's store outlives a restart, and still holds the addresses of the dead.
            attempt = os.environ.get("TORCHELASTIC_RESTART_COUNT", "0")
            store = PrefixStore(f"attempt {attempt}", store)
            store.set(f"here {rank}", "")
            found.append(store)
            store.wait([f"here {other}" for other in range(count)], limit)
            found.append("all")
        except Exception as error:
            found.append(error)

    # In a thread: where something else listens at that port, it would wait for ever.
    thread = Thread(target=meet, daemon=True)
    thread.start()
    thread.join(2 * limit.total_seconds())
    if found and found[-1] == "all":
        return found[0], rank, count
    said = found[-1] if found and isinstance(found[-1], Exception) else "there is no answer"
    raise RuntimeError(
        f"process {rank} of {count} did not meet all others at {os.environ['MASTER_ADDR']}:"
        f"{os.environ['MASTER_PORT']} within {limit.total_seconds():g} seconds. Some were not "
        "started, or the address is wrong, or another run has this port; PyTorch says: "
        f"{str(said).splitlines()[0]}"
    )


def from_first(make: Callable[[], Thing]) -> Thing:
    """Call a function in process 0, and give all what it gave; what it raises is raised in all."""
    rank, count = place()
    if count == 1:
        return make()
    told: list[Any] = [None]
    if rank == 0:
        try:
            told = [(make(), None)]
        except Exception as error:
            told = [(None, error)]
    dist.broadcast_object_list(told, 0)
    found, failed = told[0]
    if failed is not None:
        raise failed
    return found


def own_share(things: Sequence[Thing]) -> Sequence[Thing]:
    """Give those of the things that this process has to do: every P-th."""
    rank, count = place()
    return things[rank::count]


def from_all(mine: Any) -> list[Any]:
    """Give what each process gave, process 0 first."""
    _, count = place()
    if count == 1:
        return [mine]
    found: list[Any] = [None] * count
    dist.all_gather_object(found, mine)
    return found
