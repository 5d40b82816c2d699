"""The writer: what is kept is what was trained and measured."""

import json
import math

import pytest
import torch

from benchmarks import writer
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


@pytest.fixture(scope="module")
def kept(tmp_path_factory):
    """A model that was trained, what was found, and its two files."""
    torch.set_num_threads(1)
    model, recipe = writer.train(TEXTS, writer.QUICK, CPU)
    return model, recipe, writer.save(model, recipe, tmp_path_factory.mktemp("writer"))


def test_what_is_kept_is_what_was_measured(kept):
    model, recipe, (weights, file) = kept
    found = load_writer(weights.parent)
    assert not found.model.training
    for name, value in found.model.state_dict().items():
        assert value.dtype == torch.float32
        assert torch.equal(value, model.state_dict()[name]), "rounded before it was measured"
    assert json.loads(file.read_text(encoding="utf-8")) == found.recipe
    assert found.recipe["curve"] == recipe["curve"]
    ids = found.vocabulary.encode_all(TEXTS["validation"])
    size = len("".join(f"{text}\0" for text in TEXTS["validation"]).encode())
    assert recipe["bytes"]["validation"] == size
    bits = language_nats(found.model, ids, writer.QUICK["length"]) / math.log(2) / size
    assert bits == pytest.approx(recipe["curve"][-1]["bits_per_byte"], rel=1e-5)
    assert recipe["curve"][1]["bits_per_byte"] < recipe["curve"][0]["bits_per_byte"]
    assert recipe["curve"][1]["step"] == 2 * recipe["curve"][0]["step"]
    assert weights.stat().st_size < 2.2 * recipe["parameters"] + 8000, "two bytes a number"
    assert all(row["text"] for row in recipe["samples"])


def test_a_loss_that_is_not_finite_ends_the_training():
    with pytest.raises(RuntimeError, match="non-finite"):
        writer.train(TEXTS, writer.QUICK | {"rate": math.inf}, CPU)


def test_other_weights_than_the_recipe_says_are_refused(kept, tmp_path):
    with pytest.raises(RuntimeError, match="make train-writer"):
        load_writer(tmp_path)
    weights, recipe = kept[2]
    (tmp_path / recipe.name).write_bytes(recipe.read_bytes())
    (tmp_path / weights.name).write_bytes(weights.read_bytes()[:-1] + b"?")
    with pytest.raises(RuntimeError, match="not what 18-writer"):
        load_writer(tmp_path)
