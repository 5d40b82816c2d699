"""A single training step of every variant: its time, its parts, its memory."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import pandas as pd
import torch
import torch.nn.functional as F
from torch import Tensor

from benchmarks.documents import Documents
from benchmarks.variants import (
    EMBED_DIM,
    NUM_HEADS,
    VARIANTS,
    build,
    build_optimizer,
    training_step,
)
from utils.costs import Peak, multiply_adds
from utils.memory import peak_memory
from utils.timing import interleave, quartiles, ratio

BASELINE, FLOOR = "torch", "floor"
PARTS = ("forward", "backward", "optimiser")


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
