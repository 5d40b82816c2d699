"""The translation benchmark, on a few sentences of our own: two models, several seeds, one test."""

import json
import sys
from itertools import product

import pytest
import torch

from benchmarks import __main__ as command
from benchmarks import page, seeds, translation
from benchmarks.multi30k import Pairs
from benchmarks.seeds import compare_models
from benchmarks.subwords import encode_pairs, pad
from benchmarks.translation import Corpus, Translation
from benchmarks.translators import as_ours, build
from chapters.ch17_training import translation_loss
from utils.attention import MultiHeadAttention

CPU = torch.device("cpu")
SETTINGS = {
    "vocab_size": 300, "embed_dim": 16, "num_heads": 2, "hidden_dim": 16, "num_layers": 1,
    "dropout": 0.1, "epochs": 2, "tokens": 256, "rate": 5e-3, "warmup": 0.1, "averaged": 2,
    "label_smoothing": 0.1, "patience": 5, "seed": 0, "dtype": "float32", "beams": 2,
    "length_penalty": 1.0, "model": "ours",
}  # fmt: skip
RUNS = list(product(range(2), ("ours", "torch.nn")))


def make(data, folder, **changes):
    corpus = Corpus.prepare(data, SETTINGS["vocab_size"])
    return Translation(corpus, SETTINGS | changes, CPU, folder)


def both(dropout=0.0):
    """Ours and PyTorch's, begun with one seed."""
    found = []
    for name in ("ours", "torch.nn"):
        torch.manual_seed(7)
        found.append(build(300, SETTINGS | {"dropout": dropout, "num_layers": 2}, name))
    return found


@pytest.fixture
def batch(subwords, sentences):
    return pad(encode_pairs(subwords, *sentences["validation"]), range(9))


def test_every_attention_of_ours_is_ours_and_none_of_the_peers():
    chosen = translation.translation_settings(CPU)
    kinds = (MultiHeadAttention, torch.nn.MultiheadAttention)
    for name, counts in (("ours", [9, 0]), ("torch.nn", [0, 9])):
        modules = list(build(50, chosen, name).modules())
        assert [sum(isinstance(m, kind) for m in modules) for kind in kinds] == counts


def test_with_one_seed_both_begin_with_the_same_function(batch):
    models = ours, peer = [model.double() for model in both()]
    assert batch[0].eq(ours.padding_idx).any()
    losses = [translation_loss(model, *batch, 0.1) for model in models]
    torch.testing.assert_close(*losses, rtol=1e-12, atol=0)
    for loss in losses:
        loss.backward()
    torch.testing.assert_close(ours.embedding.weight.grad, peer.embedding.weight.grad)
    lengths = [sum(p.grad.pow(2).sum() for p in model.parameters()).sqrt() for model in models]
    torch.testing.assert_close(*lengths, rtol=1e-10, atol=0)
    source, target = batch
    other, longer = target.clone(), torch.nn.functional.pad(source, (0, 3), value=ours.padding_idx)
    other[:, 5:] = 9
    for model in models:  # what is yet to come and what is padding is not read
        expected = model.eval()(source, target)
        torch.testing.assert_close(model(source, other)[:, :5], expected[:, :5])
        torch.testing.assert_close(model(longer, target), expected)


def test_both_drop_at_the_same_places(batch):
    """If one dropped anywhere else, the noise of its outputs would have another size."""
    spreads = []
    for model in both(dropout=0.3):
        attention = [m.dropout for m in model.modules() if hasattr(m, "num_heads")]
        assert attention == [0.3] * 6
        with torch.no_grad():
            torch.manual_seed(1)
            outputs = torch.stack([model.train()(*batch) for _ in range(60)])
        spreads.append(outputs.std(0).mean().item())
    assert spreads[0] == pytest.approx(spreads[1], rel=0.03)


def test_the_weights_of_the_peer_write_with_ours(batch):
    _, peer = both()
    with torch.no_grad():
        for parameter in peer.parameters():
            parameter.add_(0.1 * torch.randn_like(parameter))
    state = torch.get_rng_state()
    ours = as_ours(peer)
    assert torch.equal(torch.get_rng_state(), state), "no random number is used up"
    torch.testing.assert_close(ours.eval()(*batch), peer.eval()(*batch), rtol=1e-4, atol=1e-5)
    assert as_ours(ours) is ours
    before = ours.embedding.weight.clone()
    with torch.no_grad():
        peer.embedding.weight.zero_()
    assert torch.equal(ours.embedding.weight, before), "a copy"


def test_batches_change_neither_the_mean_loss_nor_the_order(subwords, sentences):
    pairs = encode_pairs(subwords, *sentences["validation"])
    torch.manual_seed(5)
    model = build(subwords.size, SETTINGS).double().eval()
    with torch.no_grad():
        expected = translation_loss(model, *pad(pairs, range(len(pairs)))).item()
    assert translation.mean_loss(model, pairs, tokens=64) == pytest.approx(expected, rel=1e-9)
    for parameter in model.parameters():  # so that what it writes depends on what it reads
        torch.nn.init.normal_(parameter, std=0.6)
    together = translation.translate(model, subwords, pairs, 3, tokens=90)
    alone = [translation.translate(model, subwords, [pair], 3)[0] for pair in pairs]
    # Untrained, it does not stop: how much is written depends on the longest source of a batch.
    assert [text[:9] for text in together] == [text[:9] for text in alone]
    assert len({text[:9] for text in together}) > 3


def test_the_vocabulary_is_made_of_the_training_split_alone(sentences, subwords):
    corpus = Corpus.prepare(sentences | {"test": Pairs(["zzzz"] * 9, ["zzzz"] * 9)}, 300)
    assert corpus.subwords.tokenizer.to_str() == subwords.tokenizer.to_str()


@pytest.mark.slow
def test_the_test_split_is_translated_once_with_the_better_weights(
    counted, sentences, monkeypatch, tmp_path
):
    asked, translate = [], translation.translate

    def watched(model, subwords, pairs, *options):
        asked.append((len(pairs), options))
        return translate(model, subwords, pairs, *options)

    monkeypatch.setattr(translation, "translate", watched)
    sentences["test"] = Pairs(*(side[:11] for side in sentences["test"]))
    task = make(sentences, tmp_path, model="torch.nn")
    epochs, test = task.run()
    assert [size for size, _ in asked].count(11) == 1
    assert asked[-1] == (11, (SETTINGS["beams"], SETTINGS["length_penalty"]))
    # Nor is it translated again where the same command is given once more.
    asked.clear()
    again = make(sentences, tmp_path, model="torch.nn")
    assert again.run() == (epochs, test)
    assert not asked
    # The weights are those with the higher BLEU on validation.
    model, best = task.model, task.training.state["best"]["embedding.weight"]
    mean = task.training.average()["embedding.weight"]
    for sign, chosen, name in ((1, best, "the best epoch"), (-1, mean, "the mean of the last 2")):

        def prefers(model, sign=sign):
            return {"bleu": sign * float(torch.equal(model.embedding.weight, best))}

        task.validate = prefers
        assert task.choose()["weights"] == name
        assert torch.equal(model.embedding.weight, chosen)


def compare(data, folder):
    return compare_models(data, SETTINGS, CPU, folder, seeds=2, budget=0.0)


@pytest.mark.slow
def test_what_was_stopped_between_or_within_runs_goes_on(counted, sentences, tmp_path, monkeypatch):
    expected, _ = compare(sentences, tmp_path / "whole")
    assert expected["epochs"].query("epoch == 1")["train_loss"].nunique() == 4, "own weights"
    assert expected["steps"]["to_torch"].iloc[1] == 1
    trained, step = [], translation.Training._loss

    def counting(self, model, *batch):
        trained.append((self.settings["seed"], self.settings["model"]))
        if trained.count((1, "ours")) == 7 and len(set(trained)) == 3:
            raise KeyboardInterrupt
        return step(self, model, *batch)

    monkeypatch.setattr(translation.Training, "_loss", counting)
    monkeypatch.setattr(seeds, "Translation", lambda *given: Translation(*given, every=3))
    with pytest.raises(KeyboardInterrupt):
        compare(sentences, tmp_path / "stopped")
    trained.clear()
    found, _ = compare(sentences, tmp_path / "stopped")
    assert set(trained) == {*RUNS[2:]}, "finished runs are not trained again"
    assert found["test"]["train_resumed"].tolist() == [0, 0, 1, 0]
    for name, columns in (
        ("epochs", ["seed", "model", "epoch", "train_loss", "loss", "bleu"]),
        ("test", ["seed", "model", "weights", "bleu", "chrf", "validation_loss"]),
    ):
        assert found[name][columns].equals(expected[name][columns])


@pytest.mark.slow
def test_a_quick_run_learns_measures_and_tells_no_sentence(
    multi30k_folder, sentences, counted, results, tmp_path, capfd
):
    asked = ["translation", "--quick", "--write", "--device", "cpu", "--threads", "1"]
    command.main([*asked, "--seeds", "2", "--folder", str(tmp_path / "run")])
    said = capfd.readouterr()
    found = (results / "translation-cpu.json").read_text(encoding="utf-8")
    shown = json.loads(found)
    assert shown["settings"]["pairs"] == {"train": 64, "validation": 14, "test": 14}
    assert (shown["settings"]["seeds"], shown["machine"]["threads"]) == (2, 1)
    assert [(row["seed"], row["model"]) for row in shown["tables"]["test"]] == RUNS
    for run in RUNS:
        rows = [r for r in shown["tables"]["epochs"] if (r["seed"], r["model"]) == run]
        assert [row["epoch"] for row in rows] == [1, 2]
        assert rows[-1]["loss"] < rows[0]["loss"]
    text = page.PAGE.read_text(encoding="utf-8")
    files = list((tmp_path / "run").glob("*/checkpoint.pt"))
    assert len(files) == len(RUNS)
    checkpoints = [file.read_bytes().decode("latin-1") for file in files]
    for output in (said.out, said.err, found, text, *checkpoints):
        for sentence in (s for pairs in sentences.values() for side in pairs for s in side):
            assert sentence[:-1] not in output


def test_a_checkpoint_of_other_data_threads_versions_or_code_is_refused(
    sentences, tmp_path, monkeypatch
):
    make(sentences, tmp_path).training.save()
    for word, thing, name, other in (
        ("threads", torch, "get_num_threads", lambda: 77),
        ("torch", torch, "__version__", "9.9"),
        ("code", translation, "code_hash", lambda *_: "other"),
    ):
        with monkeypatch.context() as patch:
            patch.setattr(thing, name, other)
            with pytest.raises(ValueError, match=rf"checkpoint\.pt .*\({word}\)"):
                make(sentences, tmp_path)
    sentences["validation"].target[0] = "Ein anderer Satz."
    with pytest.raises(ValueError, match="data"):
        make(sentences, tmp_path)


def test_what_is_wrong_or_missing_is_one_line_before_a_long_training(
    counted, multi30k_folder, results, tmp_path, monkeypatch
):
    asked = ["translation", "--quick", "--device", "cpu", "--folder", str(tmp_path / "run")]
    (tmp_path / "run" / "seed-1-ours").mkdir(parents=True)
    (tmp_path / "run" / "seed-1-ours" / "checkpoint.pt").write_text("no checkpoint")
    with pytest.raises(SystemExit, match=r"seed-1-ours.*no checkpoint"):
        command.main(asked)
    (multi30k_folder / "test.jsonl").write_text('{"en": "one", "fr": "un"}\n')
    with pytest.raises(SystemExit, match=r"test|Multi30k"):
        command.main(asked)
    monkeypatch.undo()
    monkeypatch.setitem(sys.modules, "sacrebleu", None)
    monkeypatch.setitem(sys.modules, "sacrebleu.metrics", None)
    with pytest.raises(SystemExit, match="sacrebleu"):
        command.main(asked)
    assert [path.name for path in (tmp_path / "run").iterdir()] == ["seed-1-ours"]
