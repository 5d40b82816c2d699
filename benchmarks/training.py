"""The classifier of chapter 7, trained in every way of ``variants``: the benchmark.

Every variant starts from the same weights and sees the same batches. The variants take turns, an
epoch each. What an epoch takes is all that it needs: making its batches, the steps, and the
accuracy on the documents for validation. A single step is timed as well, its parts and its memory.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import pandas as pd
import torch
import torch.nn.functional as F
from torch import Tensor

from benchmarks.epochs import BASELINE, Documents, double_losses, train_in_turns
from benchmarks.limits import Peak, multiply_adds
from benchmarks.ratios import quartiles, ratio
from benchmarks.timing import interleave
from benchmarks.variants import (
    EMBED_DIM,
    NUM_HEADS,
    VARIANTS,
    build,
    build_optimizer,
    training_step,
)
from utils.measure import peak_memory

FLOOR = "floor"
SLOW = ("loop", "reshaped")


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


def compare_totals(variants: pd.DataFrame, epochs: pd.DataFrame) -> pd.DataFrame:
    """Add the ratios of whole trainings, and those of single epochs, to the table of variants.

    The two are not the same: a disturbed epoch counts in full in a total, and hardly in a median.

    Parameters
    ----------
    variants, epochs : DataFrames, the tables of these names from ``compare_variants``

    Returns
    -------
    DataFrame with a row for each variant, by its name, and with ``speedup``, the seconds of the
    baseline by its own; ``to_floor``, its own by those of the floor; and ``epoch_speedup``, the
    median over the epochs of the baseline's seconds by its own, with the least and the largest of
    these ratios as ``epoch_speedup_low`` and ``epoch_speedup_high``
    """
    found = variants.set_index("variant")
    seconds = found["seconds"]
    trained = epochs[epochs["epoch"] > 0]
    wide = trained.pivot(index="epoch", columns="variant", values="seconds")[seconds.index]
    ratios = wide.rdiv(wide[BASELINE], axis="index")
    return found.assign(
        speedup=seconds[BASELINE] / seconds,
        to_floor=seconds / seconds[FLOOR],
        epoch_speedup=ratios.median(),
        epoch_speedup_low=ratios.min(),
        epoch_speedup_high=ratios.max(),
    )


def largest_difference(losses: pd.DataFrame) -> float:
    """Give the largest difference of a mean loss from that of the first column."""
    return float(losses.sub(losses.iloc[:, 0], axis=0).abs().to_numpy().max())


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


def time_steps(documents: Documents, device: torch.device, budget: float) -> pd.DataFrame:
    """Time a step of every variant on one batch, and the parts of a step of ours, in turns.

    The learning rate is 0, so that thousands of steps on one batch leave the weights as they are;
    the optimiser's work is the same.

    Returns
    -------
    DataFrame with a row for each round and a column for each variant, and "ours, forward", "ours,
    backward" and "ours, optimiser": seconds. The backward pass is what it adds to the forward pass
    """
    ids, labels = documents.largest
    functions: dict[str, Callable[[], object]] = {}
    for name in VARIANTS:
        model = build(name, documents.vocab_size, documents.num_classes, device)
        optimizer = build_optimizer(model, learning_rate=0.0)
        functions[name] = partial(training_step, model, optimizer, ids, labels)
    ours = build("ours", documents.vocab_size, documents.num_classes, device)
    optimizer = build_optimizer(ours, learning_rate=0.0)
    training_step(ours, optimizer, ids, labels)  # so that there are gradients

    def forward() -> Tensor:
        return F.cross_entropy(ours(ids), labels)

    def backward() -> None:
        ours.zero_grad()
        forward().backward()

    functions["ours, forward"] = forward
    functions["ours, backward"] = backward
    functions["ours, optimiser"] = optimizer.step
    times = interleave(functions, device, budget, shortest=0.1)
    times["ours, backward"] -= times["ours, forward"]
    return times


def step_table(times: pd.DataFrame) -> pd.DataFrame:
    """Give a row for each column of the times: milliseconds and the ratio to the floor."""
    rows = [
        {"part": part, **quartiles(1e3 * times[part], "ms"), **ratio(times, part, FLOOR, "ratio")}
        for part in times.columns.astype(str)
    ]
    return pd.DataFrame(rows)


def step_numbers(
    name: str, times: pd.DataFrame, documents: Documents, peak: Peak
) -> dict[str, Any]:
    """Give milliseconds, ratios to baseline and floor, and operations a second, of one variant.

    The operations are those of the attention layer's products, forward and backward, for the rows
    that are asked for, in the order that needs fewer. The bag and the floor do other work.
    """
    found: dict[str, Any] = {
        **quartiles(1e3 * times[name], "step_ms"),
        **ratio(times, BASELINE, name, "step_speedup"),
        **ratio(times, name, FLOOR, "step_to_floor"),
    }
    variant = VARIANTS[name]
    if variant.change or not variant.same:
        return found
    B, T = documents.largest[0].shape
    # Two operations for each multiply-add, and two products backward for each one forward.
    flops = 6 * multiply_adds(B, variant.queries or T, T, EMBED_DIM, NUM_HEADS)
    rate = flops / (1e-3 * found["step_ms"])
    return found | {"tflops": rate / 1e12, "of_peak": rate / peak.flops}


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
