"""All ways to compute the classifier train alike, and what is reported is what happened."""

import pytest
import torch
from datasets import Dataset, DatasetDict

from benchmarks import training
from benchmarks.training import Documents, compare_variants, load_documents, step_memory
from benchmarks.variants import VARIANTS, build
from utils.measure import _COUNT_ANEW
from utils.text import make_dataloader, train_tokenizer

CPU = torch.device("cpu")
VOCAB, CLASSES, EPOCHS, STEPS = 50, 3, 4, 3


@pytest.fixture(scope="module")
def documents():
    def batch(B, T):
        ids = torch.randint(1, VOCAB, (B, T))
        ids[:, 0] = 0  # every document begins with [CLS]
        return ids, ids[:, 1] % CLASSES  # something to learn

    epochs = [[batch(4, 8 + step) for step in range(STEPS)] for _ in range(EPOCHS)]
    return Documents(epochs, [batch(6, 9), batch(2, 5)], VOCAB, CLASSES, seconds=0.5)


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


def test_the_tables_say_what_happened(documents):
    slow = dict.fromkeys(VARIANTS, EPOCHS) | {"loop": 2}
    tables = compare_variants(documents, slow, CPU, budget=0.0, memory=False)
    found, epochs = tables["variants"].set_index("variant"), tables["epochs"]
    assert list(found.index) == [*VARIANTS]
    same = found.drop("floor")
    assert same["loss_difference"].max() < 1e-4
    assert same["logits_before"].max() < 1e-5
    assert found.loc["floor", ["loss_difference", "logits_before"]].isna().all()
    assert found.loc["torch", "step_speedup"] == found.loc["floor", "step_to_floor"] == 1
    trained = epochs[epochs["epoch"] > 0]
    assert trained["seconds"].min() > 0.5 / EPOCHS, "an epoch is charged its batches"
    seconds = trained.loc[trained["variant"] == "loop", "seconds"]
    assert len(seconds) == 2
    assert found.loc["loop", "seconds"] == pytest.approx(seconds.mean() * EPOCHS)
    by_epoch = epochs.set_index(["variant", "epoch"])
    ours = by_epoch.loc["ours"]
    assert ours["train_loss"].nunique() > 1, "nothing was trained"
    for name in ("torch", "fused", "row", "bag"):
        assert (ours["val_accuracy"] == by_epoch.loc[name, "val_accuracy"]).all()


def test_the_batches_are_those_of_the_chapter(monkeypatch):
    words = ["red green", "blue", "sun moon star", "day night"]
    texts = [f"{words[i % 4]} {i}" for i in range(60)]
    rows = [{"text": t, "label": i % 2, "label_text": "ab"[i % 2]} for i, t in enumerate(texts)]
    news = {"train": Dataset.from_list(rows[:50]), "test": Dataset.from_list(rows[50:])}
    monkeypatch.setattr(training, "load_news", lambda: DatasetDict(news))
    documents = load_documents(2, CPU)
    tokenizer = train_tokenizer(news["train"]["text"][:], vocab_size=1000)
    train = news["train"].train_test_split(test_size=0.25, seed=0)["train"]
    loader = make_dataloader(train, tokenizer, seed=0)
    for epoch in documents.epochs:
        torch.testing.assert_close([*epoch], [tuple(batch) for batch in loader])
    monkeypatch.setattr(training.NEWS, "source", "docstrings")
    settings, tables = training.measure(CPU, quick=True)
    assert (settings["documents"], settings["epochs"]) == (37, 2)
    assert len(tables["variants"]) == len(VARIANTS)


@pytest.mark.slow
@pytest.mark.processes
@pytest.mark.skipif(not _COUNT_ANEW.exists(), reason="the system does not tell a process's peak")
def test_the_peak_memory_of_a_step_holds_what_the_backward_pass_needs():
    ids = torch.zeros(16, 256, dtype=torch.int64)  # the weights of 8 heads take 32 MiB
    documents = Documents([[(ids, ids[:, 0])]], [], VOCAB, 3, seconds=0.0)
    assert step_memory("torch", documents, CPU) > 32
