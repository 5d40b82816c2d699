"""The same figure for the width of a phone: panels that stood side by side stand one below another.

Matplotlib and plotnine each lay out a figure again; this says only how.
"""

from __future__ import annotations

import textwrap
from typing import Any, cast

import pandas as pd
import plotnine as p9
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.gridspec import GridSpec
from matplotlib.legend import Legend

NARROW = 4.6  # inches: on a phone of 390 pixels a point is a little more than a pixel
PANEL = 2.2  # inches, the height of a panel of plotnine
LETTERS = 44  # of a title that fit into it


def narrowed(figure: Figure | p9.ggplot) -> Figure:
    """Lay out a figure for a narrow page; a matplotlib figure is changed, a plot is not.

    Parameters
    ----------
    figure : matplotlib Figure, or plotnine plot
    """
    if isinstance(figure, p9.ggplot):
        return _narrow_plot(figure)
    panels = [axes for axes in figure.axes if axes.get_subplotspec() and not _is_bar(axes)]
    grids = [axes.get_subplotspec().get_gridspec() for axes in panels]  # type: ignore[union-attr]
    width, height = figure.get_size_inches()
    if width <= NARROW:
        return figure
    if len(panels) > 1 and len({id(grid) for grid in grids}) == 1:
        rows, columns = grids[0].nrows, grids[0].ncols
        if columns > 1:
            _stack(figure, panels)
            # A panel keeps its shape, and is not enlarged.
            height = len(panels) * height / rows * min(1.0, NARROW / (width / columns))
    else:
        height = max(min(height, 1.1 * NARROW), height * NARROW / width)
    for axes in panels:
        axes.set_title(_wrapped(axes.get_title()))
        if (legend := axes.get_legend()) and legend._ncols > 1:  # type: ignore[attr-defined]
            axes.legend(**_in_one_column(legend), loc="lower left", bbox_to_anchor=(0, 1))
    if title := figure.get_suptitle():
        figure.suptitle(_wrapped(title))
    for legend in figure.legends.copy():
        if legend._ncols > 1:  # type: ignore[attr-defined]
            figure.legend(**_in_one_column(legend), loc="outside lower center")
            legend.remove()
    figure.set_size_inches(NARROW, height)
    return figure


def _stack(figure: Figure, panels: list[Axes]) -> None:
    grid = GridSpec(len(panels), 1, figure=figure)
    first = panels[0]
    for row, axes in enumerate(panels):
        axes.set_subplotspec(grid[row])
        # What only the first panel of a row said, each now says for itself.
        if axes.get_shared_y_axes().joined(axes, first) and not axes.get_ylabel():
            axes.set_ylabel(first.get_ylabel())
        axes.tick_params(labelleft=first.yaxis.get_tick_params().get("labelleft", True))
        axes.tick_params(labelbottom=True)


def _in_one_column(legend: Legend) -> dict[str, Any]:
    """What a legend says, to be laid out again; one that was drawn keeps its columns."""
    labels = [text.get_text() for text in legend.get_texts()]
    title = legend.get_title().get_text() or None
    return {"handles": legend.legend_handles, "labels": labels, "title": title, "ncols": 1}


def _is_bar(axes: Axes) -> bool:
    return axes.get_label() == "<colorbar>"


def _wrapped(title: str) -> str:
    return "\n".join(part for line in title.split("\n") for part in textwrap.wrap(line, LETTERS))


def _narrow_plot(plot: p9.ggplot) -> Figure:
    panels = 1
    if isinstance(plot.facet, p9.facet_wrap):
        panels = len(cast(pd.DataFrame, plot.data)[plot.facet.vars].drop_duplicates())
        plot = plot + p9.facet_wrap(plot.facet.vars, ncol=1)
    return (plot + p9.theme(figure_size=(NARROW, 1 + PANEL * panels))).draw()
