"""All ways to compute a layer train to the same losses, and what is reported is what happened."""

import math

import pandas as pd
import pytest
import torch
from datasets import Dataset, DatasetDict

from benchmarks import epochs as epochs_module
from benchmarks.epochs import Documents, load_documents
from benchmarks.limits import multiply_adds
from benchmarks.training import compare_totals, largest_difference, step_memory
from benchmarks.variants import VARIANTS, build
from utils.measure import _COUNT_ANEW
from utils.text import make_dataloader, train_tokenizer

CPU = torch.device("cpu")
VOCAB, EPOCHS, SLOW, STEPS = 50, 4, 2, 3  # of the fixture ``documents``


def test_all_ways_but_the_floor_start_as_the_same_function():
    ids = torch.randint(VOCAB, (4, 12), generator=torch.Generator().manual_seed(1))
    ids[:, 0] = 7
    ids[0, 5:] = 0  # padding is a token as any other
    models = {name: build(name, VOCAB, 5, CPU) for name in VARIANTS}
    expected, gradients = models["torch"](ids), {}
    assert not torch.allclose(models.pop("floor")(ids), expected), "the floor is another"
    for name, model in models.items():
        found = model(ids)
        torch.testing.assert_close(found, expected)
        found.square().sum().backward()
        gradients[name] = {key: value.grad for key, value in model.named_parameters()}
    assert gradients["bag"].keys() == gradients["ours"].keys()
    for key, wanted in gradients["ours"].items():
        if "k_proj.bias" not in key:  # the bag leaves it out: its gradient is zero
            torch.testing.assert_close(gradients["bag"][key], wanted, rtol=1e-4, atol=1e-6)
    order = torch.cat([torch.zeros(1, dtype=torch.int64), 1 + torch.randperm(11)])
    torch.testing.assert_close(models["bag"](ids[:, order]), models["bag"](ids))


def test_the_losses_are_the_same_and_it_learns(tables):
    found = tables["variants"].set_index("variant")
    assert list(found.index) == [*VARIANTS]
    same = found.drop("floor")
    assert same["step_loss_difference"].max() < 1e-4
    assert (same["loss_difference"] <= same["step_loss_difference"] + 1e-9).all()
    assert same["logits_before"].max() < 1e-5
    assert same["logits_after"].max() < 1e-3
    assert math.isnan(found.loc["floor", "loss_difference"]), "the floor is not compared"
    epochs = tables["epochs"].set_index(["variant", "epoch"])
    ours = epochs.loc["ours"]
    assert ours.loc[EPOCHS, "train_loss"] < ours.loc[1, "train_loss"]
    for name in ("torch", "fused", "row", "bag"):
        assert (ours["val_accuracy"] == epochs.loc[name, "val_accuracy"]).all()


def test_in_double_precision_all_learn_the_same(tables):
    losses = tables["double"]
    row, ours, bag = (VARIANTS[name].name for name in ("row", "ours", "bag"))
    assert list(losses.columns) == [row, ours, bag]
    assert losses[ours].nunique() == EPOCHS
    assert largest_difference(losses) < 1e-12
    assert largest_difference(losses.assign(**{bag: losses[bag] + 0.5})) > 0.4


def test_what_is_timed_and_counted_is_said(tables, documents):
    epochs, found = tables["epochs"], tables["variants"].set_index("variant")
    trained = epochs[epochs["epoch"] > 0]
    # An epoch is charged its batches and its validation; the slow ones have fewer.
    assert (trained["seconds"] - trained["step_seconds"]).min() > 0.5 / EPOCHS
    seconds = trained.loc[trained["variant"] == "loop", "seconds"]
    assert len(seconds) == SLOW
    assert found.loc["loop", "seconds"] == pytest.approx(seconds.mean() * EPOCHS)
    # Work is that of the rows that are asked for, and of the layer alone.
    ids, _ = documents.largest
    assert (ids.shape, documents.count) == ((4, 8 + STEPS - 1), 4 * STEPS)
    work = found["tflops"] * found["step_ms"] * 1e9
    assert work["torch"] == pytest.approx(6 * multiply_adds(*ids.shape, ids.shape[1], 64, 8))
    assert work["torch"] == pytest.approx(work["fused"])
    assert work["ours"] == pytest.approx(work["row"])
    assert work["ours"] < work["torch"] / 2
    assert found.loc[["bag", "floor"], "tflops"].isna().all()
    assert found.loc["torch", "step_speedup"] == found.loc["floor", "step_to_floor"] == 1


def test_ratios_of_totals_and_of_epochs():
    taken = {"torch": [8.0, 6.0, 9.0], "ours": [1.0, 2.0, 1.0], "floor": [1.0, 1.0, 1.0]}
    taken["loop"] = [4.0, 6.0]  # of three epochs
    rows = [(name, i, s) for name, all_s in taken.items() for i, s in enumerate([0, *all_s])]
    epochs = pd.DataFrame(rows, columns=["variant", "epoch", "seconds"])
    wholes = [("torch", 23.0), ("loop", 15.0), ("ours", 4.0), ("floor", 3.0)]
    found = compare_totals(pd.DataFrame(wholes, columns=["variant", "seconds"]), epochs)
    columns = ["speedup", "to_floor", "epoch_speedup", "epoch_speedup_low", "epoch_speedup_high"]
    assert found.loc["ours", columns].tolist() == [23 / 4, 4 / 3, 8.0, 3.0, 9.0]
    assert found.loc["loop", columns].tolist() == [23 / 15, 5.0, 1.5, 1.0, 2.0]


def test_the_batches_are_those_of_the_chapter(monkeypatch):
    words = ["red green", "blue", "sun moon star", "day night"]
    texts = [f"{words[i % 4]} {i}" for i in range(60)]
    rows = [{"text": t, "label": i % 2, "label_text": "ab"[i % 2]} for i, t in enumerate(texts)]
    news = {"train": Dataset.from_list(rows[:50]), "test": Dataset.from_list(rows[50:])}
    monkeypatch.setattr(epochs_module, "load_news", lambda: DatasetDict(news))
    documents = load_documents(2, CPU)
    tokenizer = train_tokenizer(news["train"]["text"][:], vocab_size=1000)
    train = news["train"].train_test_split(test_size=0.25, seed=0)["train"]
    loader = make_dataloader(train, tokenizer, seed=0)
    for epoch in documents.epochs:
        torch.testing.assert_close([*epoch], [tuple(batch) for batch in loader])
    assert (documents.count, documents.num_classes) == (37, 2)
    assert load_documents(1, CPU, limit=5).count == 5


@pytest.mark.slow
@pytest.mark.processes
@pytest.mark.skipif(not _COUNT_ANEW.exists(), reason="the system does not tell a process's peak")
def test_the_peak_memory_of_a_step_holds_what_the_backward_pass_needs():
    ids = torch.zeros(16, 256, dtype=torch.int64)  # the weights of 8 heads take 32 MiB
    documents = Documents([[(ids, ids[:, 0])]], [], VOCAB, 3, seconds=0.0)
    assert step_memory("torch", documents, CPU) > 32
