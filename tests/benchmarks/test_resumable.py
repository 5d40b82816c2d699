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
from utils.data import BEGIN, END

ROOT = Path(__file__).resolve().parents[2]
SETTINGS = {
    "vocab_size": 300, "embed_dim": 16, "num_heads": 2, "hidden_dim": 16, "num_layers": 1,
    "dropout": 0.1, "epochs": 3, "tokens": 128, "rate": 5e-3, "warmup": 0.1, "averaged": 2,
    "label_smoothing": 0.1, "patience": 5, "seed": 0, "dtype": "float32", "beams": 2,
    "length_penalty": 1.0,
}  # fmt: skip


def make_training(file, every=3, **changes):
    """A training on 80 pairs of numbers, new or gone on with: to write backwards what is read."""
    torch.set_num_threads(1)
    chosen = SETTINGS | changes
    draw = random.Random(0)
    texts = [[draw.randrange(3, 40) for _ in range(draw.randrange(3, 14))] for _ in range(80)]
    pairs = [([*text, END], [BEGIN, *text[::-1], END]) for text in texts]
    torch.manual_seed(chosen["seed"])
    model = build(40, chosen)
    return Training(model, pairs, chosen, file, every)


def no_worse(model):
    """In the place of validation: a number that depends on the weights."""
    return {"loss": 1.0, "bleu": model.embedding.weight.abs().sum().item()}


def run_and_die(file, when):
    """Train in this process, and be killed in the middle of the second epoch."""
    training = make_training(Path(file))
    save, steps = torch.save, training.steps // 3
    assert steps > 6, "enough steps for a middle"

    def killed_in_a_step(*_):
        if training.state["step"] == steps + 5:
            os.kill(os.getpid(), signal.SIGKILL)

    def killed_while_writing(everything, half):
        if everything["step"] > steps + 3:
            save(everything, half)
            half.write_bytes(half.read_bytes()[:1000])
            os.kill(os.getpid(), signal.SIGKILL)
        save(everything, half)

    if when == "in a step":
        training.model.register_forward_pre_hook(killed_in_a_step)
    else:
        torch.save = killed_while_writing
    training.run(no_worse)


def start_and_be_killed(file, when):
    """Run ``run_and_die`` of this module in a process of its own."""
    code = (
        "import importlib.util as u; "
        f"spec = u.spec_from_file_location('test', {__file__!r}); "
        "test = u.module_from_spec(spec); spec.loader.exec_module(test); "
        f"test.run_and_die({str(file)!r}, {when!r})"
    )
    return subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True,
        env=os.environ | {"PYTHONPATH": str(ROOT)},
    )  # fmt: skip


@pytest.fixture(scope="module")
def uninterrupted(tmp_path_factory):
    training = make_training(tmp_path_factory.mktemp("whole") / "checkpoint.pt")
    training.run(no_worse)
    return training


@pytest.mark.slow
@pytest.mark.parametrize("when", ["in a step", "while writing"])
def test_a_killed_training_goes_on_with_nothing_lost(tmp_path, uninterrupted, when):
    file = tmp_path / "checkpoint.pt"
    killed = start_and_be_killed(file, when)
    assert killed.returncode == -signal.SIGKILL, killed.stderr
    left = list(tmp_path.glob("*.tmp"))
    assert bool(left) == (when == "while writing")
    torch.rand(7)  # whatever the process that goes on has drawn before
    training = make_training(file)
    assert training.state["epoch"] == 2
    assert training.state["position"] > 0, "in the middle of an epoch"
    assert training.state["resumed"] == 1
    training.run(no_worse)
    assert not list(tmp_path.glob("*.tmp"))
    whole = uninterrupted.model.state_dict()
    for name, weights in training.model.state_dict().items():
        assert torch.equal(weights, whole[name]), name
    for mine, other in zip(training.state["history"], uninterrupted.state["history"], strict=True):
        for key in ("epoch", "step", "train_loss", "bleu"):
            assert mine[key] == other[key]
    for name, weights in training.average().items():
        assert torch.equal(weights, uninterrupted.average()[name])
    moments = [t.optimizer.state_dict()["state"] for t in (training, uninterrupted)]
    for index, values in moments[0].items():
        for key, value in values.items():
            assert torch.equal(value, moments[1][index][key])


def test_dropout_is_on_so_that_the_random_state_matters(tmp_path, uninterrupted):
    training = make_training(tmp_path / "checkpoint.pt")
    torch.rand(1)
    training.run(no_worse)
    name = "embedding.weight"
    ours, whole = training.model.state_dict()[name], uninterrupted.model.state_dict()[name]
    assert not torch.equal(ours, whole)


def test_a_finished_training_is_not_trained_again(uninterrupted):
    again = make_training(uninterrupted.file)
    assert again.finished
    assert again.run(no_worse) == uninterrupted.state["history"]
    assert again.state["resumed"] == 0
    assert not list(uninterrupted.file.parent.glob("*.tmp"))


def test_other_settings_are_refused(uninterrupted):
    with pytest.raises(ValueError, match=r"\(rate, seed\)"):
        make_training(uninterrupted.file, rate=1e-3, seed=1)


class Trap:
    """An object that does something when it is unpickled."""

    def __init__(self, file):
        self.file = file

    def __reduce__(self):
        return Path.touch, (self.file,)


def test_no_object_is_unpickled(tmp_path):
    file, sprung = tmp_path / "checkpoint.pt", tmp_path / "sprung"
    torch.save({"settings": SETTINGS, "trap": Trap(sprung)}, file)
    with pytest.raises(ValueError, match="no checkpoint"):
        make_training(file)
    assert not sprung.exists()


def test_a_file_that_is_no_checkpoint_is_refused(tmp_path):
    (tmp_path / "checkpoint.pt").write_text("half a file")
    with pytest.raises(ValueError, match="no checkpoint"):
        make_training(tmp_path / "checkpoint.pt")


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
