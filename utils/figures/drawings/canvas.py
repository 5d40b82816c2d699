"""A canvas that is measured in points, and what is known of a place on it.

One unit of a canvas is one point (1/72 inch), y grows downwards, so a text of size 11 is 11 units
high wherever it stands. All colours are those of the palette, shaded by alpha alone: the page
replaces them for its dark mode.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from math import ceil, floor
from typing import NamedTuple, cast

from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.font_manager import FontProperties
from matplotlib.textpath import TextPath
from matplotlib.transforms import Bbox

from utils.figures.figure import DescribedFigure

WIDE, NARROW = 619.0, 331.0  # the two widths of a picture: 8.6 and 4.6 inches, in points
SMALL, TEXT, TITLE = 11.0, 12.0, 13.0  # sizes of words; nothing is smaller than SMALL
TINT = 0.28  # of a filled cell: words in INK on it can be read on both grounds
THIN = 1.0  # a line
MARGIN = 4.0  # around a picture

Point = tuple[float, float]


class Picture(NamedTuple):
    """A drawing for a wide page, the same for a narrow one, and what both show in words."""

    wide: Figure
    narrow: Figure
    alt: str

    def with_caption(self, caption: str) -> DescribedFigure:
        """Give the figure for a notebook and a page; its caption begins with the finding."""
        return DescribedFigure(self.wide, self.alt, caption, narrow=self.narrow)


class Block(NamedTuple):
    """The place that something drawn takes up, in points; y grows downwards."""

    left: float
    top: float
    right: float
    bottom: float

    @property
    def west(self) -> Point:
        """The middle of the left side."""
        return self.left, (self.top + self.bottom) / 2

    @property
    def east(self) -> Point:
        """The middle of the right side."""
        return self.right, (self.top + self.bottom) / 2

    @property
    def north(self) -> Point:
        """The middle of the upper side."""
        return (self.left + self.right) / 2, self.top

    @property
    def south(self) -> Point:
        """The middle of the lower side."""
        return (self.left + self.right) / 2, self.bottom


def both(draw: Callable[[Axes, bool], None], alt: str) -> Picture:
    """Draw a picture twice, for a wide page and for a narrow one.

    Parameters
    ----------
    draw : draws on the axes it is given; the flag says whether they are the narrow ones
    alt : str, what the picture shows, in words
    """
    figures = []
    for width, narrow in ((WIDE, False), (NARROW, True)):
        axes = canvas(width)
        draw(axes, narrow)
        figures.append(trim(axes))
    return Picture(figures[0], figures[1], alt)


def canvas(width: float) -> Axes:
    """Give axes without a frame, `width` points wide, to draw on in points from (0, 0) on."""
    figure = Figure(figsize=(width / 72, 1), dpi=72)
    figure.set_layout_engine("none")  # everything has its place already
    figure.patch.set_alpha(0)
    axes = figure.add_axes((0, 0, 1, 1))
    axes.set_axis_off()
    axes.set(xlim=(0, width), ylim=(72, 0))
    return axes


def trim(axes: Axes) -> Figure:
    """Make the canvas as high as what is drawn on it, and centre that; its width stays.

    Whole points keep the numbers of an SVG short.
    """
    figure = cast(Figure, axes.figure)
    width = round(figure.get_figwidth() * 72)
    left, top, right, bottom = extent(axes)
    top, bottom = floor(top - MARGIN), ceil(bottom + MARGIN)
    figure.set_figheight((bottom - top) / 72)
    shift = round((left + right - width) / 2)
    axes.set(xlim=(shift, shift + width), ylim=(bottom, top))
    return figure


def extent(axes: Axes) -> Block:
    """The place that everything on a canvas takes up together."""
    renderer = FigureCanvasAgg(cast(Figure, axes.figure)).get_renderer()
    drawn = [*axes.patches, *axes.texts]
    boxes = [artist.get_window_extent(renderer) for artist in drawn]
    (left, low), (right, high) = axes.transData.inverted().transform(Bbox.union(boxes).get_points())
    return Block(left, high, right, low)


@lru_cache(maxsize=4096)
def text_width(text: str, size: float = SMALL, bold: bool = False) -> float:
    """How wide a text is, in points."""
    font = FontProperties(family="DejaVu Sans", weight="bold" if bold else "normal")
    return float(TextPath((0, 0), text, size=size, prop=font).get_extents().width) if text else 0.0


def shorten(text: str, width: float, size: float = SMALL, bold: bool = False) -> str:
    """The text, or as many of its first letters as fit into `width` points, and an ellipsis."""
    if not text or text_width(text, size, bold) <= width:
        return text
    while text and text_width(f"{text}…", size, bold) > width:
        text = text[:-1]
    return f"{text}…"
