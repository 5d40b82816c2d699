"""What was measured, drawn: one picture for each question, with its text alternative."""

from __future__ import annotations

from typing import Any

import matplotlib.pyplot as plt
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.ticker import FuncFormatter, LogLocator, NullLocator

from benchmarks import peers
from benchmarks.wording import plain
from utils.figures import DescribedFigure
from utils.palette import INK, PALETTE, PAPER

PASSES = {"forward": "forward", "both": "forward and backward"}


def draw_training(variants: pd.DataFrame, epochs: int, where: str) -> DescribedFigure:
    """Draw a mark for each way to compute the classifier: seconds from end to end.

    ``variants`` is what ``compare_totals`` gives.
    """
    title = f"The news classifier, {epochs} epochs ({where})"
    figure, axes = plt.subplots(figsize=(6, 0.42 * len(variants) + 1.2))
    libraries = {library.name: library for library in peers.LIBRARIES}
    said = []
    for place, row in enumerate(variants.reset_index().to_dict("records")):
        who = libraries["ours" if row["variant"] in ("ours", "bag") else "torch.nn"]
        axes.plot(row["seconds"], place, who.marker, color=who.colour, markersize=9)
        label = f"{plain(row['seconds'])} s, {plain(row['speedup'])}× as fast"
        axes.annotate(
            label,
            (row["seconds"], place),
            (9, 0),
            textcoords="offset points",
            va="center",
            bbox={"facecolor": PAPER, "edgecolor": "none", "pad": 1},  # hides the grid's line
        )
        said.append(f"{row['name']} {label}")
    axes.set_yticks(range(len(variants)), variants["name"])
    axes.set_ylim(len(variants) - 0.5, -0.5)
    axes.grid(axis="y", alpha=0.4)
    axes.set(xlabel="seconds from end to end (each tick ten times the last)")
    _logarithmic(axes, "x")
    axes.set_xlim(variants["seconds"].min() / 2, variants["seconds"].max() * 50)
    first = variants["name"].iloc[0]
    best = max(variants.to_dict("records"), key=lambda row: row["speedup"])
    caption = f"{best['name']} is {plain(best['speedup'])} times as fast as {first}. {title}."
    return DescribedFigure(figure, f"{title}, compared with {first}: {'; '.join(said)}.", caption)


def draw_layers(rows: pd.DataFrame, where: str) -> DescribedFigure:
    """Draw each library's best layer at each shape, in multiples of the floor, without weights."""
    title = f"Time of one layer, in multiples of the floor ({where})"
    best = _best(rows)
    cases = list(dict.fromkeys(best["case"]))
    figure, panels = plt.subplots(1, 2, figsize=(8.5, 0.36 * len(cases) + 1.9), sharey=True)
    for axes, (passes, name) in zip(panels, PASSES.items(), strict=True):
        axes.axvline(1, color=INK, linewidth=1)
        for who in reversed(peers.LIBRARIES):  # ours on top
            some = best[(best["pass"] == passes) & (best["library"] == who.name)]
            places = [cases.index(case) for case in some["case"]]
            style: dict[str, Any] = {"color": who.colour, "label": who.name, "markersize": 7}
            axes.plot(some["to_floor"], places, who.marker, **style)
        axes.set(title=name, xlabel="times the floor")
        axes.grid(axis="y", alpha=0.4)
        _logarithmic(axes, "x", ticks=(1, 2, 5))
    panels[0].set_yticks(range(len(cases)), cases)
    panels[0].invert_yaxis()
    panels[0].set_ylabel("(batch, tokens, width, heads)")
    handles, labels = panels[0].get_legend_handles_labels()
    figure.legend(handles[::-1], labels[::-1], loc="outside lower center", ncols=len(labels))
    said = []
    for who in peers.LIBRARIES:
        for passes, name in PASSES.items():
            ratios = best.loc[(best["pass"] == passes) & (best["library"] == who.name), "to_floor"]
            if len(ratios):
                said.append(f"{who.name}, {name}: {ratios.min():.2f} to {ratios.max():.2f}")
    return DescribedFigure(
        figure,
        f"{title}: a mark for each library at each of {len(cases)} shapes. "
        f"Range over the shapes: {'; '.join(said)}.",
        f"{title}. A mark for each library at each shape; the line at 1 is the floor.",
    )


def draw_few_queries(rows: pd.DataFrame, where: str) -> DescribedFigure:
    """Draw the time of one query over the number of keys, a line for each library."""
    title = f"One query and ever more keys, forward ({where})"
    some = _best(rows[rows["queries"] == 1])
    alone = some["batch"] == some["batch"].min()
    some = some[(some["pass"] == "forward") & alone].sort_values("keys")
    figure, axes = plt.subplots(figsize=(7.5, 4.2))
    said = []
    for who in peers.LIBRARIES:
        line = some[some["library"] == who.name]
        if line.empty:
            continue
        axes.plot(line["keys"], line["ms"], f"-{who.marker}", color=who.colour, label=who.name)
        first, last = line.iloc[0], line.iloc[-1]
        said.append(f"{who.name} from {first['ms']:.3g} to {last['ms']:.3g} ms")
    beneath = rows[(rows["kind"] == "floor") & rows["case"].isin(some["case"])]
    floor = beneath[beneath["pass"] == "forward"].groupby("keys", as_index=False)["ms"].min()
    axes.plot(floor["keys"], floor["ms"], "--", color=INK, label="floor")
    _logarithmic(axes, "x")
    _logarithmic(axes, "y")
    axes.set_xticks(floor["keys"], [f"{keys:,}" for keys in floor["keys"]])
    axes.set(xlabel="keys", ylabel="milliseconds")
    axes.grid(alpha=0.4)
    axes.legend()
    ends = f"From {floor['keys'].iloc[0]:,} to {floor['keys'].iloc[-1]:,} keys"
    alt = f"{title}, a line for each library. {ends}: {'; '.join(said)}."
    caption = f"{title}. One sequence; width and heads as in the table."
    return DescribedFigure(figure, alt, caption)


def draw_writing(rows: pd.DataFrame, where: str, finding: str) -> DescribedFigure:
    """Draw the tokens a second of each way on some threads, a panel for each number of texts.

    ``finding`` begins the caption; its marks of Markdown go.
    """
    batches, ways = rows["batch"].unique(), list(rows["way"].unique())
    lines = rows[["way", "threads"]].drop_duplicates()
    names = [f"{way}, threads: {threads}" for way, threads in lines.to_numpy().tolist()]
    size = (8.5, 0.36 * len(names) + 1.4)
    figure, panels = plt.subplots(1, len(batches), figsize=size, sharey=True, squeeze=False)
    said = []
    for axes, batch in zip(panels[0], batches, strict=True):
        some = rows[rows["batch"] == batch]
        for place, row in enumerate(some.to_dict("records")):
            colour = PALETTE[(1, 0, 2, 3)[ways.index(row["way"]) % 4]]
            axes.plot([row["per_second_low"], row["per_second_high"]], [place] * 2, color=colour)
            axes.plot(row["per_second"], place, "o^sD"[ways.index(row["way"]) % 4], color=colour)
            said.append(f"{batch} at once, {names[place]}: {plain(row['per_second'])}")
        texts = "one text" if batch == 1 else f"{batch} texts at once"
        axes.set(title=texts, xlabel="tokens a second", xlim=(0, None))
        axes.grid(alpha=0.4)
    panels[0, 0].set_yticks(range(len(names)), names)
    panels[0, 0].invert_yaxis()
    title = f"Tokens a second, median and range ({where})"
    caption = finding.replace("**", "").replace("`", "")
    return DescribedFigure(figure, f"{title}. {'; '.join(said)}.", f"{caption} {title}.")


def _best(rows: pd.DataFrame) -> pd.DataFrame:
    """Of each library keep the layer that was fastest where no weights were asked for."""
    asked = rows[(rows["asked"] == "none") & (rows["kind"] != "floor")]
    asked = asked.assign(library=asked["name"].str.split(",").str[0])  # of "BERT, sdpa"
    unknown = set(asked["library"]) - {library.name for library in peers.LIBRARIES}
    if unknown:
        names = ", ".join(sorted(unknown))
        raise ValueError(f"{names} was measured, but has no entry in benchmarks.peers.LIBRARIES.")
    return asked.sort_values("ms", kind="stable").drop_duplicates(
        ["case", "pass", "library"]
    ).sort_index()  # fmt: skip


def _logarithmic(axes: Axes, which: str, ticks: tuple[int, ...] = (1,)) -> None:
    options: dict[str, Any] = {f"{which}scale": "log"}
    axes.set(**options)
    axis = axes.xaxis if which == "x" else axes.yaxis
    axis.set_major_locator(LogLocator(subs=ticks))
    axis.set_major_formatter(FuncFormatter(plain))
    axis.set_minor_locator(NullLocator())
