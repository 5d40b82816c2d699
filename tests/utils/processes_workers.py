"""What the processes of ``test_processes`` do: they import it, so it stands in a module."""

import os
import time

import torch
import torch.distributed as dist


def add_ranks(number):
    """Print, and give who this is, the sum over all, and the number of threads."""
    total = torch.tensor(float(dist.get_rank() + number))
    dist.all_reduce(total)
    print(f"process {dist.get_rank()} of {dist.get_world_size()}: ñ", flush=True)
    return os.getpid(), dist.get_rank(), total, torch.get_num_threads()


def fail_in(rank, how, folder):
    """Fail in one process while the others wait for it."""
    (folder / str(os.getpid())).touch()
    dist.barrier()
    if dist.get_rank() == rank:
        if how == "raise":
            raise KeyError("the news")
        os.kill(os.getpid(), 9)
    dist.barrier()


def never_send(folder):
    """Wait in process 0 for what process 1 does not send, while it sleeps."""
    (folder / str(os.getpid())).touch()
    print("waiting")
    if dist.get_rank() == 0:
        dist.recv(torch.zeros(1), src=1)
    time.sleep(1000)
