"""The card that a shared link shows, 1200 by 630: ``python -m tools.page`` draws it again."""

from __future__ import annotations

from functools import partial
from pathlib import Path

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import PathPatch, Polygon
from matplotlib.path import Path as Curve
from matplotlib.patheffects import withStroke

from tools.page import hero
from tools.page.colours import mixed
from utils.palette import INK, NOTE, PALETTE, PAPER

CARD = Path(__file__).parents[2] / "book" / "_static" / "social-card.png"
TITLE = "Multi-Head Attention, Measured"
CLAIM = "Write the layer. See what each head looks at. Measure what it costs."
HEADS = [(c, mixed(c, 0.5), mixed(c, 0.2)) for c in PALETTE[:2]]


def canvas(width: int, height: int, ground: str) -> tuple[Figure, Axes]:
    """Give a sheet of so many pixels, on which a size of 72 is a hundred of them."""
    figure = Figure(figsize=(width / 100, height / 100), dpi=100, facecolor=ground)
    ax = figure.add_axes((0, 0, 1, 1), xlim=(0, width), ylim=(height, 0))
    ax.axis("off")
    return figure, ax


def draw_heads(ax: Axes, zoom: float, left: float, top: float, ground: str) -> None:
    """Draw the two heads of the landing page, as large as this, from this place on."""

    def at(point: tuple[float, float]) -> tuple[float, float]:
        return left + zoom * point[0], top + zoom * point[1]

    write = partial(ax.text, ha="center", va="center")
    kept = hero.read()
    for arc in hero.arcs(kept):
        strong, word, mark = HEADS[arc.row]
        colour = strong if arc.number else word if 1 <= arc.key <= 4 else mark
        curve = Curve([at(p) for p in arc.points], [Curve.MOVETO] + [Curve.CURVE4] * 3)
        width = arc.width * zoom * 0.72
        ax.add_patch(PathPatch(curve, fill=False, ec=colour, lw=width, capstyle="butt"))
        ax.add_patch(Polygon([at(p) for p in arc.arrow], fc=colour, lw=0))
        if arc.number:
            x, y = at(arc.label)
            halo = [withStroke(linewidth=6, foreground=ground)]
            write(x, y, arc.number, size=22, weight="bold", color=strong, path_effects=halo)
    for i, (x, token) in enumerate(zip(hero.PLACES, kept["tokens"], strict=True)):
        if 1 <= i <= 4:
            write(*at((x, 158)), token, size=38, weight="bold", color=INK)
        else:
            write(*at((x, 158)), token, size=19, color=NOTE)


def draw(file: Path = CARD) -> None:
    """Draw the two heads below the title of the course."""
    figure, ax = canvas(1200, 630, PAPER)
    ax.text(64, 92, TITLE, size=38, weight="bold", color=INK, va="center")
    ax.text(66, 150, CLAIM, size=19, color=NOTE, va="center")
    draw_heads(ax, 1.5, 180, 166, PAPER)
    figure.savefig(file, facecolor=PAPER, metadata={"Software": None})
