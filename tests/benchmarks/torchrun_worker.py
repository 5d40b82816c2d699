"""What ``test_torchrun`` starts: trainings of ``test_resumable``, one of them killed."""

import os
import signal
import sys
from pathlib import Path

import test_resumable
import torch
import torch.distributed as dist

from utils.training.group import process_group

ATTEMPT = int(os.environ["TORCHELASTIC_RESTART_COUNT"])


def train(folder):
    """Train, and nothing happens."""
    test_resumable.make_training(folder / "checkpoint.pt").run(test_resumable.no_worse)


def train_and_be_killed(folder):
    """Train; on the first attempt kill process 1 in a step, on the second process 0 in a write."""
    training = test_resumable.make_training(folder / "checkpoint.pt")
    line = f"attempt {ATTEMPT} begins at step {training.state['step']}\n"
    os.write(1, line.encode())  # at once, so that two processes do not mix their lines
    save, steps = torch.save, training.steps // 3

    def killed_in_a_step(*_):
        if training.state["step"] == steps + 5:
            os.kill(os.getpid(), signal.SIGKILL)

    def killed_while_writing(everything, half):
        save(everything, half)
        if everything["step"] > 2 * steps:
            half.write_bytes(half.read_bytes()[:1000])
            os.kill(os.getpid(), signal.SIGKILL)

    if ATTEMPT == 0 and dist.get_rank() == 1:
        training.model.register_forward_pre_hook(killed_in_a_step)
    if ATTEMPT == 1:
        torch.save = killed_while_writing
    training.run(test_resumable.no_worse)


def go_on_from_half(folder):
    """Say in each process what happens where the checkpoint is cut short."""
    half = folder / "half.pt"
    if dist.get_rank() == 0:
        half.write_bytes((folder / "checkpoint.pt").read_bytes()[:1000])
    try:
        test_resumable.make_training(half)
    except ValueError as error:
        (folder / f"error {dist.get_rank()}").write_text(str(error), encoding="utf-8")


if __name__ == "__main__":
    with process_group():
        whole, killed = map(Path, sys.argv[1:])
        if ATTEMPT == 0:  # a start of the processes costs more than a training
            train(whole)
            go_on_from_half(whole)
        train_and_be_killed(killed)
