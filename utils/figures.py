"""A figure for every reader: wide and narrow, on light and on dark, with a caption and a text.

Vector graphics whose text is text, for a wide page and for a phone. The colours are those of
``utils.palette``, as variables of the page's style, so that one picture serves both grounds.
"""

from __future__ import annotations

import hashlib
import io
import re
import textwrap
from collections.abc import Callable, Sequence
from html import escape, unescape
from importlib.metadata import files
from pathlib import Path
from typing import Any

import matplotlib as mpl
import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import plotnine as p9
import seaborn as sns
from cycler import cycler
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.colors import Colormap
from matplotlib.figure import Figure
from matplotlib.font_manager import FontProperties
from matplotlib.gridspec import GridSpec
from matplotlib.legend import Legend
from matplotlib.patches import FancyBboxPatch
from matplotlib.textpath import TextPath
from matplotlib.transforms import Bbox
from torch import Tensor

from utils.palette import FIGURE, INK, NEUTRAL, NOTE, PALE, PALETTE, PAPER, SEQUENTIAL

DRAWINGS = Path(__file__).parents[1] / "book" / "_static" / "drawings"
WIDE, NARROW = 8.6, 4.6  # inches; on a phone of 390 pixels a point is a little more than a pixel
SIZE = 11.0  # points of the smallest text
STYLE: dict[str, Any] = {
    "font.family": "DejaVu Sans",  # wider than what a page shows, so nothing collides there
    "mathtext.fontset": "dejavusans",
    "svg.fonttype": "none",  # text stays text
    "figure.constrained_layout.use": True,
    "axes.formatter.min_exponent": 99,  # 0.001, since the exponent of a power is too small to read
    "axes.prop_cycle": cycler(color=PALETTE),
    "grid.color": PALE,
    **dict.fromkeys(("axes.titlesize", "figure.titlesize"), 12),
    **dict.fromkeys(("font.size", "axes.labelsize", "legend.fontsize"), SIZE),
    **dict.fromkeys(("xtick.labelsize", "ytick.labelsize"), SIZE),
    **dict.fromkeys(("text.color", "axes.labelcolor", "axes.titlecolor"), INK),
    **dict.fromkeys(("xtick.labelcolor", "ytick.labelcolor"), INK),
    **dict.fromkeys(("axes.edgecolor", "xtick.color", "ytick.color"), NEUTRAL),
    **dict.fromkeys(("axes.facecolor", "figure.facecolor", "savefig.facecolor"), "none"),
    **dict.fromkeys(("axes.spines.top", "axes.spines.right", "legend.frameon"), False),
}
plt.style.use(STYLE)
# The page, Colab, Jupyter and Visual Studio Code each say in their own way that they are dark.
DARK = "[data-theme=dark],[theme=dark],[data-jp-theme-light=false],.vscode-dark"
_light, _dark = ("".join(f"--fig-{k}:{v[n]};" for k, v in FIGURE.items()) for n in (0, 1))
RULES = f".course-figure{{{_light}}}:is({DARK}) .course-figure{{{_dark}}}\n"
RULES += Path(__file__).with_name("figure.css").read_text(encoding="utf-8")


class DescribedFigure:
    """A figure with its caption and its text alternative, as a notebook and a web page show it.

    Put it at the end of a cell. The same figure gives the same bytes.

    Parameters
    ----------
    figure : matplotlib Figure or plotnine plot as a wide page shows it (at most 8.6 inches), or SVG
    alt : str, what a reader who cannot see the figure needs to know, with its numbers
    caption : str, what the figure shows; its first sentence is the finding
    narrow : the same for a narrow page (4.6 inches); by default the panels of ``figure``, one
        below the other
    """

    def __init__(
        self,
        figure: Figure | p9.ggplot | str,
        alt: str,
        caption: str,
        narrow: Figure | p9.ggplot | str | None = None,
    ) -> None:
        self.alt, self.caption = " ".join(alt.split()), " ".join(caption.split())
        if not self.alt:
            raise ValueError("the figure needs a text alternative: say in alt what it shows.")
        if not self.caption:
            raise ValueError("the figure needs a caption: say what it shows, the finding first.")
        if isinstance(figure, p9.ggplot):  # drawn only when both are laid out
            narrow, figure = narrow or narrowed(figure), figure.draw()
        self.svg = _as_svg(figure, self.alt)  # before it is made narrow, which changes it
        self.narrow_svg = _as_svg(narrow or narrowed(figure), f"{self.alt} narrow")
        plt.close("all")  # or the notebook shows it a second time

    def _repr_html_(self) -> str:
        """Both widths, the caption, and the style that chooses."""
        named = f'<svg role="img" aria-label="{escape(self.alt)}" '
        wide, narrow = (s.replace("<svg ", named, 1) for s in (self.svg, self.narrow_svg))
        # A full stop in a number or before a small letter ends no sentence.
        first, end, rest = re.fullmatch(
            r"(?:(.+?[.!?])(\s+)(?=[A-Z“\"(]))?(.*)", self.caption
        ).groups("")  # type: ignore[union-attr]
        first, rest = (first, rest) if first else (rest, "")
        return (
            f'<figure class="course-figure"><style>{RULES}</style><div class="wide">{wide}</div>'
            f'<div class="narrow">{narrow}</div>'
            f"<figcaption><b>{escape(first)}</b>{end}{escape(rest)}</figcaption></figure>"
        )

    def __repr__(self) -> str:
        """The text alternative."""
        return self.alt


def show_drawing(name: str, caption: str) -> DescribedFigure:
    """Give a drawing of ``book/_static/drawings`` for the end of a cell, with this caption.

    Its text alternative is what its ``<desc>`` says.
    """
    file = DRAWINGS / f"{name}.svg"
    if not DRAWINGS.is_dir():  # installed and not cloned, as on Colab
        kept = files("multi-head-attention-course") or []
        file = next(Path(str(path.locate())) for path in kept if path.name == file.name)
    text = file.read_text(encoding="utf-8")
    wide, narrow = re.findall(r"<svg class.*?</svg>\n", text, re.DOTALL)
    alt = unescape(text[text.index("<desc>") + 6 : text.index("</desc>")])
    return DescribedFigure(wide, alt, caption, narrow)


def _as_svg(figure: Figure | p9.ggplot | str, salt: str) -> str:
    """Draw a figure; ids differ from those of every other, colours are variables of the page."""
    if isinstance(figure, str):
        size = r'<svg viewBox="0 0 \1 \2" width="\1pt" height="\2pt"'
        return re.sub(r'<svg class="\w+" viewBox="0 0 (\d+) (\d+)"', size, figure)
    if isinstance(figure, p9.ggplot):
        figure = figure.draw()
    buffer = io.StringIO()
    look: dict[str, Any] = {"bbox_inches": "tight", "pad_inches": 0.03, "metadata": {"Date": None}}
    with mpl.rc_context({"svg.hashsalt": salt, "svg.fonttype": "none"}):
        figure.savefig(buffer, format="svg", **look)
    svg = buffer.getvalue()
    svg = svg[svg.index("<svg") :].rstrip() + "\n"
    svg = re.sub(r"\s*<metadata>.*?</metadata>", "", svg, flags=re.DOTALL)
    prefix = "f" + hashlib.sha256(salt.encode()).hexdigest()[:8]
    named = set(re.findall(r'(?:href="|url\()#([^")]+)', svg))
    keep = {name: f"{prefix}-{number}" for number, name in enumerate(sorted(named))}
    svg = re.sub(r' id="([^"]+)"', lambda m: f' id="{keep[m[1]]}"' if m[1] in keep else "", svg)
    svg = re.sub(r'(href="|url\()#([^")]+)', lambda m: f"{m[1]}#{keep[m[2]]}", svg)
    for name, (colour, _) in FIGURE.items():
        svg = re.sub(rf"{colour}\b", f"var(--fig-{name},{colour})", svg, flags=re.IGNORECASE)
    return svg


def narrowed(figure: Figure | p9.ggplot | str) -> Figure | p9.ggplot | str:
    """Lay out a figure for a phone: panels that stood side by side stand one below another."""
    if isinstance(figure, p9.ggplot):
        count = 1
        if isinstance(figure.facet, p9.facet_wrap):
            assert isinstance(figure.data, pd.DataFrame)
            count = len(figure.data[figure.facet.vars].drop_duplicates())
            figure = figure + p9.facet_wrap(figure.facet.vars, ncol=1)
        return (figure + p9.theme(figure_size=(NARROW, 1 + 2.2 * count))).draw()
    if isinstance(figure, str) or (width := figure.get_figwidth()) <= NARROW:
        return figure
    height = figure.get_figheight()
    panels = [a for a in figure.axes if a.get_subplotspec() and a.get_label() != "<colorbar>"]
    grids = {id(s.get_gridspec()): s.get_gridspec() for a in panels if (s := a.get_subplotspec())}
    rows, columns = next(iter(grids.values())).get_geometry() if len(grids) == 1 else (1, 1)
    if columns > 1:
        _stack(figure, panels)
        # A panel keeps its shape, and is not enlarged.
        height *= len(panels) / rows * min(1.0, NARROW * columns / width)
    else:
        height = max(min(height, 1.1 * NARROW), height * NARROW / width)
    for axes in panels:
        axes.set_title(_wrapped(axes.get_title()))
        if (legend := axes.get_legend()) and legend._ncols > 1:  # type: ignore[attr-defined]
            axes.legend(**_in_one_column(legend), loc="lower left", bbox_to_anchor=(0, 1))
    if title := figure.get_suptitle():
        figure.suptitle(_wrapped(title))
    for legend in [old for old in figure.legends if old._ncols > 1]:  # type: ignore[attr-defined]
        figure.legend(**_in_one_column(legend), loc="outside lower center")
        legend.remove()
    figure.set_size_inches(NARROW, height)
    return figure


def _stack(figure: Figure, panels: list[Axes]) -> None:
    grid, first = GridSpec(len(panels), 1, figure=figure), panels[0]
    for row, axes in enumerate(panels):
        axes.set_subplotspec(grid[row])
        # What only the first panel of a row said, each now says for itself.
        if axes.get_shared_y_axes().joined(axes, first) and not axes.get_ylabel():
            axes.set_ylabel(first.get_ylabel())
        axes.tick_params(labelleft=first.yaxis.get_tick_params().get("labelleft", True))
        axes.tick_params(labelbottom=True)


def _in_one_column(legend: Legend) -> dict[str, Any]:
    labels = [text.get_text() for text in legend.get_texts()]
    title = legend.get_title().get_text() or None
    return {"handles": legend.legend_handles, "labels": labels, "title": title, "ncols": 1}


def _wrapped(title: str) -> str:
    return "\n".join(part for line in title.split("\n") for part in textwrap.wrap(line, 44))


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
    """Draw a matrix as cells, the darker the larger, each with its number, or with its text.

    Rows and columns have these names, those of the data frame (True), or none (False); ``fmt`` says
    how a number is written, or None that it is not.
    """
    table = values if isinstance(values, pd.DataFrame) else pd.DataFrame(np.asarray(values))
    for names, size, which in zip((rows, columns), table.shape, ("rows", "columns"), strict=True):
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


def draw_twice(draw: Callable[[Axes, bool], None], alt: str, caption: str) -> DescribedFigure:
    """Let ``draw(axes, narrow)`` draw in points, y downwards, for a wide page, then a narrow."""
    figures = [Figure((width, 1)) for width in (WIDE, NARROW)]
    for figure in figures:
        figure.set_layout_engine("none")
        axes = figure.add_axes((0, 0, 1, 1), xlim=(0, 72 * figure.get_figwidth()), ylim=(72, 0))
        axes.set_axis_off()
        draw(axes, figure is figures[1])
        agg, half = FigureCanvasAgg(figure).get_renderer(), 36 * figure.get_figwidth()
        drawn = (*axes.patches, *axes.lines, *axes.texts)
        place = Bbox.union([artist.get_window_extent(agg) for artist in drawn]).get_points()
        (left, low), (right, high) = axes.transData.inverted().transform(place)
        middle = (left + right) / 2  # as high as what is drawn, which stands in the middle
        axes.set(xlim=(middle - half, middle + half), ylim=(low, high))
        figure.set_figheight((low - high) / 72)
    return DescribedFigure(figures[0], alt, caption, figures[1])


def write(
    axes: Axes, at: tuple[float, float], text: str, size: float = SIZE, *,
    bold: bool = False, colour: str = INK, align: str = "center",
) -> None:  # fmt: skip
    """Write one line, its middle at the height of ``at``."""
    look: dict[str, Any] = {"size": size, "color": colour, "ha": align, "va": "baseline"}
    axes.text(at[0], at[1] + 0.36 * size, text, weight="bold" if bold else "normal", **look)


def box(
    axes: Axes, place: tuple[float, float, float, float], text: str = "", *,
    colour: str = PALE, alpha: float = 0.28, edge: str = "none", radius: float = 5.0, **look: Any,
) -> None:  # fmt: skip
    """Draw a box with round corners from left, top to right, bottom, a line of text in it."""
    left, top, right, bottom = place
    shape = f"round,pad=0,rounding_size={radius}"
    line: dict[str, Any] = {"ec": edge, "lw": edge != "none", "clip_on": False}
    size = right - left, bottom - top
    axes.add_patch(FancyBboxPatch((left, top), *size, boxstyle=shape, fc=(colour, alpha), **line))
    if text:
        write(axes, ((left + right) / 2, (top + bottom) / 2), text, **look)


def text_width(text: str, size: float = SIZE) -> float:
    """How wide a text is, in points, where it is bold."""
    font = FontProperties(family="DejaVu Sans", weight="bold")
    return float(TextPath((0, 0), text, size=size, prop=font).get_extents().width) if text else 0.0


def draw_reading(
    words: Sequence[str], weights: Sequence[float], title: str, caption: str
) -> DescribedFigure:
    """Draw a text, the ground of each word the darker the more weight it has; title: its legend."""
    most = max(weights, default=0.0)
    if len(words) != len(weights) or most <= 0 or min(weights) < 0:
        raise ValueError(f"{len(words)} words need as many weights, none below zero, one above.")

    def draw(axes: Axes, narrow: bool) -> None:
        x, y, right = 4.0, 0.0, 72 * (NARROW if narrow else WIDE) - 8
        drawn = []
        for word, weight in zip(words, weights, strict=True):
            width = text_width(word, 12) / 1.1 + 6
            if x > 4 and x + width > right:
                x, y = 4.0, y + 24
            drawn.append(((x, y, x + width, y + 19), word, weight / most, 12.0))
            x += width
        write(axes, (7, y + 47), title, colour=NOTE, align="left")
        x, y = (4, y + 62) if narrow else (18 + text_width(title), y + 38)
        for left, share in ((x, 0.1), (x + 66, 0.5), (x + 132, 1.0)):
            text = f"{share * most:.1%}".replace("%", " %")
            drawn.append(((left, y, left + 60, y + 19), text, share, SIZE))
        for place, text, share, size in drawn:  # INK can be read on the darkest
            box(axes, place, text, colour=PALETTE[2], alpha=share / 2, radius=3, size=size)

    top = sorted(zip(weights, words, strict=True), key=lambda pair: -pair[0])[:5]
    named = ", ".join(f"{word.strip('.,:;!?')} {weight:.1%}" for weight, word in top)
    alt = f"A text of {len(words)} words, each on a ground that is the darker the more weight it "
    return draw_twice(draw, f"{alt}has. {title}; the largest: {named}.", caption)
