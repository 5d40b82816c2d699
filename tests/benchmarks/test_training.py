"""Five ways to compute a layer train to the same losses, and what is reported is what happened."""

import math
from functools import partial

import pytest
import torch
from datasets import Dataset, DatasetDict

from benchmarks import documents as documents_module
from benchmarks.documents import Documents, load_documents
from benchmarks.precision import largest_difference
from benchmarks.screen import training_notes, training_table
from benchmarks.steps import step_memory
from benchmarks.variants import VARIANTS, build
from utils.costs import kept_bytes, multiply_adds
from utils.memory import COUNT_ANEW
from utils.tokens import make_dataloader, train_tokenizer

CPU = torch.device("cpu")
VOCAB, EPOCHS, SLOW, STEPS = 50, 4, 2, 3  # of the fixture ``documents``


def test_all_ways_but_the_floor_start_as_the_same_function():
    ids = torch.randint(VOCAB, (4, 12), generator=torch.Generator().manual_seed(1))
    ids[:, 0] = 7
    ids[0, 5:] = 0  # padding is a token as any other
    models = {name: build(name, VOCAB, 5, CPU) for name in VARIANTS}
    expected = models["torch"](ids)
    assert not torch.allclose(models.pop("floor")(ids), expected), "the floor is another"
    for model in models.values():
        torch.testing.assert_close(model(ids), expected)


def test_the_bag_has_the_gradients_of_the_sequence_and_is_a_bag():
    ids = torch.randint(VOCAB, (4, 12), generator=torch.Generator().manual_seed(1))
    ids[:, 0] = 7
    gradients = {}
    for name in ("ours", "bag"):
        model = build(name, VOCAB, 5, CPU)
        model(ids).square().sum().backward()
        gradients[name] = {key: value.grad for key, value in model.named_parameters()}
    assert gradients["bag"].keys() == gradients["ours"].keys()
    for key, expected in gradients["ours"].items():
        if "k_proj.bias" not in key:  # the bag leaves it out: its gradient is zero
            torch.testing.assert_close(gradients["bag"][key], expected, rtol=1e-4, atol=1e-6)
    order = torch.cat([torch.zeros(1, dtype=torch.int64), 1 + torch.randperm(11)])
    torch.testing.assert_close(model(ids[:, order]), model(ids))


def test_the_losses_are_the_same(tables):
    found = tables["variants"].set_index("variant")
    assert list(found.index) == ["torch", "loop", "reshaped", "fused", "ours", "bag", "floor"]
    same = found.drop("floor")
    assert same["loss_difference"].max() < 1e-4
    assert same["step_loss_difference"].max() < 1e-4
    assert (same["loss_difference"] <= same["step_loss_difference"] + 1e-9).all()
    assert same["logits_before"].max() < 1e-5
    assert same["logits_after"].max() < 1e-3
    assert math.isnan(found.loc["floor", "loss_difference"]), "the floor is not compared"


def test_training_trains(tables):
    epochs = tables["epochs"].set_index(["variant", "epoch"])
    ours = epochs.loc["ours"]
    assert list(ours.index) == [0, 1, 2, 3, 4]
    assert math.isnan(ours.loc[0, "train_loss"])
    assert ours.loc[EPOCHS, "train_loss"] < ours.loc[1, "train_loss"]
    for name in ("torch", "fused", "bag"):
        assert (ours["val_accuracy"] == epochs.loc[name, "val_accuracy"]).all()


def test_the_slow_ones_run_fewer_epochs_and_the_table_says_so(tables):
    epochs = tables["epochs"]
    assert epochs[epochs["variant"] == "loop"]["epoch"].max() == SLOW
    seconds = epochs[(epochs["variant"] == "loop") & (epochs["epoch"] > 0)]["seconds"]
    row = tables["variants"].set_index("variant").loc["loop"]
    assert row["seconds"] == pytest.approx(seconds.mean() * EPOCHS)
    table = training_table(tables).set_index("")
    assert table.loc["a loop over heads", "seconds"].endswith("*")
    assert not table.loc["ours", "seconds"].endswith("*")
    assert "reckoned from 2 of 4 epochs" in " ".join(training_notes(tables))


def test_an_epoch_is_charged_its_batches_and_its_validation(tables):
    epochs = tables["epochs"]
    trained = epochs[epochs["epoch"] > 0]
    assert (trained["seconds"] - trained["step_seconds"]).min() > 0.5 / EPOCHS


def test_a_step_is_taken_apart(tables):
    parts = list(tables["steps"]["part"])
    assert parts[: len(VARIANTS)] == list(VARIANTS)
    assert parts[-3:] == ["ours, forward", "ours, backward", "ours, optimiser"]
    assert "without attention" in training_notes(tables)[0]


def test_work_counts_only_the_rows_that_are_asked_for_and_only_of_the_layer(tables, documents):
    found = tables["variants"].set_index("variant")
    work = found["tflops"] * found["step_ms"] * 1e9
    ids, _ = documents.largest
    assert work["torch"] == pytest.approx(6 * multiply_adds(*ids.shape, ids.shape[1], 64, 8))
    assert work["torch"] == pytest.approx(work["fused"])
    assert work["ours"] < work["torch"] / 2
    assert found.loc[["bag", "floor"], "tflops"].isna().all()


def test_a_speed_up_is_a_ratio_to_pytorchs_layer(tables):
    found = tables["variants"].set_index("variant")
    assert found.loc["torch", ["speedup", "speedup_low", "step_speedup"]].eq(1).all()
    assert found.loc["floor", ["to_floor", "step_to_floor"]].eq(1).all()


def test_the_largest_batch_and_the_count(documents):
    assert documents.largest[0].shape == (4, 8 + STEPS - 1)
    assert documents.count == 4 * STEPS


def test_the_batches_are_those_of_the_chapter(monkeypatch):
    words = ["red green", "blue", "sun moon star", "day night"]
    texts = [f"{words[i % 4]} {i}" for i in range(60)]
    rows = [{"text": t, "label": i % 2, "label_text": "ab"[i % 2]} for i, t in enumerate(texts)]
    parts = {"train": Dataset.from_list(rows[:50]), "test": Dataset.from_list(rows[50:])}
    monkeypatch.setattr(documents_module, "load_news", lambda: DatasetDict(parts))
    documents = load_documents(2, CPU)

    tokenizer = train_tokenizer(parts["train"]["text"][:], vocab_size=1000)
    train = parts["train"].train_test_split(test_size=0.25, seed=0)["train"]
    loader = make_dataloader(train, tokenizer, seed=0)
    for epoch in documents.epochs:
        for (ids, labels), (expected_ids, expected_labels) in zip(epoch, loader, strict=True):
            assert ids.equal(expected_ids)
            assert labels.equal(expected_labels)
    assert documents.count == 37
    assert documents.num_classes == 2
    assert load_documents(1, CPU, limit=5).count == 5


def few_long_texts():
    """16 texts of 256 tokens: with 8 heads the weights of all pairs take 32 MiB."""
    ids = torch.zeros(16, 256, dtype=torch.int64)
    return ids, Documents([[(ids, ids[:, 0])]], [], VOCAB, 3, seconds=0.0)


def test_the_weights_of_all_pairs_are_kept_unless_one_row_is_asked_for():
    ids, _ = few_long_texts()
    kept = {
        name: kept_bytes(partial(build(name, VOCAB, 3, CPU).train(), ids))
        for name in ("torch", "ours")
    }
    assert kept["torch"] > 32 * 2**20
    assert kept["ours"] < 2 * 2**20


@pytest.mark.slow
@pytest.mark.skipif(not COUNT_ANEW.exists(), reason="the system does not tell a process's peak")
def test_the_peak_memory_of_a_step_holds_what_the_backward_pass_needs():
    _, documents = few_long_texts()
    assert step_memory("torch", documents, CPU) > 32


def test_in_double_precision_all_learn_the_same(tables):
    losses = tables["double"]
    assert list(losses.columns) == ["torch, one row", "ours", "bag"]
    assert len(losses) == tables["epochs"]["epoch"].max()
    assert largest_difference(losses) < 1e-12
    assert losses["ours"].nunique() == len(losses)  # it learns
    assert largest_difference(losses.assign(bag=losses["bag"] + 0.5)) > 0.4
