"""The writer's training goes on after a stop; what it keeps can be loaded, and is as it says."""

import json
import math

import pytest
import torch

from benchmarks import __main__ as command
from benchmarks import writer
from utils.data import BytePairs, longest_copy
from utils.models import join_texts, load_writer
from utils.training import language_nats

WORDS = ("head", "layer", "query", "key", "mask", "weight", "Größe")
CPU = torch.device("cpu")
TEXTS = {
    "train": [
        f"The {a} of a {b}.\n\nParameters\n----------\n{a} : int\n    Its {b}, and {i}.\n"
        for i, a in enumerate(WORDS)
        for b in WORDS[:5]
    ],
    "validation": [f"A {a} and its {a}.\n\nReturns\n-------\n{a} : float" for a in WORDS],
}
SETTINGS = writer.SETTINGS | writer.QUICK | {"dropout": 0.1, "length": 16}


def make_task(folder, every=4, **changes):
    torch.set_num_threads(1)
    return writer.WriterTask(TEXTS, SETTINGS | changes, CPU, folder, every)


@pytest.fixture(scope="module")
def done(tmp_path_factory):
    """A task that has run, what it found, and its two files."""
    folder = tmp_path_factory.mktemp("writer")
    task = make_task(folder)
    found = task.run()
    return task, found, writer.save(found, task.model, folder)


class StoppedError(Exception):
    """In the place of a kill."""


def test_a_training_that_was_stopped_ends_with_the_same_weights(tmp_path, done):
    task = make_task(tmp_path)
    steps = task.training.steps // 2
    assert steps > 6, "enough steps for a middle"

    def stop(*_):
        if task.training.state["step"] == steps + 5:
            raise StoppedError

    task.model.register_forward_pre_hook(stop)
    with pytest.raises(StoppedError):
        task.training.run(task.validate)
    torch.rand(3)  # whatever is drawn before it goes on
    again = make_task(tmp_path)
    assert again.training.state["epoch"] == 2
    assert again.training.state["position"] > 0
    found = again.run()
    assert found["resumed"] == 1
    for name, weights in again.model.state_dict().items():
        assert torch.equal(weights, done[0].model.state_dict()[name]), name
    numbers = ("train_loss", "loss", "bits_per_byte", "step")
    for mine, other in zip(found["curve"], done[1]["curve"], strict=True):
        assert all(mine[key] == other[key] for key in numbers)


def test_what_is_kept_is_what_was_measured(done):
    task, found, (weights, recipe) = done
    kept = load_writer(weights.parent)
    assert not kept.model.training
    for name, value in kept.model.state_dict().items():
        assert value.dtype == torch.float32
        assert torch.equal(value, task.model.state_dict()[name]), "rounded before it was measured"
    assert kept.vocabulary.pieces == task.vocabulary.pieces
    assert kept.recipe == json.loads(recipe.read_text(encoding="utf-8"))
    ids = kept.vocabulary.encode_all(TEXTS["validation"])
    nats = language_nats(kept.model, ids, SETTINGS["length"])
    bits = nats / math.log(2) / len(join_texts(TEXTS["validation"]).encode())
    assert bits == pytest.approx(found["bits_per_byte"]["model"], rel=1e-5)
    assert weights.stat().st_size < 2.2 * found["parameters"] + 8000, "two bytes a number"
    lines = recipe.read_text(encoding="utf-8").splitlines()
    assert [line for line in lines if line.startswith(' "merges": [[')], "on one line"


def test_the_recipe_says_all_that_the_weights_depend_on(done):
    recipe = done[1]
    assert {"seed", "data", "torch", "code", "threads", "length", "rate"} <= {*recipe["settings"]}
    assert {"model", "1-gram", "2-gram", "3-gram", "lzma"} == {*recipe["bits_per_byte"]}
    assert all(0 < bits < 9 for bits in recipe["bits_per_byte"].values())
    assert [row["epoch"] for row in recipe["curve"]] == [1, 2]
    assert recipe["curve"][1]["bits_per_byte"] < recipe["curve"][0]["bits_per_byte"]
    assert recipe["bytes"]["validation"] == len(join_texts(TEXTS["validation"]).encode())
    for row in recipe["samples"]:
        assert row["longest_copy"] == len(longest_copy(row["text"], TEXTS["train"]))
    assert "Bits a byte: model" in "\n".join(writer.sentences(recipe))


def test_other_weights_than_the_recipe_says_are_refused(done, tmp_path):
    files = done[2]
    copies = [tmp_path / file.name for file in files]
    with pytest.raises(RuntimeError, match="make train-writer"):
        load_writer(tmp_path)
    for file, copy in zip(files, copies, strict=True):
        copy.write_bytes(file.read_bytes())
    load_writer(tmp_path)
    content = bytearray(copies[0].read_bytes())
    content[-1] ^= 1
    copies[0].write_bytes(content)
    with pytest.raises(RuntimeError, match="not what 18-writer"):
        load_writer(tmp_path)


def test_other_settings_are_refused(done):
    with pytest.raises(ValueError, match=r"\(rate\)"):
        make_task(done[2][0].parent, rate=1e-4)


def test_the_command_trains_and_keeps(monkeypatch, tmp_path, capsys):
    monkeypatch.setattr("utils.data.writer_texts", lambda: TEXTS)
    call = ["writer", "--quick", "--device", "cpu", "--threads", "1", "--folder", str(tmp_path)]
    command.main(call)
    assert f"Written: {tmp_path / '18-writer.safetensors'}" in capsys.readouterr().out
    first = (tmp_path / "18-writer.safetensors").read_bytes()
    command.main(call)
    assert "finished training" in capsys.readouterr().out
    assert (tmp_path / "18-writer.safetensors").read_bytes() == first
    assert len(load_writer(tmp_path).vocabulary) == 300


def test_the_recipe_keeps_its_promises():
    sizes = {name: writer.SETTINGS[name] for name in writer.SIZES}
    parameters = sum(weights.numel() for weights in writer.build(writer.SETTINGS).parameters())
    assert 1_000_000 <= parameters <= 2_500_000, "at most 5 MB as float16"
    assert sizes["num_kv_heads"] < sizes["num_heads"]
    assert writer.SETTINGS["orders"] == 5
    assert len(BytePairs()) < sizes["vocab_size"] <= 4096, "five tokens fit into 63 bits"
