"""Runs with several seeds: in turns, each kept by itself, gone on with and never mixed up."""

import pytest
import torch

from benchmarks import seeds, translation
from benchmarks.seeds import compare_models, compare_steps
from benchmarks.translation import Corpus, Translation

CPU = torch.device("cpu")
SETTINGS = {
    "vocab_size": 300, "embed_dim": 16, "num_heads": 2, "hidden_dim": 16, "num_layers": 1,
    "dropout": 0.1, "epochs": 2, "tokens": 256, "rate": 5e-3, "warmup": 0.1, "averaged": 2,
    "label_smoothing": 0.1, "patience": 5, "dtype": "float32", "beams": 2, "length_penalty": 1.0,
}  # fmt: skip
RUNS = [(0, "ours"), (0, "torch.nn"), (1, "ours"), (1, "torch.nn")]


def compare(data, folder):
    return compare_models(data, SETTINGS, CPU, folder, seeds=2, budget=0.0)


def without_times(table):
    return table[[name for name in table if not name.endswith("seconds")]]


@pytest.mark.slow
def test_a_run_alone_is_the_run_among_all(counted, sentences, tmp_path):
    tables, found = compare(sentences, tmp_path / "all")
    assert list(tables["test"][["seed", "model"]].itertuples(index=False, name=None)) == RUNS
    assert found["seeds"] == 2
    assert found["pairs"] == {"train": 80, "validation": 14, "test": 14}
    corpus = Corpus.prepare(sentences, SETTINGS["vocab_size"])
    for seed, name in ((1, "torch.nn"), (0, "ours")):
        chosen = SETTINGS | {"seed": seed, "model": name}
        epochs, _ = Translation(corpus, chosen, CPU, tmp_path / "alone" / name).run()
        table = tables["epochs"]
        mine = table[(table["seed"] == seed) & (table["model"] == name)]
        assert mine["train_loss"].tolist() == [row["train_loss"] for row in epochs]
        assert mine["loss"].tolist() == [row["loss"] for row in epochs]
    first = tables["epochs"].query("epoch == 1")["train_loss"]
    assert first.nunique() == 4, "every run has weights or dropout of its own"


@pytest.mark.slow
def test_what_was_stopped_between_or_within_runs_goes_on(counted, sentences, tmp_path, monkeypatch):
    expected, _ = compare(sentences, tmp_path / "whole")
    trained = []
    step = translation.Training._loss

    def counting(self, model, *batch):
        trained.append((self.settings["seed"], self.settings["model"]))
        if trained.count((1, "ours")) == 7 and len(set(trained)) == 3:
            raise KeyboardInterrupt
        return step(self, model, *batch)

    with monkeypatch.context() as patch:
        patch.setattr(translation.Training, "_loss", counting)
        patch.setattr(seeds, "Translation", often_saved)
        with pytest.raises(KeyboardInterrupt):
            compare(sentences, tmp_path / "stopped")
    trained.clear()
    monkeypatch.setattr(
        translation.Training, "_loss",
        lambda self, model, *batch: (
            trained.append((self.settings["seed"], self.settings["model"])),
            step(self, model, *batch),
        )[1],
    )  # fmt: skip
    found, _ = compare(sentences, tmp_path / "stopped")
    assert set(trained) == {(1, "ours"), (1, "torch.nn")}, "finished runs are not trained again"
    assert found["test"]["train_resumed"].tolist() == [0, 0, 1, 0]
    columns = ["seed", "model", "epoch", "train_loss", "loss", "bleu"]
    assert found["epochs"][columns].equals(expected["epochs"][columns])
    columns = ["seed", "model", "weights", "bleu", "chrf", "validation_loss"]
    assert found["test"][columns].equals(expected["test"][columns])


def often_saved(corpus, settings, device, folder):
    return Translation(corpus, settings, device, folder, every=3)


def test_one_that_does_not_fit_is_refused_before_any_is_trained(counted, sentences, tmp_path):
    folder = tmp_path / "seed-1-torch.nn"
    folder.mkdir()
    (folder / "checkpoint.pt").write_text("no checkpoint")
    with pytest.raises(ValueError, match=r"seed-1-torch.nn.*no checkpoint"):
        compare(sentences, tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["seed-1-torch.nn"]


def test_steps_of_both_are_timed_on_the_same_batches(sentences):
    corpus = Corpus.prepare(sentences, SETTINGS["vocab_size"])
    table = compare_steps(corpus, SETTINGS, CPU, budget=0.0, batches=2)
    assert table["model"].tolist() == ["ours", "torch.nn"]
    assert (table["ms_low"] <= table["ms"]).all()
    assert (table["ms"] <= table["ms_high"]).all()
    assert table["to_torch"].iloc[1] == 1
    assert table["to_torch"].iloc[0] > 0
