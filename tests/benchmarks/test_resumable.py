"""A training that is killed in the middle, and goes on with nothing lost."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
import torch
from torch import nn

from benchmarks.resumable import Training

ROOT = Path(__file__).resolve().parents[2]
SETTINGS = {"epochs": 3, "length": 8, "batch_size": 4, "rate": 5e-3, "warmup": 0.1, "seed": 0}


def make_training(file, **changes):
    """A training on 300 tokens, new or gone on with."""
    torch.set_num_threads(1)
    chosen = SETTINGS | changes
    torch.manual_seed(chosen["seed"])
    ids = torch.randint(40, (300,))
    model = nn.Sequential(nn.Embedding(40, 16), nn.Dropout(0.1), nn.Linear(16, 40))
    return Training(model, ids, chosen, file, every=3)


def measure(model):
    """In the place of validation: a number that depends on the weights."""
    return {"loss": model[0].weight.abs().sum().item()}


def kill_in_a_step(training, step):
    """Have the process killed in the middle of this step."""

    def forward(*_):
        if training.state["step"] == step:
            os.kill(os.getpid(), signal.SIGKILL)

    training.model.register_forward_pre_hook(forward)


def kill_while_writing(step):
    """Have the process killed when a checkpoint after this step is half written."""
    save = torch.save

    def write(everything, half):
        save(everything, half)
        if everything["step"] > step:
            half.write_bytes(half.read_bytes()[:1000])
            os.kill(os.getpid(), signal.SIGKILL)

    torch.save = write


def run_and_die(folder):
    """Be killed in the second epoch: at first in a step, and then where that would be written."""
    training = make_training(Path(folder, "checkpoint.pt"))
    middle = training.steps // 3 + 5
    if training.state["resumed"]:
        kill_while_writing(middle + 2)
    else:
        kill_in_a_step(training, middle)
    training.run(measure)


@pytest.fixture(scope="module")
def uninterrupted(tmp_path_factory):
    training = make_training(tmp_path_factory.mktemp("whole") / "checkpoint.pt")
    training.run(measure)
    return training


@pytest.mark.slow
@pytest.mark.processes
def test_a_killed_training_goes_on_with_nothing_lost(tmp_path, uninterrupted):
    code = "import sys, test_resumable as t; t.run_and_die(sys.argv[1])"
    path = os.pathsep.join([str(ROOT), str(Path(__file__).parent)])
    for left in (0, 1):
        killed = subprocess.run(
            [sys.executable, "-c", code, tmp_path], env=os.environ | {"PYTHONPATH": path}
        )
        assert killed.returncode == -signal.SIGKILL
        assert len(list(tmp_path.glob("*.tmp"))) == left
    torch.rand(7)  # whatever the process that goes on has drawn before
    training = make_training(tmp_path / "checkpoint.pt")
    assert training.state["epoch"] == training.state["resumed"] == 2
    assert training.state["position"] > 0, "in the middle of an epoch"
    training.run(measure)
    assert not list(tmp_path.glob("*.tmp"))
    mine, whole = (
        {
            "weights": run.model.state_dict(),
            "moments": run.optimizer.state_dict()["state"],
            "history": [row | {"seconds": 0} for row in run.state["history"]],
        }
        for run in (training, uninterrupted)
    )
    torch.testing.assert_close(mine, whole, rtol=0, atol=0)


def test_a_finished_training_is_not_trained_again_and_keeps_its_settings(uninterrupted):
    again = make_training(uninterrupted.file)
    assert again.finished
    assert again.run(measure) == uninterrupted.state["history"]
    assert again.state["resumed"] == 0
    assert len(again.state["history"]) == SETTINGS["epochs"]
    with pytest.raises(ValueError, match=r"checkpoint\.pt .*\(rate, seed\)"):
        make_training(uninterrupted.file, rate=1e-3, seed=1)


class Trap:
    """An object that does something when it is unpickled."""

    def __init__(self, file):
        self.file = file

    def __reduce__(self):
        return Path.touch, (self.file,)


def test_a_file_that_is_no_checkpoint_is_refused_and_no_object_is_unpickled(tmp_path):
    file, sprung = tmp_path / "checkpoint.pt", tmp_path / "sprung"
    torch.save({"settings": SETTINGS, "trap": Trap(sprung)}, file)
    for content in (file.read_bytes(), b"half a file"):
        file.write_bytes(content)
        with pytest.raises(ValueError, match=r"checkpoint\.pt is no checkpoint"):
            make_training(file)
    assert not sprung.exists()


def test_a_loss_that_is_not_finite_is_an_error(tmp_path):
    training = make_training(tmp_path / "checkpoint.pt")
    with torch.no_grad():
        training.model[0].weight[5:] = torch.inf
    with pytest.raises(FloatingPointError, match="learning rate"):
        training.run(measure)
