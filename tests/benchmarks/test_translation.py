"""Translation at full size, on a few sentences of our own."""

import json
import sys

import pandas as pd
import pytest
import torch

from benchmarks import __main__ as command
from benchmarks import page, translation
from benchmarks.multi30k import Pairs
from benchmarks.subwords import encode_pairs, pad
from benchmarks.translation import Translation
from utils.attention import MultiHeadAttention
from utils.training import translation_loss

CPU = torch.device("cpu")
SETTINGS = {
    "vocab_size": 300, "embed_dim": 16, "num_heads": 2, "hidden_dim": 16, "num_layers": 1,
    "dropout": 0.1, "epochs": 3, "tokens": 128, "rate": 5e-3, "warmup": 0.1, "averaged": 2,
    "label_smoothing": 0.1, "patience": 5, "seed": 0, "dtype": "float32", "beams": 2,
    "length_penalty": 1.0,
}  # fmt: skip


def make(data, folder, **changes):
    return Translation(data, SETTINGS | changes, CPU, folder)


def test_the_chosen_weights_are_those_with_the_higher_bleu(counted, sentences, tmp_path):
    task = make(sentences, tmp_path)
    task.run()
    model, state = task.model, task.training.state
    best = state["best"]["embedding.weight"]

    def prefers_best(model):
        return {"loss": 0.5, "bleu": float(torch.equal(model.embedding.weight, best))}

    found = translation.choose(model, task.training, prefers_best)
    assert found == {"weights": "the best epoch", "validation_loss": 0.5, "validation_bleu": 1.0}
    assert torch.equal(model.embedding.weight, best)
    found = translation.choose(model, task.training, lambda m: {"bleu": -prefers_best(m)["bleu"]})
    assert found["weights"] == "the mean of the last 2 epochs"
    assert torch.equal(model.embedding.weight, task.training.average()["embedding.weight"])


def test_every_attention_is_ours():
    chosen = translation.translation_settings(CPU)
    model = translation.build(50, chosen)
    layers = [m for name, m in model.named_modules() if name.endswith("mha")]
    assert len(layers) == 3 * chosen["num_layers"]
    assert all(type(layer) is MultiHeadAttention for layer in layers)
    assert not any("torch.nn.modules.activation" in str(type(m)) and "Multihead" in str(type(m))
                   for m in model.modules())  # fmt: skip


def test_the_mean_loss_is_that_of_all_tokens_at_once(subwords, sentences):
    pairs = encode_pairs(subwords, *sentences["validation"])
    torch.manual_seed(0)
    model = translation.build(subwords.size, SETTINGS).double().eval()
    with torch.no_grad():
        expected = translation_loss(model, *pad(pairs, range(len(pairs)))).item()
    assert translation.mean_loss(model, pairs, tokens=64) == pytest.approx(expected, rel=1e-9)


@pytest.mark.parametrize("beams", [1, 3])
def test_translations_come_in_the_order_of_the_sources(subwords, sentences, beams):
    pairs = encode_pairs(subwords, *sentences["validation"])
    torch.manual_seed(0)
    model = translation.build(subwords.size, SETTINGS).double()
    together = translation.translate(model, subwords, pairs, beams, tokens=90)
    alone = [translation.translate(model, subwords, [pair], beams)[0] for pair in pairs]
    # Untrained, it does not stop: how much is written depends on the longest source of a batch.
    assert [text[:9] for text in together] == [text[:9] for text in alone]
    assert len(set(together)) > 3


@pytest.mark.slow
def test_a_quick_run_learns_measures_and_tells_no_sentence(
    multi30k_folder, sentences, counted, results, tmp_path, capfd
):
    asked = ["translation", "--quick", "--write", "--device", "cpu", "--threads", "1"]
    command.main([*asked, "--folder", str(tmp_path / "run")])
    said = capfd.readouterr()
    found = (results / "translation-cpu.json").read_text(encoding="utf-8")
    shown = json.loads(found)
    assert shown["settings"]["signature"] == "exact"
    assert shown["settings"]["pairs"] == {"train": 64, "validation": 14, "test": 14}
    assert shown["settings"]["quick"] is True
    assert shown["machine"]["threads"] == 1
    losses = [row["loss"] for row in shown["tables"]["epochs"]]
    assert losses[-1] < losses[0]
    text = page.PAGE.read_text(encoding="utf-8")
    checkpoint = (tmp_path / "run" / "checkpoint.pt").read_bytes().decode("latin-1")
    for output in (said.out, said.err, found, text, checkpoint):
        for sentence in (s for pairs in sentences.values() for side in pairs for s in side):
            assert sentence[:-1] not in output


def test_the_vocabulary_is_made_of_the_training_split_alone(sentences, monkeypatch, tmp_path):
    seen = []

    def train(texts, size):
        seen.extend(texts)
        raise InterruptedError

    monkeypatch.setattr(translation.Subwords, "train", train)
    with pytest.raises(InterruptedError):
        make(sentences, tmp_path)
    assert seen == [*sentences["train"].source, *sentences["train"].target]


@pytest.mark.slow
def test_the_test_split_is_translated_once_after_the_training(
    counted, sentences, monkeypatch, tmp_path
):
    asked, translate = [], translation.translate

    def watched(model, subwords, pairs, *options):
        asked.append((len(pairs), options))
        return translate(model, subwords, pairs, *options)

    monkeypatch.setattr(translation, "translate", watched)
    sentences["test"] = Pairs(*(side[:11] for side in sentences["test"]))
    tables, _ = make(sentences, tmp_path).run()
    assert [size for size, _ in asked].count(11) == 1
    assert asked[-1] == (11, (SETTINGS["beams"], SETTINGS["length_penalty"]))
    assert len(tables["epochs"]) == SETTINGS["epochs"]


@pytest.mark.slow
def test_a_finished_training_is_only_tested_again(counted, sentences, tmp_path, capsys):
    first, settings = make(sentences, tmp_path).run()
    assert "only the test is run" not in capsys.readouterr().out
    again, settings_again = make(sentences, tmp_path).run()
    assert "only the test is run" in capsys.readouterr().out
    pd.testing.assert_frame_equal(first["epochs"], again["epochs"])
    assert settings == settings_again
    assert settings["resumed"] == 0


@pytest.mark.parametrize("other", ["data", "threads", "torch", "code"])
def test_a_checkpoint_of_other_data_threads_versions_or_code_is_refused(
    counted, sentences, tmp_path, monkeypatch, other
):
    make(sentences, tmp_path, epochs=1).run()
    if other == "data":
        sentences["validation"].target[0] = "Ein anderer Satz."
    elif other == "threads":
        monkeypatch.setattr(torch, "get_num_threads", lambda: 77)
    elif other == "torch":
        monkeypatch.setattr(torch, "__version__", "9.9")
    else:
        monkeypatch.setattr(translation, "code_hash", lambda *_: "other")
    with pytest.raises(ValueError, match=other):
        make(sentences, tmp_path, epochs=1)


def test_what_is_wrong_with_the_data_or_the_checkpoint_is_one_line(
    counted, multi30k_folder, results, tmp_path
):
    asked = ["translation", "--quick", "--device", "cpu", "--folder", str(tmp_path)]
    (tmp_path / "checkpoint.pt").write_text("no checkpoint")
    with pytest.raises(SystemExit, match="no checkpoint"):
        command.main(asked)
    (multi30k_folder / "test.jsonl").write_text('{"en": "one", "fr": "un"}\n')
    with pytest.raises(SystemExit, match=r"test|Multi30k"):
        command.main(asked)


@pytest.mark.slow
def test_a_full_run_with_other_epochs_is_not_written(
    counted, multi30k_folder, results, tmp_path, capsys, monkeypatch
):
    monkeypatch.setitem(
        translation.SETTINGS, "cpu", translation.SETTINGS["cpu"] | translation.QUICK
    )
    asked = ["--epochs", "1", "--device", "cpu", "--folder", str(tmp_path / "x")]
    command.main(["translation", *asked])
    assert "nothing is written" in capsys.readouterr().out
    assert not results.exists()


def test_without_sacrebleu_it_says_so_before_it_trains(
    multi30k_folder, results, monkeypatch, tmp_path
):
    monkeypatch.setitem(sys.modules, "sacrebleu", None)
    monkeypatch.setitem(sys.modules, "sacrebleu.metrics", None)
    with pytest.raises(SystemExit, match="sacrebleu"):
        command.main(["translation", "--quick", "--device", "cpu", "--folder", str(tmp_path / "x")])
    assert not (tmp_path / "x").exists()


def test_no_epochs_are_refused(capsys):
    with pytest.raises(SystemExit):
        command.main(["translation", "--epochs", "-1"])
    assert "at least one epoch" in capsys.readouterr().err
