"""The page's part about one layer."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pandas as pd

from benchmarks.layers import ours_and_best
from benchmarks.markdown import DEVICES, Part, measured, picture, rate, small, span, table
from benchmarks.pictures import PASSES, draw_few_queries, draw_layers, plain


def layers(result: dict[str, Any], device: str) -> Part:
    """Give the part about one layer."""
    rows = pd.DataFrame(result["tables"]["layers"])
    where = f"one {DEVICES[device]}"
    figures = {f"layers-{device}": draw_layers(rows, where)}
    captions = [measured(result, device)]
    if (rows["queries"] == 1).any():
        figures[f"few-queries-{device}"] = draw_few_queries(rows, where)
        captions.append("One sequence; width and heads as in the table.")
    shown = zip(figures.items(), captions, strict=True)
    drawn = [picture(name, figure, caption) for (name, figure), caption in shown]
    lines = [
        "Shapes are (batch, tokens, width, heads); “1 of 2048” means that one query attends to "
        "2,048 keys. All layers have the same weights and give the same outputs and gradients "
        f"(largest difference {small(rows['difference'].max())}). The floor is the work alone: the "
        "matrix products and the fused kernel, as bare functions, in the order that needs least. "
        "Ours is `FastMultiHeadAttention`, which projects the keys and values where that is "
        "cheaper, as `MultiHeadAttention` always does, and brings the queries to them where not. "
        "A ratio is the median over rounds in which all took turns, with the quartiles. With the "
        "backward pass, causal layers are timed only where no weights are asked for.",
        _summary(rows),
        *drawn,
        _tables(rows[rows["asked"] == "none"], "no weights asked for", device),
    ]
    for asked, words in (("mean", "the weights' mean over the heads"), ("all", "all weights")):
        inner = _tables(rows[rows["asked"] == asked], f"{words} asked for", device)
        lines.append(f"::::{{dropdown}} Asked for {words}\n{inner}\n::::")
    lines += result["settings"]["notes"]
    return lines, figures


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


def _tables(rows: pd.DataFrame, words: str, device: str) -> str:
    """Give a table for each pass, with a line above it."""
    parts = []
    for passes, name in PASSES.items():
        found = table(_against_the_best(rows[rows["pass"] == passes], device))
        parts.append(f"{name.capitalize()}, {words}:\n\n{found}")
    return "\n\n".join(parts)


def _against_the_best(rows: pd.DataFrame, device: str) -> Iterator[dict[str, str]]:
    for case, group in rows.groupby("case", sort=False):
        ours, best = ours_and_best(group)
        yield {
            "shape": str(case).replace(" ", "\u00a0"),
            "ours, ms": plain(ours["ms"]),
            "fastest peer": best["name"],
            "its ms": plain(best["ms"]),
            "ours / peer": span(ours, "to_peer"),
            "ours / floor": span(ours, "to_floor"),
            **rate(ours, device),
        }
