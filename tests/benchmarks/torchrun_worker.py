"""What ``test_torchrun`` starts: the training of ``test_resumable``, killed on the way or not."""

import os
import signal
import sys
from pathlib import Path

import test_resumable
import torch
import torch.distributed as dist

from utils.training.group import process_group


def train(folder, killed):
    """Train; on the first attempt kill process 1 in a step, on the second process 0 in a write."""
    training = test_resumable.make_training(folder / "checkpoint.pt")
    attempt = int(os.environ["TORCHELASTIC_RESTART_COUNT"])
    line = f"attempt {attempt} begins at step {training.state['step']}\n"
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

    if killed and attempt == 0 and dist.get_rank() == 1:
        training.model.register_forward_pre_hook(killed_in_a_step)
    if killed and attempt == 1:
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
        train(Path(sys.argv[1]), sys.argv[2] == "killed")
        if sys.argv[2] == "whole":
            go_on_from_half(Path(sys.argv[1]))
