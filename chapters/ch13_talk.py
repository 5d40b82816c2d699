"""How the processes of chapter 13 meet and talk, by ``torch.distributed`` as it is."""

from __future__ import annotations

import math
import os
import socket
from collections.abc import Callable
from pathlib import Path

import torch
import torch.distributed as dist
from torch import Tensor


def join() -> tuple[int, int]:
    """Become one of those that torchrun has started; say which, and how many there are."""
    loopback = [name for _, name in socket.if_nameindex() if name.startswith("lo")]
    os.environ.setdefault("GLOO_SOCKET_IFNAME", loopback[0])  # all are on this machine
    torch.set_num_threads(1)
    torch.set_default_dtype(torch.float64)
    dist.init_process_group("gloo")
    return dist.get_rank(), dist.get_world_size()


def all_reduce(x: Tensor) -> Tensor:
    """Give every process the sum of what each has brought."""
    total = x.clone()
    dist.all_reduce(total)  # in place
    return total


def pass_on(x: Tensor) -> Callable[[], Tensor]:
    """Send x to the next process; give a function that waits for what comes."""
    rank, N = dist.get_rank(), dist.get_world_size()
    leaving, coming = x.contiguous(), torch.empty_like(x).contiguous()
    send = dist.P2POp(dist.isend, leaving, (rank + 1) % N)
    receive = dist.P2POp(dist.irecv, coming, (rank - 1) % N)
    requests = dist.batch_isend_irecv([send, receive])

    def wait() -> Tensor:
        for request in requests:
            request.wait()
        return coming

    return wait


def written() -> float:
    """Give how many numbers, of 8 bytes each, this process has written, as Linux counts them."""
    counts = Path("/proc/self/io")
    if not counts.exists():
        return math.nan
    return int(counts.read_text().split("wchar: ")[1].split()[0]) / 8
