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
    """Fail in one process while the others wait for it, or let all of them wait."""
    (folder / str(os.getpid())).touch()
    dist.barrier()
    if dist.get_rank() == rank:
        if how == "raise":
            raise KeyError("the news")
        if how == "kill":
            os.kill(os.getpid(), 9)
        time.sleep(1000)
    dist.barrier()
