"""The plots that several chapters draw."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import matplotlib as mpl
import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import plotnine as p9
import seaborn as sns
from matplotlib.axes import Axes
from matplotlib.colors import Colormap
from matplotlib.ticker import MaxNLocator
from sklearn.metrics import confusion_matrix
from torch import Tensor

from utils.figures.figure import SIZE, DescribedFigure
from utils.figures.palette import (
    HEAD_COLOURS,
    INK,
    PALE,
    PALETTE,
    PAPER,
    SEQUENTIAL,
    tint,
)

LOSSES = {"train_loss": "training", "val_loss": "validation"}  # column: what it is called


def heat_map(
    axes: Axes,
    values: Tensor | np.ndarray | pd.DataFrame,
    rows: Sequence[Any] | bool = True,
    columns: Sequence[Any] | bool = True,
    *,
    cmap: Colormap = SEQUENTIAL,
    vmin: float = 0.0,
    vmax: float = 1.0,
    fmt: str | None = ".2f",
    texts: np.ndarray | None = None,
) -> None:
    """Draw a matrix as cells, the darker the larger, each with its number.

    Parameters
    ----------
    axes : matplotlib Axes to draw in
    values : matrix of R rows and C columns
    rows, columns : R and C names; True for those of the data frame, False for none
    cmap : colour map, of ``vmin`` to ``vmax``
    fmt : how to write the numbers; None for cells without
    texts : R by C strings to write in place of the numbers

    Raises
    ------
    ValueError
        if the names do not fit the matrix
    """
    table = values if isinstance(values, pd.DataFrame) else pd.DataFrame(np.asarray(values))
    for names, size, which in (
        (rows, table.shape[0], "rows"),
        (columns, table.shape[1], "columns"),
    ):
        if not isinstance(names, bool) and len(names) != size:
            raise ValueError(f"{len(names)} names do not fit the {size} {which} of the matrix.")
    written = texts if texts is not None else fmt is not None
    sns.heatmap(table, ax=axes, cmap=cmap, vmin=vmin, vmax=vmax, cbar=False, square=True,
                annot=written, fmt=(fmt or "") if texts is None else "",
                xticklabels=columns, yticklabels=rows, linewidths=0.5,
                linecolor=PAPER if cmap(0.0)[3] else PALE)  # fmt: skip
    axes.tick_params(axis="y", rotation=0, length=0)
    axes.tick_params(axis="x", length=0)
    shares = cmap(mpl.colors.Normalize(vmin, vmax)(table.to_numpy(dtype=float).ravel()))[:, 3]
    for text, share in zip(axes.texts, shares, strict=False):
        text.set_color(PAPER if share > 0.85 else INK)


def plot_losses(histories: dict[str, pd.DataFrame], caption: str) -> DescribedFigure:
    """Draw the losses of several models over the epochs, one facet a model.

    Parameters
    ----------
    histories : dict from the model's name to what ``utils.training.train`` returned
    caption : str, what the figure shows, the finding first

    Raises
    ------
    ValueError
        if there is no history
    """
    if not histories:
        raise ValueError("there is no history to plot; give {name: history}.")
    rows = pd.concat([history.assign(model=name) for name, history in histories.items()])
    rows = rows.rename(columns=LOSSES).melt(
        ["model", "epoch"], list(LOSSES.values()), "documents", "loss"
    )
    rows = rows.dropna()  # a model trained without validation has one curve
    rows["model"] = pd.Categorical(rows["model"], list(histories))  # in the order given
    plot = (
        p9.ggplot(rows, p9.aes("epoch", "loss", color="documents", linetype="documents"))
        + p9.geom_line(size=1)
        + p9.facet_wrap("model", nrow=1)
        + p9.scale_color_manual(PALETTE)
        + p9.scale_x_continuous(breaks=_whole_numbers)
        + p9.expand_limits(y=0)
        + p9.labs(x="epoch", y="cross-entropy (nats)")
        + p9.theme_bw(base_size=SIZE)
        + p9.theme(
            figure_size=(8.6, 3.2),
            legend_position="bottom",
            text=p9.element_text(color=INK, size=SIZE),
            axis_text=p9.element_text(color=INK, size=SIZE),
            strip_text=p9.element_text(size=SIZE),
            legend_text=p9.element_text(size=SIZE),
            strip_background=p9.element_blank(),
            panel_background=p9.element_blank(),
            plot_background=p9.element_blank(),
            panel_grid_minor=p9.element_blank(),
            panel_grid_major=p9.element_line(color=PALE),
        )
    )
    curves = [f"{name}, {_fall(history)}" for name, history in histories.items()]
    return DescribedFigure(plot, f"Loss curves, one panel a model: {'; '.join(curves)}.", caption)


def _whole_numbers(limits: tuple[float, float]) -> list[float]:
    return list(MaxNLocator(6, integer=True).tick_values(*limits))


def _fall(history: pd.DataFrame) -> str:
    first, last = history.iloc[0], history.iloc[-1]
    falls = [
        f"{name} loss from {first[column]:.2f} to {last[column]:.2f}"
        for column, name in LOSSES.items()
        if not history[column].isna().any()
    ]
    return f"{' and '.join(falls)} in {len(history)} epochs"


def plot_confusion(
    labels: Sequence[int], predicted: Sequence[int], class_names: Sequence[str], caption: str
) -> DescribedFigure:
    """Draw how many documents of each class were taken for which class.

    Parameters
    ----------
    labels, predicted : N ints each, from 0 to C - 1
    class_names : C names
    caption : str, what the figure shows, the finding first

    Raises
    ------
    ValueError
        if the two are not equally long, or a label has no name
    """
    if unnamed := {*labels, *predicted} - set(range(len(class_names))):
        raise ValueError(f"there is no class name for the labels {sorted(unnamed)}.")
    counts = confusion_matrix(labels, predicted, labels=range(len(class_names)))
    figure, axes = plt.subplots(figsize=(5.5, 4.5))
    names = list(class_names)
    heat_map(axes, counts, names, names, vmax=counts.max(), fmt="d")
    axes.set(xlabel="predicted class", ylabel="true class")
    axes.tick_params(axis="x", rotation=45)
    right = "; ".join(f"{n} {counts[i, i]} of {counts[i].sum()}" for i, n in enumerate(names))
    wrong = counts.copy()
    wrong[range(len(names)), range(len(names))] = 0
    true, taken = divmod(int(wrong.argmax()), len(names))
    mistake = (
        f" Most often confused: {names[true]} taken for {names[taken]}, {wrong.max()} of them."
    )
    alt = f"Confusion matrix, documents classified rightly: {right}."
    alt += mistake if wrong.any() else " There is no mistake."
    return DescribedFigure(figure, alt, caption)


def plot_attention(
    weights: Tensor, queries: Sequence[str], keys: Sequence[str], caption: str
) -> DescribedFigure:
    """Draw attention weights, a row for each query and a column for each key.

    Several heads stand in panels, each in its colour.

    Parameters
    ----------
    weights : Tensor of shape (T, S), or (H, T, S) for one panel a head
    queries, keys : T and S names, such as the tokens
    caption : str, what the figure shows, the finding first

    Raises
    ------
    ValueError
        if the names do not fit the shape of the weights
    """
    heads = weights.detach().float().reshape(-1, *weights.shape[-2:])  # (H, T, S)
    if weights.dim() not in (2, 3) or heads.shape[1:] != (len(queries), len(keys)):
        raise ValueError(
            f"weights of shape {tuple(weights.shape)} do not fit {len(queries)} queries and "
            f"{len(keys)} keys; expected (T, S) or (H, T, S)."
        )
    H = len(heads)
    size = (0.7 + H * (1 + 0.55 * len(keys)), 1 + 0.5 * len(queries))
    figure, panels = plt.subplots(1, H, squeeze=False, figsize=size)
    best = []
    for h, (head, axes) in enumerate(zip(heads, panels[0], strict=True)):
        few = len(keys) <= 8  # else the numbers do not fit into the cells
        colours = tint(HEAD_COLOURS[h % len(HEAD_COLOURS)]) if H > 1 else SEQUENTIAL
        heat_map(axes, head, queries, keys, cmap=colours, fmt=".2f" if few else None)
        if max(map(len, keys)) > 5:
            axes.tick_params(axis="x", rotation=90)
        axes.set(xlabel="key", ylabel="query" if h == 0 else "", title=f"head {h}" if H > 1 else "")
        most = [f"{q} to {keys[int(row.argmax())]} {row.max():.2f}"
                for q, row in zip(queries, head, strict=True)]  # fmt: skip
        best.append((f"head {h}: " if H > 1 else "") + ", ".join(most))
    alt = f"Attention weights. Largest weight of each query: {'; '.join(best)}."
    return DescribedFigure(figure, alt, caption)
