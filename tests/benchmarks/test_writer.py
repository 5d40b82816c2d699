"""The writer: its training goes on after a stop; what is kept is as it says."""

import json
import math

import pytest
import torch

from benchmarks import __main__ as command
from benchmarks import writer
from benchmarks.compression import join_texts
from chapters.ch18_training import language_nats
from chapters.ch18_writer import load_writer

WORDS = ("head", "layer", "query", "key", "mask", "weight", "Größe")
CPU = torch.device("cpu")
TEXTS = {
    name: [
        f"The {a} of a {b} is what\nthe {a} of one {c} was before it.\n\n>>> {a}.{b}()"
        for a in WORDS
        for b in WORDS[:count]
        for c in WORDS[:most]
    ]
    for name, count, most in (("train", 5, 7), ("validation", 2, 3))
}
SETTINGS = writer.SETTINGS | writer.QUICK | {"dropout": 0.1, "length": 64}


@pytest.fixture(autouse=True)
def one_thread(monkeypatch):
    torch.set_num_threads(1)
    monkeypatch.setattr("utils.docstrings.writer_texts", lambda: TEXTS)


def make_task(folder, **changes):
    return writer.WriterTask(TEXTS, SETTINGS | changes, CPU, folder, every=4)


@pytest.fixture(scope="module")
def done(tmp_path_factory):
    """A task that has run, what it found, and its two files."""
    torch.set_num_threads(1)
    folder = tmp_path_factory.mktemp("writer")
    task = make_task(folder)
    found = task.run()
    return task, found, writer.save(found, task.model, folder)


def test_a_training_that_was_stopped_ends_with_the_same_weights(tmp_path, done):
    task = make_task(tmp_path)
    steps = task.training.steps // 2
    assert steps > 6, "enough steps for a middle"

    def stop(*_):
        if task.training.state["step"] == steps + 5:
            raise InterruptedError

    task.model.register_forward_pre_hook(stop)
    with pytest.raises(InterruptedError):
        task.training.run(task.validate)
    torch.rand(3)  # whatever is drawn before it goes on
    again = make_task(tmp_path)
    assert again.training.state["epoch"] == 2
    assert again.training.state["position"] > 0
    found = again.run()
    assert found["resumed"] == 1
    for name, weights in again.model.state_dict().items():
        assert torch.equal(weights, done[0].model.state_dict()[name]), name
    timed = {"seconds": 0}
    assert [row | timed for row in found["curve"]] == [row | timed for row in done[1]["curve"]]
    with pytest.raises(ValueError, match=r"\(rate\)"):
        make_task(tmp_path, rate=1e-4)


def test_what_is_kept_is_what_was_measured_and_how(done):
    task, found, (weights, file) = done
    kept = load_writer(weights.parent)
    assert not kept.model.training
    for name, value in kept.model.state_dict().items():
        assert value.dtype == torch.float32
        assert torch.equal(value, task.model.state_dict()[name]), "rounded before it was measured"
    assert kept.vocabulary.pieces == task.vocabulary.pieces
    recipe = json.loads(file.read_text(encoding="utf-8"))
    assert kept.recipe == recipe
    ids = kept.vocabulary.encode_all(TEXTS["validation"])
    nats = language_nats(kept.model, ids, SETTINGS["length"])
    size = len(join_texts(TEXTS["validation"]).encode())
    assert recipe["bytes"]["validation"] == size
    bits = nats / math.log(2) / size
    assert bits == pytest.approx(found["bits_per_byte"]["model"], rel=1e-5)
    assert weights.stat().st_size < 2.2 * found["parameters"] + 8000, "two bytes a number"
    assert {"model", "1-gram", "2-gram", "3-gram", "lzma"} == {*recipe["bits_per_byte"]}
    assert recipe["curve"][1]["bits_per_byte"] < recipe["curve"][0]["bits_per_byte"]
    assert all(row["text"] for row in recipe["samples"])


def test_other_weights_than_the_recipe_says_are_refused(done, tmp_path):
    with pytest.raises(RuntimeError, match="make train-writer"):
        load_writer(tmp_path)
    weights, recipe = done[2]
    (tmp_path / recipe.name).write_bytes(recipe.read_bytes())
    (tmp_path / weights.name).write_bytes(weights.read_bytes()[:-1] + b"?")
    with pytest.raises(RuntimeError, match="not what 18-writer"):
        load_writer(tmp_path)


@pytest.mark.slow
def test_the_command_trains_once_and_keeps_what_was_measured(tmp_path, capsys):
    call = ["writer", "--quick", "--device", "cpu", "--threads", "1", "--folder", str(tmp_path)]
    file = tmp_path / "18-writer.safetensors"
    command.main(call)
    first = file.read_bytes()
    command.main(call)
    assert "finished training" in capsys.readouterr().out
    assert file.read_bytes() == first
