"""What each benchmark found: a table and sentences for the screen, and more for the page.

The page's own sentences are in ``texts/``.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import product
from typing import Any

import pandas as pd

from benchmarks import pictures
from benchmarks.layers import PASSES, ours_and_best
from benchmarks.training import compare_totals, largest_difference
from benchmarks.wording import factor, number, plain, rate, small, span
from utils.figures import DescribedFigure

DEVICES = {"cpu": "processor", "cuda": "GPU"}
CORPORA = {"news": "articles of the news", "docstrings": "docstrings in place of the news"}


@dataclass(frozen=True)
class Part:
    """What is shown of a result.

    ``fields`` has what the text of the page names in braces, a table among them, in addition to the
    settings; ``draw`` gives the pictures by name.
    """

    table: pd.DataFrame
    notes: list[str]
    fields: dict[str, Any]
    draw: Callable[[], dict[str, DescribedFigure]]


def training(result: dict[str, Any], device: str) -> Part:
    """Show the ways to compute the classifier, a row for each."""
    settings, where = result["settings"], f"one {DEVICES[device]}"
    tables = {name: pd.DataFrame(rows) for name, rows in result["tables"].items()}
    ways = compare_totals(tables["variants"], tables["epochs"])
    table = pd.DataFrame(_way(row, device) for row in ways.to_dict("records"))
    accuracies = tables["epochs"].pivot(index="variant", columns="epoch", values="val_accuracy")
    accuracies = accuracies.loc[ways.index, 1:].map(lambda x: number(x, "{:.3f}".format))
    accuracies.insert(0, "way", ways["name"])
    losses, ms = tables["double"], tables["steps"].set_index("part")["ms"]
    names = ", ".join(f"“{name}”" for name in losses.columns)
    sentences = {
        "gain": _gain(ways),
        "reckoned": _reckoned(ways, settings),
        "double": (
            f"In double precision, {len(losses)} epochs of {names} give mean losses that differ "
            f"by at most {small(largest_difference(losses))}."
        ),
        "step": (
            f"A step of ours takes {ms['ours']:.2f} ms: forward {ms['ours, forward']:.2f}, "
            f"backward {ms['ours, backward']:.2f}, optimiser {ms['ours, optimiser']:.2f}."
        ),
    }
    others = ["way", "memory, MiB", "losses", "outputs", table.columns[-1]]
    fields = sentences | {"corpus": CORPORA[settings["source"]]}
    frames = {"times": table.loc[:, :"step, times as fast"], "others": table[others]}
    return Part(
        table,
        [sentence.strip().replace("**", "") for sentence in sentences.values() if sentence],
        fields | frames | {"accuracies": accuracies},
        lambda: {"training": pictures.draw_training(ways, settings["epochs"], where)},
    )


def _way(row: dict[Any, Any], device: str) -> dict[str, str]:
    return {
        "way": row["name"],
        "seconds": plain(row["seconds"]),
        "times as fast": factor(row["speedup"]),
        "within an epoch (range)": span(row, "epoch_speedup"),
        "step, ms": plain(row["step_ms"]),
        "step, times as fast": span(row, "step_speedup"),
        "step / floor": factor(row["step_to_floor"]),
        "memory, MiB": number(row.get("peak_mib")),
        "losses": small(row["loss_difference"]),
        "outputs": small(row["logits_before"]),
        "accuracy": f"{row['val_accuracy']:.3f}",
        **rate(row, device),
    }


def _gain(ways: pd.DataFrame) -> str:
    ours, row = ways.loc["ours"], ways.loc["row"]
    return (
        f"Asked for the one row that the classifier reads, and for no weights, PyTorch's layer "
        f"takes {number(row['seconds'])} s from end to end, and ours {number(ours['seconds'])} s: "
        f"ours is **{factor(row['seconds'] / ours['seconds'])} times as fast** as the best that "
        f"PyTorch's layer can be asked (a single step {number(row['step_ms'])} ms against "
        f"{number(ours['step_ms'])} ms). "
        f"In all, ours is {factor(ours['speedup'])} times as fast as PyTorch's layer "
        f"called as the blog calls it ({number(ways['seconds'].iloc[0])} s against "
        f"{number(ours['seconds'])} s), within an epoch {span(ours, 'epoch_speedup')} times in "
        f"the median, and a single step {span(ours, 'step_speedup')} times. "
        f"Without attention a step would still take {number(ways.loc['floor', 'step_ms'])} ms: "
        f"ours takes {span(ours, 'step_to_floor')} times this floor, and from end to end "
        f"{factor(ours['to_floor'])} times."
    )


def _reckoned(ways: pd.DataFrame, settings: dict[str, Any]) -> str:
    fewer, whole = settings["slow_epochs"], settings["epochs"]
    names = " and ".join(f"“{name}”" for name in ways.loc[ways["epochs"] < whole, "name"])
    said = f" The seconds of {names} are reckoned from {fewer} of the {whole} epochs."
    return said if names else ""


def layers(result: dict[str, Any], device: str) -> Part:
    """Show ours beside the fastest peer, a row for each question, pass and shape."""
    rows = pd.DataFrame(result["tables"]["layers"])
    lines = []
    for (case, way, asked), group in rows.groupby(["case", "pass", "asked"], sort=False):
        ours, best = ours_and_best(group)
        line = {"shape": case, "pass": way, "asked": asked, "ours, ms": plain(ours["ms"])}
        line |= {"fastest peer": best["name"], "its ms": plain(best["ms"])}
        line |= {"ours / peer": span(ours, "to_peer"), "ours / floor": span(ours, "to_floor")}
        lines.append(line | rate(ours, device))
    table = pd.DataFrame(lines)
    notes = result["settings"]["notes"]
    fields: dict[str, Any] = {
        "difference": small(rows["difference"].max()),
        "summary": _summary(rows),
    }
    for asked, way in product(("none", "mean", "all"), PASSES):
        some = table[(table["asked"] == asked) & (table["pass"] == way)]
        whole = some["shape"].str.replace(" ", "\u00a0")
        fields[f"{asked}-{way}"] = some.assign(shape=whole).drop(columns=["pass", "asked"])

    def draw() -> dict[str, DescribedFigure]:
        where = f"one {DEVICES[device]}"
        found = {"layers": pictures.draw_layers(rows, where)}
        if (rows["queries"] == 1).any():
            found["few-queries"] = pictures.draw_few_queries(rows, where)
        return found

    return Part(table, [fields["summary"], *notes], fields | {"missing": "\n\n".join(notes)}, draw)


def _summary(rows: pd.DataFrame) -> str:
    ours = rows[(rows["kind"] == "ours") & (rows["asked"] == "none")]
    parts = []
    for few, words in ((False, "With as many queries as keys"), (True, "With one query")):
        some = ours[(ours["queries"] == 1) == few]
        if some.empty:
            continue
        parts.append(
            f"{words} ours takes {some['to_peer'].min():.2f} to {some['to_peer'].max():.2f} times "
            f"as long as the fastest peer, and {some['to_floor'].min():.2f} to "
            f"{some['to_floor'].max():.2f} times as long as the floor."
        )
    return " ".join(parts) + " (No weights asked for; medians, over all shapes and both passes.)"
