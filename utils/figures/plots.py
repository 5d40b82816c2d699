"""Figures that everyone can read: a text beside every picture, in the colours of the palette."""

from __future__ import annotations

import io
from collections.abc import Sequence
from typing import Any

import matplotlib as mpl
import matplotlib.pyplot as plt
import pandas as pd
import plotnine as p9
import seaborn as sns
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator
from sklearn.metrics import confusion_matrix
from torch import Tensor

from utils.figures.palette import PALETTE, SEQUENTIAL

LOSSES = {"train_loss": "training", "val_loss": "validation"}  # column: what it is called


class DescribedFigure:
    """A figure with its text alternative, as a notebook and a web page show it.

    Put it at the end of a cell. The picture is vector graphics, and the same bytes for the same
    figure.

    Parameters
    ----------
    figure : matplotlib Figure, or plotnine plot
    alt : str, what a reader who cannot see the figure needs to know, with its numbers

    Raises
    ------
    ValueError
        if the text is empty
    """

    def __init__(self, figure: Figure | p9.ggplot, alt: str) -> None:
        self.alt = " ".join(alt.split())
        if not self.alt:
            raise ValueError("the figure needs a text alternative: say in alt what it shows.")
        drawn: Figure = figure.draw() if isinstance(figure, p9.ggplot) else figure
        buffer = io.StringIO()
        with mpl.rc_context({"svg.hashsalt": "course"}):  # without it the ids are random
            drawn.savefig(buffer, format="svg", bbox_inches="tight", metadata={"Date": None})
        self.svg = buffer.getvalue()
        plt.close(drawn)  # or the notebook shows it a second time

    def _repr_mimebundle_(self, **_: Any) -> tuple[dict[str, str], dict[str, dict[str, str]]]:
        """Give the picture and its text to the notebook."""
        data = {"image/svg+xml": self.svg, "text/plain": self.alt}
        return data, {"image/svg+xml": {"alt": self.alt}}


def plot_losses(histories: dict[str, pd.DataFrame]) -> DescribedFigure:
    """Draw the losses of several models over the epochs, one facet a model.

    Parameters
    ----------
    histories : dict from the model's name to what ``utils.training.train`` returned

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
        + p9.labs(title="Loss over the epochs", x="epoch", y="cross-entropy (nats)")
        + p9.theme_bw()
        + p9.theme(figure_size=(9, 3.2), legend_position="bottom")
    )
    curves = [f"{name}, {_fall(history)}" for name, history in histories.items()]
    return DescribedFigure(plot, f"Loss curves, one panel a model: {'; '.join(curves)}.")


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
    labels: Sequence[int], predicted: Sequence[int], class_names: Sequence[str]
) -> DescribedFigure:
    """Draw how many documents of each class were taken for which class.

    Parameters
    ----------
    labels, predicted : N ints each, from 0 to C - 1
    class_names : C names

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
    sns.heatmap(counts, annot=True, fmt="d", cmap=SEQUENTIAL, square=True, ax=axes,
                xticklabels=names, yticklabels=names, cbar_kws={"label": "documents"})  # fmt: skip
    axes.set(title="Which class was taken for which", xlabel="predicted class", ylabel="true class")
    axes.tick_params(axis="x", rotation=45)
    right = "; ".join(f"{n} {counts[i, i]} of {counts[i].sum()}" for i, n in enumerate(names))
    wrong = counts.copy()
    wrong[range(len(names)), range(len(names))] = 0
    true, taken = divmod(int(wrong.argmax()), len(names))
    mistake = (
        f" Most often confused: {names[true]} taken for {names[taken]}, {wrong.max()} of them."
    )
    alt = f"Confusion matrix, documents classified rightly: {right}."
    return DescribedFigure(figure, alt + (mistake if wrong.any() else " There is no mistake."))


def plot_attention(
    weights: Tensor, queries: Sequence[str], keys: Sequence[str], title: str
) -> DescribedFigure:
    """Draw attention weights, a row for each query and a column for each key.

    Parameters
    ----------
    weights : Tensor of shape (T, S), or (H, T, S) for one panel a head
    queries, keys : T and S names, such as the tokens
    title : str, what the figure shows

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
    style: dict[str, Any] = {
        "cmap": SEQUENTIAL,
        "vmin": 0,
        "vmax": 1,
        "cbar": False,
        "square": True,
    }
    best = []
    for h, (head, axes) in enumerate(zip(heads, panels[0], strict=True)):
        few = len(keys) <= 8  # else the numbers do not fit into the cells
        sns.heatmap(head, annot=few, fmt=".2f", ax=axes, xticklabels=keys, **style)
        axes.set_yticks([t + 0.5 for t in range(len(queries))], queries, rotation=0)
        axes.set(xlabel="key", ylabel="query" if h == 0 else "", title=f"head {h}" if H > 1 else "")
        most = [f"{q} to {keys[int(row.argmax())]} {row.max():.2f}"
                for q, row in zip(queries, head, strict=True)]  # fmt: skip
        best.append((f"head {h}: " if H > 1 else "") + ", ".join(most))
    figure.suptitle(title)
    figure.tight_layout()
    return DescribedFigure(figure, f"{title}. Largest weight of each query: {'; '.join(best)}.")
