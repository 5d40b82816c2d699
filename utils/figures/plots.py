"""The plots that several chapters draw."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import matplotlib as mpl
import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import seaborn as sns
from matplotlib.axes import Axes
from matplotlib.colors import Colormap
from torch import Tensor

from utils.figures.figure import DescribedFigure
from utils.figures.palette import (
    HEAD_COLOURS,
    INK,
    PALE,
    PAPER,
    SEQUENTIAL,
    tint,
)


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
