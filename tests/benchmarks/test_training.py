"""All ways to compute a layer train to the same losses, and what is reported is what happened."""

import math
from functools import partial

import pandas as pd
import pytest
import torch
from datasets import Dataset, DatasetDict

from benchmarks import epochs as epochs_module
from benchmarks import parts, report
from benchmarks.epochs import Documents, load_documents
from benchmarks.training import compare_totals, largest_difference, step_memory
from benchmarks.variants import VARIANTS, build
from utils.data import make_dataloader, train_tokenizer
from utils.measure import COUNT_ANEW, Peak, kept_bytes, multiply_adds

CPU = torch.device("cpu")
VOCAB, EPOCHS, SLOW, STEPS = 50, 4, 2, 3  # of the fixture ``documents``


def shown(tables):
    """What the screen and the page are made of."""
    settings = {"epochs": EPOCHS, "slow_epochs": SLOW, "source": "docstrings"}
    result = report.make("training", CPU, settings, Peak(flops=1e9, bytes=1e9), tables)
    return parts.training(result, "cpu")


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
    assert list(found.index) == [*VARIANTS]
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
    for name in ("torch", "fused", "row", "bag"):
        assert (ours["val_accuracy"] == epochs.loc[name, "val_accuracy"]).all()


def test_the_slow_ones_run_fewer_epochs_and_the_table_says_so(tables):
    epochs = tables["epochs"]
    assert epochs[epochs["variant"] == "loop"]["epoch"].max() == SLOW
    seconds = epochs[(epochs["variant"] == "loop") & (epochs["epoch"] > 0)]["seconds"]
    row = tables["variants"].set_index("variant").loc["loop"]
    assert row["seconds"] == pytest.approx(seconds.mean() * EPOCHS)
    (note,) = (note for note in shown(tables).notes if "reckoned" in note)
    assert "“a loop over heads” and “reshaped”" in note
    assert "2 of the 4" in note


def test_an_epoch_is_charged_its_batches_and_its_validation(tables):
    epochs = tables["epochs"]
    trained = epochs[epochs["epoch"] > 0]
    assert (trained["seconds"] - trained["step_seconds"]).min() > 0.5 / EPOCHS


def test_a_step_is_taken_apart(tables):
    parts = list(tables["steps"]["part"])
    assert parts[: len(VARIANTS)] == list(VARIANTS)
    assert parts[-3:] == ["ours, forward", "ours, backward", "ours, optimiser"]
    assert any("optimiser" in note for note in shown(tables).notes)


def test_work_counts_only_the_rows_that_are_asked_for_and_only_of_the_layer(tables, documents):
    found = tables["variants"].set_index("variant")
    work = found["tflops"] * found["step_ms"] * 1e9
    ids, _ = documents.largest
    assert work["torch"] == pytest.approx(6 * multiply_adds(*ids.shape, ids.shape[1], 64, 8))
    assert work["torch"] == pytest.approx(work["fused"])
    assert work["ours"] == pytest.approx(work["row"])
    assert work["ours"] < work["torch"] / 2
    assert found.loc[["bag", "floor"], "tflops"].isna().all()


def test_a_speed_up_is_a_ratio_to_pytorchs_layer(tables):
    found = tables["variants"].set_index("variant")
    assert found.loc["torch", "step_speedup"] == found.loc["floor", "step_to_floor"] == 1


def test_a_ratio_of_whole_trainings_is_that_of_the_seconds_beside_it(tables):
    seconds = tables["variants"].set_index("variant")["seconds"]
    found = compare_totals(tables["variants"], tables["epochs"])
    for name, row in found.iterrows():
        assert row["seconds"] == seconds[name]
        assert row["speedup"] == seconds["torch"] / seconds[name]
        assert row["to_floor"] == seconds[name] / seconds["floor"]


def test_the_ratios_of_epochs_are_named_as_such_and_have_their_range():
    taken = {"torch": [8.0, 6.0, 9.0], "ours": [1.0, 2.0, 1.0], "floor": [1.0, 1.0, 1.0]}
    taken["loop"] = [4.0, 6.0]  # of three epochs
    rows = [(name, i, s) for name, all_s in taken.items() for i, s in enumerate([0, *all_s])]
    epochs = pd.DataFrame(rows, columns=["variant", "epoch", "seconds"])
    wholes = [("torch", 23.0), ("loop", 15.0), ("ours", 4.0), ("floor", 3.0)]
    found = compare_totals(pd.DataFrame(wholes, columns=["variant", "seconds"]), epochs)
    columns = ["speedup", "to_floor", "epoch_speedup", "epoch_speedup_low", "epoch_speedup_high"]
    assert found.loc["ours", columns].tolist() == [23 / 4, 4 / 3, 8.0, 3.0, 9.0]
    assert found.loc["loop", columns].tolist() == [23 / 15, 5.0, 1.5, 1.0, 2.0]


def test_the_printed_table_has_the_ratio_of_the_printed_seconds(tables):
    variants = tables["variants"].copy()
    variants["seconds"] = variants["variant"].map({"torch": 246.0, "ours": 2.05}).fillna(100.0)
    table = shown(tables | {"variants": variants}).table.set_index("way")
    assert table.loc["ours", "times as fast"] == "120"
    assert table.loc["ours", "within an epoch (range)"].count("–") == 1


def test_the_largest_batch_and_the_count(documents):
    assert documents.largest[0].shape == (4, 8 + STEPS - 1)
    assert documents.count == 4 * STEPS


def test_the_batches_are_those_of_the_chapter(monkeypatch):
    words = ["red green", "blue", "sun moon star", "day night"]
    texts = [f"{words[i % 4]} {i}" for i in range(60)]
    rows = [{"text": t, "label": i % 2, "label_text": "ab"[i % 2]} for i, t in enumerate(texts)]
    parts = {"train": Dataset.from_list(rows[:50]), "test": Dataset.from_list(rows[50:])}
    monkeypatch.setattr(epochs_module, "load_news", lambda: DatasetDict(parts))
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
    row, ours, bag = (VARIANTS[name].name for name in ("row", "ours", "bag"))
    assert list(losses.columns) == [row, ours, bag]
    assert len(losses) == tables["epochs"]["epoch"].max()
    assert largest_difference(losses) < 1e-12
    assert losses[ours].nunique() == len(losses)  # it learns
    assert largest_difference(losses.assign(**{bag: losses[bag] + 0.5})) > 0.4
