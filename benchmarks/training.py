"""The classifier of chapter 8, trained in every way of ``variants``: the benchmark.

Every variant starts from the same weights and sees the same batches. The variants take turns, an
epoch each. What an epoch takes is all that it needs: making its batches, the steps, and the
accuracy on the documents for validation.
"""

from __future__ import annotations

from functools import partial
from typing import Any

import pandas as pd
import torch
from torch import Tensor, nn
from tqdm import tqdm

from benchmarks.documents import Batch, Documents
from benchmarks.precision import double_losses
from benchmarks.steps import BASELINE, step_memory, step_numbers, step_table, time_steps
from benchmarks.variants import VARIANTS, build, build_optimizer, train_epoch
from utils.costs import Peak
from utils.timing import seconds

SLOW = ("loop", "reshaped")
COLUMNS = ("epoch", "seconds", "step_seconds", "train_loss", "val_accuracy", "logits_difference")


def compare_variants(
    documents: Documents,
    slow_epochs: int,
    device: torch.device,
    peak: Peak,
    budget: float,
    memory: bool = True,
) -> dict[str, pd.DataFrame]:
    """Train and time all variants.

    Parameters
    ----------
    slow_epochs : int, for how many epochs the two slowest, the loop and the reshaped layer, are
        trained. Their seconds for all epochs are then reckoned from these
    budget : float, seconds for timing single steps
    memory : bool, whether to measure the peak memory, each in a process of its own

    Returns
    -------
    dict of DataFrames: "variants" (a row for each), "epochs" (for each variant and epoch), "steps"
    (for each part of a step), "double" (the losses in double precision, for each epoch). The
    differences are the largest from the baseline's: of the mean loss of an epoch, of the loss of a
    step, and of the logits before and after training. In training, rounding in another order is
    carried on from step to step, and grows
    """
    whole = len(documents.epochs)
    epochs = dict.fromkeys(VARIANTS, whole) | dict.fromkeys(SLOW, slow_epochs)
    history, losses = train_in_turns(documents, epochs, device)
    times = time_steps(documents, device, budget)
    trained = history[history["epoch"] > 0]
    wide = trained.pivot(index="epoch", columns="variant", values="seconds")
    rows = []
    for name, variant in VARIANTS.items():
        row: dict[str, Any] = {"variant": name, "name": variant.name, "epochs": epochs[name]}
        row["seconds"] = wide[name].mean() * whole
        row |= step_numbers(name, times, documents, peak)
        if variant.same:
            row |= _differences(name, history, losses)
        row["val_accuracy"] = trained.loc[trained["variant"] == name, "val_accuracy"].iloc[-1]
        if memory:
            row["peak_mib"] = step_memory(name, documents, device)
        rows.append(row)
    return {
        "variants": pd.DataFrame(rows),
        "epochs": history,
        "steps": step_table(times),
        "double": double_losses(documents, device),
    }


def train_in_turns(
    documents: Documents, epochs: dict[str, int], device: torch.device
) -> tuple[pd.DataFrame, dict[str, list[float]]]:
    """Train each variant for its number of epochs; in each epoch all have a turn.

    Returns
    -------
    epochs : DataFrame with a row for each variant and epoch: ``seconds`` (making the batches, the
        steps, the validation), ``step_seconds`` (the steps alone), mean ``train_loss``, and
        ``val_accuracy`` and ``logits_difference`` (the largest from the baseline's) on the
        documents for validation. Epoch 0 is before training
    losses : dict with the loss of each step, for each variant
    """
    sizes = (documents.vocab_size, documents.num_classes, device)
    models = {name: build(name, *sizes) for name in epochs}
    optimizers = {name: build_optimizer(model) for name, model in models.items()}
    losses: dict[str, list[float]] = {name: [] for name in epochs}
    labels = torch.cat([batch_labels for _, batch_labels in documents.validation])
    making = documents.seconds / len(documents.epochs)
    rows = []
    with tqdm(total=sum(epochs.values()), desc="training", ncols=78) as bar:
        for epoch in range(max(epochs.values()) + 1):
            turn = [name for name in epochs if epoch <= epochs[name]]
            first = epoch % len(turn)
            logits: dict[str, Tensor] = {}
            found: dict[str, tuple[float, ...]] = {}
            for name in turn[first:] + turn[:first]:
                steps: list[Tensor] = []
                step_seconds = loss = float("nan")
                if epoch:
                    batches = documents.epochs[epoch - 1]
                    train = partial(train_epoch, models[name], optimizers[name], batches, steps)
                    step_seconds = seconds(train, device)
                    losses[name] += torch.stack(steps).tolist()
                    loss = sum(losses[name][-len(steps) :]) / len(steps)
                    bar.update()
                validate = partial(_validate, name, models[name], documents.validation, logits)
                taken = making + step_seconds + seconds(validate, device)
                found[name] = (taken, step_seconds, loss)
            for name in turn:
                right = (logits[name].argmax(-1) == labels).double().mean().item()
                gap = (logits[name] - logits[BASELINE]).abs().max().item()
                rows.append((name, epoch, *found[name], right, gap))
    return pd.DataFrame(rows, columns=["variant", *COLUMNS]), losses


@torch.no_grad()
def _validate(name: str, model: nn.Module, batches: list[Batch], logits: dict[str, Tensor]) -> None:
    model.eval()
    logits[name] = torch.cat([model(ids) for ids, _ in batches])


def _differences(
    name: str, history: pd.DataFrame, losses: dict[str, list[float]]
) -> dict[str, float]:
    """Give the largest differences from the baseline, as far as both were trained."""
    mean_loss = history.pivot(index="epoch", columns="variant", values="train_loss")
    gaps = history.loc[history["variant"] == name, "logits_difference"]
    pairs = zip(losses[name], losses[BASELINE], strict=False)
    return {
        "loss_difference": (mean_loss[name] - mean_loss[BASELINE]).abs().max(),
        "step_loss_difference": max(abs(loss - other) for loss, other in pairs),
        "logits_before": gaps.iloc[0],
        "logits_after": gaps.iloc[-1],
    }
