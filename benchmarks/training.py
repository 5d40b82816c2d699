"""The classifier of chapter 7, trained in every way of ``variants``: the benchmark.

Every variant starts from the same weights and sees the same batches. The variants take turns, an
epoch each. What an epoch takes is all that it needs: making its batches, the steps, and the
accuracy on the documents for validation. A single step is timed as well, and its memory measured.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from functools import partial
from typing import Any

import pandas as pd
import torch
from torch import Tensor
from tqdm import tqdm

from benchmarks.timing import interleave, seconds, spread
from benchmarks.variants import VARIANTS, build, build_optimizer, training_step
from utils.measure import peak_memory
from utils.news import NEWS, class_names, drop_duplicates, load_news
from utils.text import make_dataloader, train_tokenizer

BASELINE, FLOOR = "torch", "floor"
EPOCHS, SLOW_EPOCHS = 10, {"loop": 2, "reshaped": 2}
BUDGET = 40.0  # seconds for single steps
Batch = tuple[Tensor, Tensor]  # ids (B, T) and labels (B,)


@dataclass(frozen=True)
class Documents:
    """The batches of every epoch, on the device, and those for validation."""

    epochs: list[list[Batch]]
    validation: list[Batch]
    vocab_size: int
    num_classes: int
    seconds: float  # that making the batches of all epochs took

    @property
    def largest(self) -> Batch:
        """The largest batch of the first epoch: with it a single step is measured."""
        return max(self.epochs[0], key=lambda batch: batch[0].numel())

    def build(self, name: str, device: torch.device) -> torch.nn.Module:
        """Build the classifier in one of the ways."""
        return build(name, self.vocab_size, self.num_classes, device)


def measure(device: torch.device, quick: bool) -> tuple[dict[str, Any], dict[str, pd.DataFrame]]:
    """Give settings and tables, for the file."""
    whole = 2 if quick else EPOCHS
    documents = load_documents(whole, device, quick)
    epochs = {name: min(whole, SLOW_EPOCHS.get(name, whole)) for name in VARIANTS}
    budget = 0.0 if quick else BUDGET
    tables = compare_variants(documents, epochs, device, budget, memory=not quick)
    settings = {
        "dtype": "float32",
        "epochs": whole,
        "slow_epochs": min(epochs.values()),
        "documents": sum(len(labels) for _, labels in documents.epochs[0]),
        "source": NEWS.source,
        "step_shape": list(documents.largest[0].shape),
        "budget": budget,
    }
    return settings, tables


def load_documents(epochs: int, device: torch.device, quick: bool = False) -> Documents:
    """Load, split and tokenise the news as chapter 7 does, and make the batches of all epochs.

    Of a quick run there are 64 documents, cut at 32 tokens.
    """
    news = drop_duplicates(load_news())
    tokenizer = train_tokenizer(news["train"]["text"][:], vocab_size=1000)
    parts = news["train"].train_test_split(test_size=0.25, seed=0)
    train, validation = (
        part.select(range(min(64, len(part)))) if quick else part
        for part in (parts["train"], parts["test"])
    )
    length = 32 if quick else 512
    loader = make_dataloader(train, tokenizer, max_length=length, seed=0)
    val_loader = make_dataloader(validation, tokenizer, 64, max_length=length)

    def move(batches: Iterable[Any]) -> list[Batch]:
        return [(ids.to(device), labels.to(device)) for ids, labels in batches]

    made: list[list[Batch]] = []
    taken = seconds(lambda: made.extend(move(loader) for _ in range(epochs)), device)
    return Documents(made, move(val_loader), len(tokenizer), len(class_names(news)), taken)


def compare_variants(
    documents: Documents,
    epochs: dict[str, int],
    device: torch.device,
    budget: float,
    memory: bool = True,
) -> dict[str, pd.DataFrame]:
    """Train and time all variants.

    Parameters
    ----------
    epochs : for how many each is trained. Of fewer than there are batches for, the seconds for all
        are reckoned
    budget : float, seconds for timing single steps
    memory : bool, whether to measure the peak memory of a step, each in a process of its own

    Returns
    -------
    dict of DataFrames: "variants" (a row for each) and "epochs" (see ``train_in_turns``). The
    differences are the largest from the baseline's: of the mean loss of an epoch, and of the logits
    before training. In training, rounding in another order is carried on from step to step, and
    grows
    """
    history = train_in_turns(documents, epochs, device)
    times = time_steps(documents, device, budget)
    mean_loss = history.pivot(index="epoch", columns="variant", values="train_loss")
    rows = []
    for name, trained in history[history["epoch"] > 0].groupby("variant", sort=False):
        row: dict[str, Any] = {"variant": name, "name": VARIANTS[str(name)].name}
        row |= {"epochs": epochs[str(name)]}
        row["seconds"] = trained["seconds"].mean() * len(documents.epochs)
        row |= spread(1e3 * times[name], "step_ms")
        row |= spread(times[BASELINE] / times[name], "step_speedup")
        row |= spread(times[name] / times[FLOOR], "step_to_floor")
        if name != FLOOR:  # another function
            gaps = history.loc[history["variant"] == name, "logits_difference"]
            row["loss_difference"] = (mean_loss[name] - mean_loss[BASELINE]).abs().max()
            row["logits_before"] = gaps.iloc[0]
        row["val_accuracy"] = trained["val_accuracy"].iloc[-1]
        if memory:
            row["peak_mib"] = step_memory(str(name), documents, device)
        rows.append(row)
    return {"variants": pd.DataFrame(rows), "epochs": history}


def train_in_turns(
    documents: Documents, epochs: dict[str, int], device: torch.device
) -> pd.DataFrame:
    """Train each variant for its number of epochs; in each epoch all have a turn.

    Returns
    -------
    DataFrame with a row for each variant and epoch: ``seconds``, mean ``train_loss``, and
    ``val_accuracy`` and ``logits_difference`` (the largest from the baseline's) on the documents
    for validation. Epoch 0 is before training
    """
    models = {name: documents.build(name, device) for name in epochs}
    optimizers = {name: build_optimizer(model) for name, model in models.items()}
    labels = torch.cat([batch_labels for _, batch_labels in documents.validation])
    making = documents.seconds / len(documents.epochs)
    losses: list[Tensor] = []

    def one_epoch(name: str, batches: list[Batch]) -> None:
        losses[:] = [training_step(models[name], optimizers[name], *batch) for batch in batches]
        models[name].eval()
        with torch.no_grad():
            logits[name] = torch.cat([models[name](ids) for ids, _ in documents.validation])

    rows = []
    for epoch in tqdm(range(max(epochs.values()) + 1), desc="training", ncols=78):
        turn = [name for name in epochs if epoch <= epochs[name]]
        first = epoch % len(turn)
        logits: dict[str, Tensor] = {}
        found = {}
        for name in turn[first:] + turn[:first]:
            batches = documents.epochs[epoch - 1] if epoch else []
            taken = making + seconds(partial(one_epoch, name, batches), device)
            found[name] = (taken, torch.stack(losses).mean().item() if losses else math.nan)
        for name in turn:
            right = (logits[name].argmax(-1) == labels).double().mean().item()
            gap = (logits[name] - logits[BASELINE]).abs().max().item()
            rows.append((name, epoch, *found[name], right, gap))
    columns = ["epoch", "seconds", "train_loss", "val_accuracy", "logits_difference"]
    return pd.DataFrame(rows, columns=["variant", *columns])


def time_steps(documents: Documents, device: torch.device, budget: float) -> pd.DataFrame:
    """Time a step of every variant on one batch, in turns: seconds, a column for each.

    The learning rate is 0, so that thousands of steps on one batch leave the weights as they are;
    the optimiser's work is the same.
    """
    steps = {}
    for name in VARIANTS:
        model = documents.build(name, device)
        optimizer = build_optimizer(model, learning_rate=0.0)
        steps[name] = partial(training_step, model, optimizer, *documents.largest)
    return interleave(steps, device, budget)


def step_memory(name: str, documents: Documents, device: torch.device) -> float:
    """Give the most memory that training steps need beyond the model's, in MiB.

    They are taken in a process of its own, on random tokens in the shape of the largest batch.
    """
    B, T = documents.largest[0].shape
    setup = f"""
        import torch
        from benchmarks.variants import build, build_optimizer, training_step

        device = torch.device({device.type!r})
        model = build({name!r}, {documents.vocab_size}, {documents.num_classes}, device)
        optimizer = build_optimizer(model)
        ids = torch.randint({documents.vocab_size}, ({B}, {T}), device=device)
        ids[:, 0] = 0
        labels = torch.randint({documents.num_classes}, ({B},), device=device)
        training_step(model, optimizer, ids[:2, :9], labels[:2])
    """
    statement = "for _ in range(3): training_step(model, optimizer, ids, labels)"
    return peak_memory(statement, setup, device.type)
