"""What each benchmark found: sentences, tables and a picture, by the names in ``texts/``."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from itertools import product
from typing import Any

import matplotlib.pyplot as plt
import pandas as pd
from matplotlib.ticker import FuncFormatter, LogLocator, NullLocator

from benchmarks.layers import PASSES
from benchmarks.training import BASELINE, FLOOR
from benchmarks.variants import VARIANTS
from benchmarks.writing import DEFAULT, OURS
from benchmarks.writing import FLOOR as PRODUCTS
from utils.figures import DescribedFigure
from utils.palette import PALETTE

DEVICES = {"cpu": "processor", "cuda": "GPU"}
CORPORA = {"news": "articles of the news", "docstrings": "docstrings in place of the news"}


def plain(value: float, _: object = None) -> str:
    """Write a number of an axis or a table with three digits at most, and no exponent."""
    return "" if pd.isna(value) else f"{value:,.0f}" if value >= 100 else f"{value:.3g}"


def factor(value: float, like: float | None = None) -> str:
    """Write a ratio, with as many digits as one ``like`` it has."""
    like = value if like is None else like
    return f"{value:,.{0 if like >= 100 else 1 if like >= 10 else 2}f}"


def span(row: Any, name: str) -> str:
    """Write a median, and in brackets its quartiles, or whatever ``_low`` and ``_high`` are."""
    median, low, high = (factor(row[name + end], row[name]) for end in ("", "_low", "_high"))
    return f"{median} ({low}–{high})"


def small(value: float) -> str:
    """Write a difference by its order of magnitude."""
    return "" if pd.isna(value) else "0" if value == 0 else f"{value:.0e}"


def draw(
    panels: Mapping[str, pd.DataFrame], finding: str, title: str, axis: str, log: bool = True
) -> DescribedFigure:
    """Draw marks in panels beside each other, a row of the picture for each ``place``.

    Parameters
    ----------
    panels : by their titles, DataFrames with a row for each mark: ``place``, ``value``, and ``who``
        it is of, which gives it colour and form
    finding : str, one sentence or more, with which the caption begins; its marks of Markdown go
    axis : str, what the values are
    """
    rows = pd.concat(panels.values())
    places, everyone = (list(dict.fromkeys(rows[name])) for name in ("place", "who"))
    size = (8.5, 0.36 * len(places) + 1.9)
    figure, axes = plt.subplots(1, len(panels), figsize=size, sharey=True, squeeze=False)
    said = []
    for panel, (name, some) in zip(axes[0], panels.items(), strict=True):
        for n, who in enumerate(everyone):
            of = some[some["who"] == who]
            which = 0 if everyone == places else n  # each has a row of its own
            style: dict[str, Any] = {"color": PALETTE[which % len(PALETTE)], "label": who}
            panel.plot(of["value"], of["place"].map(places.index), "o^sDPXv*"[which % 8], **style)
            ends = dict.fromkeys(plain(x) for x in (of["value"].min(), of["value"].max()))
            said.append(f"{', '.join(filter(None, (name, who)))} {' to '.join(ends)}")
        panel.set(title=name, xlabel=axis)
        panel.grid(axis="y", alpha=0.4)
        if log:
            panel.set_xscale("log")
            panel.xaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
            panel.xaxis.set_major_formatter(FuncFormatter(plain))
            panel.xaxis.set_minor_locator(NullLocator())
        else:
            panel.set_xlim(0)
    axes[0, 0].set_yticks(range(len(places)), places)
    axes[0, 0].invert_yaxis()
    if everyone != places:
        labels = axes[0, 0].get_legend_handles_labels()
        figure.legend(*labels, loc="outside lower center", ncols=len(everyone))
    caption = f"{finding} {title}, {axis}.".replace("**", "").replace("`", "")
    return DescribedFigure(figure, f"{title}, {axis}: {'; '.join(said)}.", caption)


def training(result: dict[str, Any], device: str) -> dict[str, Any]:
    """Show the ways to compute the classifier, a row for each."""
    settings = result["settings"]
    tables = {name: pd.DataFrame(rows) for name, rows in result["tables"].items()}
    ways = compare_totals(tables["variants"], tables["epochs"])
    times = pd.DataFrame(
        {
            "way": row["name"],
            "seconds": plain(row["seconds"]),
            "times as fast": factor(row["speedup"]),
            "within an epoch (range)": span(row, "epoch_speedup"),
            "step, ms": plain(row["step_ms"]),
            "step, times as fast": span(row, "step_speedup"),
        }
        for row in ways.to_dict("records")
    )
    others = pd.DataFrame(
        {
            "way": row["name"],
            "memory, MiB": plain(row.get("peak_mib", float("nan"))),
            "losses": small(row["loss_difference"]),
            "outputs": small(row["logits_before"]),
        }
        for row in ways.to_dict("records")
    )
    accuracies = tables["epochs"].pivot(index="variant", columns="epoch", values="val_accuracy")
    accuracies = accuracies.loc[ways.index, 1:].map(lambda x: "" if pd.isna(x) else f"{x:.3f}")
    accuracies.insert(0, "way", ways["name"])
    marks = pd.DataFrame({"place": ways["name"], "value": ways["seconds"], "who": ways["name"]})
    title = f"The news classifier, {settings['epochs']} epochs (one {DEVICES[device]})"
    by_name = ways.to_dict("index")
    ours, row, first, floor = (by_name[name] for name in ("ours", "row", BASELINE, FLOOR))
    finding = f"Ours is {plain(ours['speedup'])} times as fast as {first['name']}."
    gain = (
        f"Asked for the one row that the classifier reads, and for no weights, PyTorch's layer "
        f"takes {plain(row['seconds'])} s from end to end, and ours {plain(ours['seconds'])} s: "
        f"ours is **{factor(row['seconds'] / ours['seconds'])} times as fast** as the best that "
        f"PyTorch's layer can be asked (a single step {plain(row['step_ms'])} ms against "
        f"{plain(ours['step_ms'])} ms). In all, ours is {factor(ours['speedup'])} times as fast "
        f"as PyTorch's layer called as the blog calls it ({plain(first['seconds'])} s against "
        f"{plain(ours['seconds'])} s), within an epoch {span(ours, 'epoch_speedup')} times in "
        f"the median, and a single step {span(ours, 'step_speedup')} times. "
        f"Without attention a step would still take {plain(floor['step_ms'])} ms: "
        f"ours takes {span(ours, 'step_to_floor')} times this floor, and from end to end "
        f"{factor(ours['seconds'] / floor['seconds'])} times."
    )
    return {
        "corpus": CORPORA[settings["source"]],
        "slow": " and ".join(f"“{VARIANTS[name].name}”" for name in ("loop", "reshaped")),
        "gain": gain,
        "picture": draw({"": marks}, finding, title, "seconds from end to end"),
        "times": times,
        "others": others,
        "accuracies": accuracies,
    }


def compare_totals(variants: pd.DataFrame, epochs: pd.DataFrame) -> pd.DataFrame:
    """Add the ratios of whole trainings, and those of single epochs, to the table of variants.

    The two are not the same: a disturbed epoch counts in full in a total, and hardly in a median.

    Returns
    -------
    DataFrame with a row for each variant, by its name, and with ``speedup``, the seconds of the
    baseline by its own; and ``epoch_speedup``, the median over the epochs of the baseline's seconds
    by its own, with the least and the largest of these ratios as ``epoch_speedup_low`` and
    ``epoch_speedup_high``
    """
    found = variants.set_index("variant")
    trained = epochs[epochs["epoch"] > 0]
    wide = trained.pivot(index="epoch", columns="variant", values="seconds")[found.index]
    ratios = wide.rdiv(wide[BASELINE], axis="index")
    return found.assign(
        speedup=found["seconds"].rdiv(found["seconds"][BASELINE]),
        epoch_speedup=ratios.median(),
        epoch_speedup_low=ratios.min(),
        epoch_speedup_high=ratios.max(),
    )


def layers(result: dict[str, Any], device: str) -> dict[str, Any]:
    """Show ours beside the fastest peer, a row for each question, pass and shape."""
    rows = pd.DataFrame(result["tables"]["layers"])
    fields: dict[str, Any] = {}
    for asked, way in product(("none", "mean", "all"), PASSES):
        some = rows[(rows["asked"] == asked) & (rows["pass"] == way)]
        fields[f"{asked}-{way}"] = pd.DataFrame(
            _ours_and_best(group) for _, group in some.groupby("case", sort=False)
        )
    some = rows[(rows["asked"] == "none") & (rows["kind"] != "floor")]
    some = some.assign(who=some["name"].str.split(",").str[0], place=some["case"])  # "BERT, sdpa"
    some = some.rename(columns={"to_floor": "value"})
    best = some.groupby(["pass", "place", "who"], sort=False, as_index=False)[["value"]].min()
    panels = {
        name: best[best["pass"] == way]
        for way, name in zip(PASSES, ("forward", "forward and backward"), strict=True)
    }
    title, summary = f"One layer (one {DEVICES[device]})", _summary(rows)
    if device == "cuda":
        summary += _host(rows)
    return fields | {
        "picture": draw(panels, summary, title, "times the floor"),
        "summary": summary,
        "difference": small(rows["difference"].max()),
        "missing": "\n\n".join(result["settings"]["notes"]),
    }


def _ours_and_best(group: pd.DataFrame) -> dict[str, str]:
    """Put ours beside the fastest peer, of one case, pass and kind of question."""
    ours = group[group["kind"] == "ours"].iloc[0]
    best = group[(group["kind"] == "peer") & (group["to_peer"] == 1)].iloc[0]
    return {
        "shape": ours["case"].replace(" ", "\u00a0"),
        "ours, ms": plain(ours["ms"]),
        "fastest peer": best["name"],
        "its ms": plain(best["ms"]),
        "ours / peer": span(ours, "to_peer"),
        "ours / floor": span(ours, "to_floor"),
    }


def _summary(rows: pd.DataFrame) -> str:
    ours = rows[(rows["kind"] == "ours") & (rows["asked"] == "none")]
    parts = []
    for few, words in ((False, "With as many queries as keys"), (True, "With one query")):
        some = ours[(ours["queries"] == 1) == few]
        parts.append(
            f"{words} ours takes {some['to_peer'].min():.2f} to {some['to_peer'].max():.2f} times "
            f"as long as the fastest peer, and {some['to_floor'].min():.2f} to "
            f"{some['to_floor'].max():.2f} times as long as the floor."
        )
    return " ".join(parts) + " (No weights asked for; medians, over all shapes and both passes.)"


def _host(rows: pd.DataFrame) -> str:
    """Say how little the work counts: one query takes as long as all of the same shape."""
    some = rows[(rows["kind"] == "ours") & (rows["asked"] == "none") & (rows["pass"] == "forward")]
    times = some.set_index("case")["ms"]
    every = str(times.index[0])  # such as "(32, 512, 64, 8)"
    one = every.replace(", ", ", 1 of ", 1)
    return (
        f" At these shapes the host sets the pace: {every} takes ours {plain(times[every])} ms, "
        f"and with one query {plain(times[one])} ms. Ours asks the GPU for more steps than a layer "
        "that packs its projections."
    )


def writing(result: dict[str, Any], device: str) -> dict[str, Any]:
    """Show ours beside each other way, a row for each batch and number of threads."""
    rows = pd.DataFrame(result["tables"]["writing"])
    ours = rows[rows["way"] == OURS].set_index(["batch", "threads"]).to_dict("index")
    others = rows[rows["way"] != OURS].to_dict("records")
    pairs = [(row, ours[row["batch"], row["threads"]]) for row in others]
    table = pd.DataFrame(
        {
            "beside ours": row["way"],
            "texts": f"{row['batch']}",
            "threads": f"{row['threads']}",
            "its seconds": span(row, "seconds"),
            "seconds of ours": span(mine, "seconds"),
            "ours is times as fast": span(row, "to_ours"),
            "its tokens a second": plain(row["per_second"]),
            "of ours": plain(mine["per_second"]),
        }
        for row, mine in pairs
    )
    said: dict[int, list[str]] = {}
    for row, mine in pairs:
        if row["way"] == DEFAULT:
            threads = "one thread" if row["threads"] == 1 else f"{row['threads']} threads"
            said.setdefault(row["batch"], []).append(
                f"on {threads} ours writes **{plain(mine['per_second'])} tokens a second** and "
                f"`generate` {plain(row['per_second'])}, so ours is **{span(row, 'to_ours')} "
                "times as fast**"
            )
    texts = {batch: f"{batch} texts at once" for batch in said} | {1: "One text at a time"}
    shares = [
        f"{row['seconds'] / mine['seconds']:.0%} with {row['batch']} on {row['threads']}"
        for row, mine in pairs
        if row["way"] == PRODUCTS
    ]
    marks = rows[rows["way"] != PRODUCTS].rename(columns={"per_second": "value", "way": "who"})
    marks["place"] = marks["who"] + ", threads: " + marks["threads"].astype(str)
    panels = {texts[batch]: marks[marks["batch"] == batch] for batch in said}
    title = f"A model that writes (one {DEVICES[device]})"
    summary = [f"{texts[n]}: {'; '.join(each)}." for n, each in said.items()]
    return {
        "table": table,
        "summary": " ".join(summary),
        "shares": ", ".join(shares),
        "calls": rows.drop_duplicates("way").set_index("way")["calls"].to_dict(),
        "picture": draw(panels, summary[0], title, "tokens a second", log=False),
    }


PARTS: dict[str, Callable[[dict[str, Any], str], dict[str, Any]]] = {
    "training": training,
    "layers": layers,
    "writing": writing,
}
