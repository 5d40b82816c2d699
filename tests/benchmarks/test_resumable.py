"""A training that is killed in the middle, and goes on with nothing lost."""

import os
import random
import signal
import subprocess
import sys
from pathlib import Path

import pytest
import torch

from benchmarks.resumable import Training
from benchmarks.translators import build
from utils.text import BEGIN, END

ROOT = Path(__file__).resolve().parents[2]
SETTINGS = {
    "vocab_size": 300, "embed_dim": 16, "num_heads": 2, "hidden_dim": 16, "num_layers": 1,
    "dropout": 0.1, "epochs": 3, "tokens": 128, "rate": 5e-3, "warmup": 0.1, "averaged": 2,
    "label_smoothing": 0.1, "patience": 5, "seed": 0, "dtype": "float32", "beams": 2,
    "length_penalty": 1.0,
}  # fmt: skip


def make_training(file, **changes):
    """A training on 80 pairs of numbers, new or gone on with: to write backwards what is read."""
    torch.set_num_threads(1)
    chosen = SETTINGS | changes
    draw = random.Random(0)
    texts = [[draw.randrange(3, 40) for _ in range(draw.randrange(3, 14))] for _ in range(80)]
    pairs = [([*text, END], [BEGIN, *text[::-1], END]) for text in texts]
    torch.manual_seed(chosen["seed"])
    return Training(build(40, chosen), pairs, chosen, file, every=3)


def no_worse(model):
    """In the place of validation: a number that depends on the weights."""
    return {"loss": 1.0, "bleu": model.embedding.weight.abs().sum().item()}


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
    training.run(no_worse)


@pytest.fixture(scope="module")
def uninterrupted(tmp_path_factory):
    training = make_training(tmp_path_factory.mktemp("whole") / "checkpoint.pt")
    training.run(no_worse)
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
    training.run(no_worse)
    assert not list(tmp_path.glob("*.tmp"))
    timed = {"seconds": 0, "core_seconds": 0}
    mine, whole = (
        {
            "weights": run.model.state_dict(),
            "average": run.average(),
            "moments": run.optimizer.state_dict()["state"],
            "history": [row | timed for row in run.state["history"]],
        }
        for run in (training, uninterrupted)
    )
    torch.testing.assert_close(mine, whole, rtol=0, atol=0)


def test_a_finished_training_is_not_trained_again_and_keeps_its_settings(uninterrupted):
    again = make_training(uninterrupted.file)
    assert again.finished
    assert again.run(no_worse) == uninterrupted.state["history"]
    assert again.state["resumed"] == 0
    assert not list(uninterrupted.file.parent.glob("*.tmp"))
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


def test_it_stops_when_it_gets_no_better_and_keeps_the_best(tmp_path):
    training = make_training(tmp_path / "checkpoint.pt", epochs=9, patience=2)
    values, seen = iter([1.0, 5.0, 4.0, 5.0, 9.0]), []

    def validate(model):
        seen.append(model.embedding.weight.detach().clone())
        return {"loss": 0.0, "bleu": next(values)}

    history = training.run(validate)
    assert [row["bleu"] for row in history] == [1.0, 5.0, 4.0, 5.0]
    assert torch.equal(training.state["best"]["embedding.weight"], seen[1])
    torch.testing.assert_close(training.average()["embedding.weight"], (seen[2] + seen[3]) / 2)
    assert make_training(training.file, epochs=9, patience=2).finished


def test_a_loss_that_is_not_finite_is_an_error(tmp_path):
    training = make_training(tmp_path / "checkpoint.pt")
    with torch.no_grad():
        training.model.embedding.weight[5:] = torch.inf
    with pytest.raises(FloatingPointError, match="learning rate"):
        training.run(no_worse)
