"""A training of the translation benchmark, and the command, on a few sentences of our own."""

import json
import shutil
import sys

import pytest
import torch

from benchmarks import __main__ as command
from benchmarks import page, translation
from benchmarks.multi30k import Pairs
from benchmarks.subwords import encode_pairs, pad
from benchmarks.translation import Corpus, Translation
from utils.training import translation_loss

CPU = torch.device("cpu")
SETTINGS = {
    "vocab_size": 300, "embed_dim": 16, "num_heads": 2, "hidden_dim": 16, "num_layers": 1,
    "dropout": 0.1, "epochs": 3, "tokens": 128, "rate": 5e-3, "warmup": 0.1, "averaged": 2,
    "label_smoothing": 0.1, "patience": 5, "seed": 0, "dtype": "float32", "beams": 2,
    "length_penalty": 1.0, "model": "ours",
}  # fmt: skip


def make(data, folder, **changes):
    corpus = Corpus.prepare(data, SETTINGS["vocab_size"])
    return Translation(corpus, SETTINGS | changes, CPU, folder)


@pytest.mark.parametrize("name", ["ours", "torch.nn"])
def test_the_chosen_weights_are_those_with_the_higher_bleu(counted, sentences, tmp_path, name):
    task = make(sentences, tmp_path, model=name)
    task.training.run(task.validate)
    model, state = task.model, task.training.state
    best = state["best"]["embedding.weight"]

    def prefers_best(model):
        return {"loss": 0.5, "bleu": float(torch.equal(model.embedding.weight, best))}

    task.validate = prefers_best
    found = task.choose()
    assert found == {"weights": "the best epoch", "validation_loss": 0.5, "validation_bleu": 1.0}
    assert torch.equal(model.embedding.weight, best)
    task.validate = lambda m: {"bleu": -prefers_best(m)["bleu"]}
    assert task.choose()["weights"] == "the mean of the last 2"
    assert torch.equal(model.embedding.weight, task.training.average()["embedding.weight"])


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
    torch.manual_seed(5)
    model = translation.build(subwords.size, SETTINGS).double()
    for parameter in model.parameters():  # so that what it writes depends on what it reads
        torch.nn.init.normal_(parameter, std=0.6)
    together = translation.translate(model, subwords, pairs, beams, tokens=90)
    alone = [translation.translate(model, subwords, [pair], beams)[0] for pair in pairs]
    # Untrained, it does not stop: how much is written depends on the longest source of a batch.
    assert [text[:9] for text in together] == [text[:9] for text in alone]
    assert len({text[:9] for text in together}) > 3


@pytest.mark.slow
def test_a_quick_run_learns_measures_and_tells_no_sentence(
    multi30k_folder, sentences, counted, results, tmp_path, capfd
):
    asked = ["translation", "--quick", "--write", "--device", "cpu", "--threads", "1"]
    command.main([*asked, "--seeds", "2", "--folder", str(tmp_path / "run")])
    said = capfd.readouterr()
    found = (results / "translation-cpu.json").read_text(encoding="utf-8")
    shown = json.loads(found)
    assert shown["settings"]["signatures"]["bleu"] == "exact"
    assert shown["settings"]["pairs"] == {"train": 64, "validation": 14, "test": 14}
    assert shown["settings"]["quick"] is True
    assert shown["settings"]["seeds"] == 2
    assert shown["machine"]["threads"] == 1
    runs = [(seed, name) for seed in (0, 1) for name in ("ours", "torch.nn")]
    assert [(row["seed"], row["model"]) for row in shown["tables"]["test"]] == runs
    for seed, name in runs:
        of_run = [r for r in shown["tables"]["epochs"] if (r["seed"], r["model"]) == (seed, name)]
        assert [row["epoch"] for row in of_run] == [1, 2]
        assert of_run[-1]["loss"] < of_run[0]["loss"]
    assert [row["model"] for row in shown["tables"]["steps"]] == ["ours", "torch.nn"]
    text = page.PAGE.read_text(encoding="utf-8")
    files = list((tmp_path / "run").glob("*/checkpoint.pt"))
    assert len(files) == len(runs)
    checkpoints = [file.read_bytes().decode("latin-1") for file in files]
    for output in (said.out, said.err, found, text, *checkpoints):
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
    epochs, test = make(sentences, tmp_path).run()
    assert [size for size, _ in asked].count(11) == 1
    assert asked[-1] == (11, (SETTINGS["beams"], SETTINGS["length_penalty"]))
    assert len(epochs) == SETTINGS["epochs"]
    # Nor is it translated again where the same command is given once more.
    asked.clear()
    assert make(sentences, tmp_path).run() == (epochs, test)
    assert not asked
    assert test["train_resumed"] == 0
    # A test that is coded otherwise is made anew, and nothing is trained.
    monkeypatch.setattr(translation, "code_hash", lambda thing, *_: str(thing))
    monkeypatch.setattr(translation, "stamps", lambda *_: make_stamps)
    make_stamps = torch.load(tmp_path / "checkpoint.pt", weights_only=True)["settings"]
    again, other = make(sentences, tmp_path).run()
    assert again == epochs
    assert [size for size, _ in asked].count(11) == 1
    assert other["code"] != test["code"]
    assert other["bleu"] == test["bleu"]


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
    (tmp_path / "seed-1-ours").mkdir()
    (tmp_path / "seed-1-ours" / "checkpoint.pt").write_text("no checkpoint")
    with pytest.raises(SystemExit, match="no checkpoint"):
        command.main(asked)
    assert not (tmp_path / "seed-0-ours").exists(), "it is said before a long training"
    (multi30k_folder / "test.jsonl").write_text('{"en": "one", "fr": "un"}\n')
    with pytest.raises(SystemExit, match=r"test|Multi30k"):
        command.main(asked)


@pytest.mark.slow
def test_a_full_run_with_other_epochs_or_fewer_seeds_is_not_written(
    counted, multi30k_folder, results, tmp_path, capsys, monkeypatch
):
    monkeypatch.setitem(
        translation.SETTINGS, "cpu", translation.SETTINGS["cpu"] | translation.QUICK
    )
    asked = ["translation", "--device", "cpu", "--folder", str(tmp_path / "x"), "--seeds", "2"]
    for other in (["--epochs", "1"], []):
        shutil.rmtree(tmp_path / "x", ignore_errors=True)
        command.main([*asked, *other])
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


@pytest.mark.parametrize(
    ("option", "value", "message"),
    [
        ("--epochs", "-1", "at least one epoch"),
        ("--epochs", "0", "at least one epoch"),
        ("--threads", "-1", "one thread"),
        ("--seeds", "1", "one has no interval"),
    ],
)
def test_what_cannot_be_asked_for_is_refused(option, value, message, capsys):
    with pytest.raises(SystemExit):
        command.main(["translation", option, value])
    assert message in capsys.readouterr().err


def test_the_help_says_how_small_the_models_are(capsys):
    with pytest.raises(SystemExit):
        command.main(["--help"])
    said = " ".join(capsys.readouterr().out.split())
    assert "small Transformers" in said
    assert "full size" not in said
