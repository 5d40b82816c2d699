"""The tables that a benchmark prints, and the sentences beneath them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pandas as pd

from benchmarks.layers import ours_and_best
from benchmarks.markdown import number, span
from benchmarks.pictures import plain
from benchmarks.precision import largest_difference
from benchmarks.steps import PARTS
from benchmarks.totals import compare_totals


def layers_table(rows: pd.DataFrame) -> pd.DataFrame:
    """Give one row for each case, pass and kind of question: ours beside the fastest others.

    With each ratio the quartiles are written in brackets.
    """
    lines = []
    for (case, passes, asked), group in rows.groupby(["case", "pass", "asked"], sort=False):
        ours, best = ours_and_best(group)
        lines.append(
            {
                "case": case,
                "pass": passes,
                "asked": asked,
                "ours, ms": plain(ours["ms"]),
                "fastest peer": best["name"],
                "ms": plain(best["ms"]),
                "ours / peer": span(ours, "to_peer", 2),
                "ours / floor": span(ours, "to_floor", 2),
                "TFLOP/s": f"{ours['tflops']:.3f}",
                "of peak": f"{ours['of_peak']:.0%}",
            }
        )
    return pd.DataFrame(lines)


def training_table(tables: dict[str, pd.DataFrame]) -> pd.DataFrame:
    """Give one row for each way to compute the classifier, from what ``compare_variants`` gave."""
    found = tables["variants"]
    totals = compare_totals(found, tables["epochs"])
    lines = []
    for row in found.to_dict("records"):
        whole = totals.loc[row["variant"]]
        star = "" if row["epochs"] == found["epochs"].max() else "*"
        line = {
            "": row["name"],
            "seconds": f"{row['seconds']:.2f}{star}",
            "times as fast": f"{whole['speedup']:.1f}",
            "within an epoch (range)": span(whole, "epoch_speedup", 1),
            "step, ms": f"{row['step_ms']:.2f}",
            "step, times as fast": span(row, "step_speedup", 1),
            "/ floor": f"{row['step_to_floor']:.2f}",
            "losses": number(row["loss_difference"], "{:.0e}".format),
            "outputs": number(row["logits_before"], "{:.0e}".format),
            "accuracy": f"{row['val_accuracy']:.3f}",
            "TFLOP/s": number(row["tflops"], "{:.3f}".format),
            "of peak": number(row["of_peak"], "{:.0%}".format),
        }
        if "peak_mib" in row:
            line["MiB"] = f"{row['peak_mib']:.0f}"
        lines.append(line)
    return pd.DataFrame(lines)


def training_notes(tables: dict[str, pd.DataFrame]) -> list[str]:
    """Say where a step of ours spends its time, how far the floor is, and what the star means."""
    steps = tables["steps"].set_index("part")
    ms = {str(part): float(steps.loc[part, "ms"]) for part in steps.index}
    parts = ", ".join(f"{part} {ms[f'ours, {part}']:.2f}" for part in PARTS)
    floor = tables["variants"].set_index("variant").loc["ours"]
    whole = compare_totals(tables["variants"], tables["epochs"]).loc["ours"]
    sentences = [
        f"A step of ours takes {ms['ours']:.2f} ms ({parts}); without attention, with the mean of "
        f"the tokens, it takes {ms['floor']:.2f} ms: ours is {span(floor, 'step_to_floor', 2)} "
        f"times the floor, and from end to end {whole['to_floor']:.2f} times."
    ]
    sentences.append(
        "In double precision, the mean losses of all epochs differ by at most "
        f"{largest_difference(tables['double']):.0e}."
    )
    epochs = tables["variants"]["epochs"]
    if epochs.min() < epochs.max():
        sentences.append(
            f"* reckoned from {epochs.min()} of {epochs.max()} epochs, over which the losses are "
            "compared."
        )
    return sentences


def translation_table(tables: dict[str, pd.DataFrame]) -> pd.DataFrame:
    """Give one row for each epoch, from what ``Translation.run`` gave."""
    found = tables["epochs"]
    return pd.DataFrame(
        {
            "epoch": found["epoch"],
            "steps": found["step"],
            "loss, training": found["train_loss"].map("{:.3f}".format),
            "loss, validation": found["loss"].map("{:.3f}".format),
            "BLEU, validation, greedy": found["bleu"].map("{:.2f}".format),
            "minutes": (found["seconds"] / 60).map("{:.1f}".format),
        }
    )


def translation_notes(tables: dict[str, pd.DataFrame], settings: Mapping[str, Any]) -> list[str]:
    """Say what the translation benchmark found."""
    test = tables["test"].iloc[0]
    return [
        f"Test, {test['weights']}, {settings['beams']} beams: BLEU {test['bleu']:.2f}.",
        f"Signature: {settings['signature']}.",
        f"Lower-cased: BLEU {test['bleu_lowercase']:.2f}, {settings['signature_lowercase']}.",
        f"{settings['parameters']:,} parameters, trained in {settings['train_seconds'] / 60:.1f} "
        f"minutes ({settings['train_core_seconds'] / 60:.1f} of a core's work).",
    ]
