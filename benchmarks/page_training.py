"""The page's part about the classifier."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pandas as pd

from benchmarks.markdown import (
    DEVICES,
    Part,
    factor,
    measured,
    number,
    picture,
    rate,
    small,
    span,
    table,
)
from benchmarks.pictures import draw_training, plain
from benchmarks.precision import largest_difference
from benchmarks.totals import compare_totals

CORPORA = {"news": "articles of the news", "docstrings": "docstrings in place of the news"}


def training(result: dict[str, Any], device: str) -> Part:
    """Give the part about the classifier."""
    settings = result["settings"]
    found = pd.DataFrame(result["tables"]["variants"])
    totals = compare_totals(found, pd.DataFrame(result["tables"]["epochs"]))
    rows = found.set_index("variant")
    found = rows.assign(**totals).reset_index()
    figure = draw_training(found, settings["epochs"], f"one {DEVICES[device]}")
    B, T = settings["step_shape"]
    reckoned = found.loc[found["epochs"] < settings["epochs"], "name"]
    star = (
        f" The seconds of {' and '.join(f'“{name}”' for name in reckoned)} are reckoned from "
        f"{settings['slow_epochs']} of the {settings['epochs']} epochs."
        if len(reckoned)
        else ""
    )
    lines = [
        f"{settings['documents']} {CORPORA[settings['source']]} an epoch in batches of 32, each "
        f"cut at 512 tokens; {settings['epochs']} epochs. Every way starts from the same weights "
        "and sees the same batches. Ours is `FastMultiHeadAttention`, since one query asks. "
        "Seconds are from end to end: the batches, the steps, and the "
        f"accuracy on the documents for validation after each epoch.{star} “Times as fast” is the "
        "ratio of the first row's seconds to these. Within each epoch all ways take turns: of the "
        "ratios of single epochs the table has the median, with the smallest and the largest in "
        "brackets. A slow epoch counts in full in a total and hardly in a median, so the two "
        f"differ. A single step is one with a batch of {B} × {T} tokens; its brackets hold "
        "quartiles. Memory is what a step needs beyond the model's, at its peak, in a process of "
        "its own.",
        _gain(rows, totals),
        picture(f"training-{device}", figure, measured(result, device)),
        table(_times(row) for row in found.to_dict("records")),
        table(_others(row, device) for row in found.to_dict("records")),
        "“Losses” is the largest difference of an epoch's mean loss from that of PyTorch's layer "
        "(rounding, which training carries on from step to step: see below), “outputs” the largest "
        "difference of a logit before training. “Ours, and the model as a "
        "bag of tokens” is the same function of the same weights, but a change of the model's "
        "code, not of the layer: every document begins with the same token and no token knows its "
        "place, so the classifier needs only how often each token occurs. The last row is another "
        "function, without attention: the floor beneath what a layer can reach.",
        _double(result),
        _parts_of_a_step(result),
        "Accuracy on the documents for validation after each epoch:",
        table(_accuracies(result)),
    ]
    return lines, {f"training-{device}": figure}


def _gain(rows: pd.DataFrame, totals: pd.DataFrame) -> str:
    ours, whole = rows.loc["ours"], totals.loc["ours"]
    return (
        f"From end to end ours is **{factor(whole['speedup'])} times as fast** as PyTorch's layer "
        f"called as the blog calls it ({number(totals['seconds'].iloc[0])} s against "
        f"{number(whole['seconds'])} s), within an epoch {span(whole, 'epoch_speedup')} times in "
        f"the median, and a single step {span(ours, 'step_speedup')} times. "
        f"Without attention a step would still take {number(rows.loc['floor', 'step_ms'])} ms: "
        f"ours takes {span(ours, 'step_to_floor')} times this floor, and from end to end "
        f"{factor(whole['to_floor'])} times."
    )


def _times(row: dict[Any, Any]) -> dict[str, str]:
    return {
        "way": row["name"],
        "seconds": plain(row["seconds"]),
        "times as fast": factor(row["speedup"]),
        "within an epoch (range)": span(row, "epoch_speedup"),
        "step, ms": plain(row["step_ms"]),
        "step, times as fast": span(row, "step_speedup"),
    }


def _others(row: dict[Any, Any], device: str) -> dict[str, str]:
    return {
        "way": row["name"],
        "memory, MiB": number(row.get("peak_mib")),
        "losses": small(row["loss_difference"]),
        "outputs": small(row["logits_before"]),
        **rate(row, device),
    }


def _parts_of_a_step(result: dict[str, Any]) -> str:
    steps = {row["part"]: row["ms"] for row in result["tables"]["steps"]}
    return (
        f"A step of ours takes {steps['ours']:.2f} ms: forward {steps['ours, forward']:.2f}, "
        f"backward {steps['ours, backward']:.2f}, optimiser {steps['ours, optimiser']:.2f}."
    )


def _double(result: dict[str, Any]) -> str:
    """Say that the losses are the same where rounding is small."""
    losses = pd.DataFrame(result["tables"]["double"])
    names = ", ".join(f"“{name}”" for name in losses.columns)
    return (
        "Are they the same? In single precision, rounding grows from epoch to epoch. In double "
        f"precision, {len(losses)} epochs of {names} give mean losses that differ by at most "
        f"{small(largest_difference(losses))}. (PyTorch's layer is asked for one row here, which "
        "is the same function in a bearable time.)"
    )


def _accuracies(result: dict[str, Any]) -> Iterator[dict[str, str]]:
    epochs = result["tables"]["epochs"]
    found = {(row["variant"], row["epoch"]): row["val_accuracy"] for row in epochs}
    for row in result["tables"]["variants"]:
        accuracies = {
            str(epoch): number(found.get((row["variant"], epoch)), "{:.3f}".format)
            for epoch in range(1, result["settings"]["epochs"] + 1)
        }
        yield {"way": str(row["name"]), **accuracies}
