"""The layer whose heads are shown: its sentences, its training, what is kept of it."""

import json

import pytest
import torch

from benchmarks import __main__ as command
from benchmarks import heads
from utils.data import BytePairs
from utils.models import load_gap_filler

WORDS = ("head", "layer", "query", "key", "mask", "weight", "Größe")
TEXTS = {
    name: [
        f"The {a} of a {b} is what\nthe {a} of one {c} was before it.\n\n>>> {a}.{b}()"
        for a in WORDS
        for b in WORDS[:count]
        for c in WORDS
    ]
    for name, count in (("train", 5), ("validation", 2))
}
SETTINGS = heads.SETTINGS | heads.QUICK


@pytest.fixture(autouse=True)
def one_thread():
    torch.set_num_threads(1)


def test_sentences_are_english_and_stand_once():
    text = (
        "Return the mean of all values,\nweighted or not. Parameters: x.\n\n"
        "Parameters\n----------\nx : array\n    Its `mean` is what this function gives back.\n\n"
        ">>> x = [1, 2]\n\nReturn the mean of all values, weighted or not."
    )
    assert heads.sentences([text]) == [" return the mean of all values, weighted or not."]
    assert len(heads.sentences(TEXTS["train"], 3)) == 3


def test_what_is_kept_is_what_was_measured(monkeypatch, tmp_path, capsys):
    monkeypatch.setattr("utils.data.writer_texts", lambda: TEXTS)
    command.main(["heads", "--quick", "--folder", str(tmp_path)])
    assert f"Written: {tmp_path / '04-heads.safetensors'}" in capsys.readouterr().out
    kept = load_gap_filler(tmp_path)
    model, found = heads.train(TEXTS, SETTINGS)
    for name, value in model.state_dict().items():
        assert torch.equal(value, kept.model.state_dict()[name]), "the same twice"
    recipe = json.loads((tmp_path / "04-heads.json").read_text(encoding="utf-8"))
    assert recipe["command"] == "python -m benchmarks heads"
    assert recipe["looks_at"] == found["looks_at"]
    ids = kept.vocabulary.encode_all(heads.sentences(TEXTS["validation"]))
    assert heads.measure(kept.model, ids, SETTINGS)["looks_at"] == found["looks_at"]
    assert {"seed", "data", "torch", "code", "rate"} <= {*recipe["settings"]}


def test_without_a_query_a_head_looks_evenly_at_all():
    model, _ = heads.train(TEXTS, SETTINGS | {"steps": 1})
    with torch.no_grad():
        for parameter in model.mha.q_proj.parameters():
            parameter.zero_()
    vocabulary = BytePairs.learn(heads.sentences(TEXTS["train"]), SETTINGS["vocab_size"])
    ids = vocabulary.encode_all(heads.sentences(TEXTS["validation"]))
    others = SETTINGS["length"] - 1
    for looks in heads.measure(model, ids, SETTINGS)["looks_at"]:
        assert [*looks] == [*heads.PLACES]
        assert looks["the token before"] == pytest.approx(1 / others)
        assert looks["two tokens on either side"] == pytest.approx(4 / others)
        assert looks[heads.SAME] >= 1 / others


@pytest.mark.parametrize(
    ("shares", "called"),
    [
        ((0.6, 0.1, 0.9), ("the token before", 0.6)),
        ((0.3, 0.4, 0.7), ("both neighbours", 0.7)),
        ((0.2, 0.1, 0.3), ("both neighbours", 0.3)),
    ],
)
def test_a_head_is_called_after_the_narrowest_place_that_has_half(shares, called):
    names = ("the token before", "the token after", "both neighbours")
    assert heads.call(dict(zip(names, shares, strict=True))) == called
