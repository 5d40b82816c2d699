"""The grids of chapter 5: which mask each of some attempts really uses."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import matplotlib.pyplot as plt
from matplotlib.figure import Figure
from torch import Tensor

from utils.figures import DescribedFigure, heat_map
from utils.palette import BINARY, PAPER


def draw_grids(used: Mapping[str, Tensor], tokens: Sequence[str], caption: str) -> DescribedFigure:
    """Draw the mask (T, S) of each attempt: where a change of the token below moves the output."""
    counts = ", ".join(f"{name} {int(seen.sum())}" for name, seen in used.items())
    alt = f"""Grids for {" ".join(tokens)}, outputs down and changed tokens across. Pairs in which
    the output moves: {counts}."""
    wide, narrow = _panels(used, tokens, len(used), 2.7), _panels(used, tokens, 2, 7.4)
    return DescribedFigure(wide, alt, caption, narrow=narrow)


def _panels(
    used: Mapping[str, Tensor], tokens: Sequence[str], columns: int, height: float
) -> Figure:
    rows = -(-len(used) // columns)
    size = (8.6 if rows == 1 else 4.4, height)
    figure, panels = plt.subplots(rows, columns, figsize=size, squeeze=False)
    for n, (axes, name) in enumerate(zip(panels.flat, used, strict=True)):
        left = tokens if n % columns == 0 else False
        heat_map(axes, used[name].int(), left, tokens, cmap=BINARY, fmt=None)
        axes.collections[0].set_edgecolor(PAPER)
        bottom = n >= len(used) - columns  # below it stands no panel
        axes.tick_params(axis="x", rotation=90, labelbottom=bottom)
        axes.set_title(name, fontsize=11, pad=8)
    figure.supxlabel("changed token", fontsize=11)
    figure.supylabel("output", fontsize=11)
    return figure
