"""Chapter 13's second worker: it trains with its share of the heads, and may be killed.

    torchrun --nproc-per-node 2 -m chapters.ch13_training FOLDER [STEP [FORGETS]]

At STEP process 1 kills itself. Started again without STEP, all go on from what all have saved; they
may forget the state of the "optimizer", or the number of the "step".
"""

from __future__ import annotations

import os
import signal
import sys
from pathlib import Path

import torch
import torch.distributed as dist
import torch.nn.functional as F
from torch import Tensor, nn

from chapters.ch13_heads import Block, D, share_of
from chapters.ch13_talk import join
from utils.experiments import replacing

STEPS = 40


def two_blocks(seed: int) -> nn.Sequential:
    """Make a model of two blocks."""
    torch.manual_seed(seed)
    return nn.Sequential(Block(), Block())


def share_of_model(rank: int, N: int) -> nn.Sequential:
    """Make a process's share of the model, with the weights that it has in one process."""
    share = nn.Sequential(*(Block(1 / N) for _ in range(2)))
    share.load_state_dict(share_of(two_blocks(seed=0).state_dict(), rank, N))
    return share


def tokens(step: int) -> Tensor:
    """Draw the batch of a step, which depends on its number alone: (B, T, D)."""
    torch.manual_seed(1000 + step)
    return torch.randn(4, 16, D)


def last_saved(folder: Path, N: int) -> int:
    """Give the last step that *all* N processes have saved."""
    if set(folder.glob("*.pt")) - set(folder.glob(f"*of{N}.pt")):
        print("refused: saved by another number of processes", flush=True)
        sys.exit(1)
    for step in range(STEPS, 0, -10):
        files = [folder / f"{step}-{r}of{N}.pt" for r in range(N)]
        if all(file.exists() for file in files):
            return step
    return 0


def train(folder: Path, dies_at: int = 0, forgets: str = "") -> None:
    """Train a share of the model; save every ten steps."""
    rank, N = join()
    model, teacher = share_of_model(rank, N), two_blocks(seed=99)
    optimizer = torch.optim.Adam(model.parameters(), lr=0.003)
    first = last_saved(folder, N)
    if first:
        state = torch.load(folder / f"{first}-{rank}of{N}.pt")
        model.load_state_dict(state["model"])
        if forgets != "optimizer":
            optimizer.load_state_dict(state["optimizer"])
    for step in range(first + 1, STEPS + 1):
        x = tokens(step - first if forgets == "step" else step)
        loss = F.mse_loss(model(x), teacher(x).detach())
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if step % 10 == 0:
            save(folder / f"{step}-{rank}of{N}.pt", model, optimizer)
            if rank == 0:
                print(f"step {step}: loss {loss:.4f}, saved", flush=True)
        if rank == 1 and step == dies_at:
            os.kill(os.getpid(), signal.SIGKILL)  # at once, unprepared
    with torch.no_grad():
        unseen = [tokens(step) for step in range(1001, 1021)]
        losses = [F.mse_loss(model(x), teacher(x)) for x in unseen]
    if rank == 0:
        print(f"20 unseen batches: loss {torch.stack(losses).mean():.4f}")
    dist.destroy_process_group()


def save(file: Path, model: nn.Module, optimizer: torch.optim.Optimizer) -> None:
    """Save under another name, and rename the file when it is whole."""
    state = {"model": model.state_dict(), "optimizer": optimizer.state_dict()}
    with replacing(file) as half_written:
        torch.save(state, half_written)


if __name__ == "__main__":
    where, dies_at, forgets = [*sys.argv[1:], *["", "0", ""][len(sys.argv) - 1 :]]
    train(Path(where), int(dies_at), forgets)
