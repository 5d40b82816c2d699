"""A figure for every reader: wide and narrow, on light and on dark, with a caption and a text.

The picture is vector graphics whose text is text, drawn twice: as it was made, and for the width of
a phone, where panels stand below each other. Its colours are those of the palette, as variables of
the page's style, so one picture serves a light page and a dark one.
"""

from __future__ import annotations

import hashlib
import io
import re
from html import escape
from typing import Any

import matplotlib as mpl
import matplotlib.pyplot as plt
import plotnine as p9
from cycler import cycler
from matplotlib.figure import Figure

from utils.figures.narrow import narrowed
from utils.figures.palette import DARK, INK, NEUTRAL, PALE, PALETTE, VARIABLES

SIZE = 11.0  # points of the smallest text: on a phone a point is a pixel
STYLE: dict[str, Any] = {
    "font.family": "DejaVu Sans",  # wider than what a page shows, so nothing collides there
    "font.size": SIZE,
    "axes.titlesize": 12,
    "axes.labelsize": SIZE,
    "legend.fontsize": SIZE,
    "legend.frameon": False,
    "figure.titlesize": 12,
    "xtick.labelsize": SIZE,
    "ytick.labelsize": SIZE,
    "text.color": INK,
    "axes.labelcolor": INK,
    "axes.titlecolor": INK,
    "axes.edgecolor": NEUTRAL,
    "xtick.color": NEUTRAL,
    "xtick.labelcolor": INK,
    "ytick.color": NEUTRAL,
    "ytick.labelcolor": INK,
    "grid.color": PALE,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.prop_cycle": cycler(color=PALETTE),
    "figure.facecolor": "none",
    "figure.constrained_layout.use": True,
    "axes.facecolor": "none",
    "savefig.facecolor": "none",
    "mathtext.fontset": "dejavusans",
    "svg.fonttype": "none",  # text stays text
}
plt.style.use(STYLE)


def _rules() -> str:
    light = "".join(f"{name}:{colour};" for colour, name in VARIABLES.items())
    dark = "".join(f"{VARIABLES[colour]}:{instead};" for colour, instead in DARK.items())
    # The page of the book, Colab, Jupyter and Visual Studio Code each say in their own way that
    # they are dark.
    grounds = ("[data-theme=dark]", "[theme=dark]", "[data-jp-theme-light=false]", ".vscode-dark")
    return (
        f".course-figure{{{light}margin:1.5rem 0;container-type:inline-size}}"
        f":is({','.join(grounds)}) .course-figure{{{dark}}}"
        ".course-figure svg{display:block;max-width:100%;height:auto;margin:auto;overflow:visible}"
        ".course-figure text{font-family:Inter,'Helvetica Neue',Arial,sans-serif!important}"
        ".course-figure .narrow{display:none}"
        "@container (max-width:39rem){.course-figure .wide{display:none}"
        ".course-figure .narrow{display:block}}"
        ".course-figure figcaption{font:.9rem/1.45 Inter,'Helvetica Neue',Arial,sans-serif;"
        "color:var(--fig-note);margin-top:.5rem}.course-figure figcaption b{color:var(--fig-ink)}"
    )


class DescribedFigure:
    """A figure with its caption and its text alternative, as a notebook and a web page show it.

    Put it at the end of a cell. The same figure gives the same bytes.

    Parameters
    ----------
    figure : matplotlib Figure, or plotnine plot, as a wide page shows it (at most 8.6 inches)
    alt : str, what a reader who cannot see the figure needs to know, with its numbers
    caption : str, what the figure shows; its first sentence is the finding
    narrow : the same for a narrow page (4.6 inches); by default the panels of ``figure``, one
        below the other

    Raises
    ------
    ValueError
        if the text or the caption is empty
    """

    def __init__(
        self,
        figure: Figure | p9.ggplot,
        alt: str,
        caption: str,
        narrow: Figure | p9.ggplot | None = None,
    ) -> None:
        self.alt, self.caption = " ".join(alt.split()), " ".join(caption.split())
        if not self.alt:
            raise ValueError("the figure needs a text alternative: say in alt what it shows.")
        if not self.caption:
            raise ValueError("the figure needs a caption: say what it shows, the finding first.")
        if isinstance(figure, p9.ggplot):
            narrow = narrow or narrowed(figure)
            figure = figure.draw()
        self.svg = _as_svg(figure, self.alt)
        if narrow is None:
            narrow = narrowed(figure)
        elif isinstance(narrow, p9.ggplot):
            narrow = narrow.draw()
        assert isinstance(narrow, Figure)
        self.narrow_svg = _as_svg(narrow, f"{self.alt} narrow")
        plt.close(figure)  # or the notebook shows it a second time
        plt.close(narrow)

    def _repr_html_(self) -> str:
        """Both widths, the caption, and the style that chooses."""
        return (
            f'<figure class="course-figure"><style>{_rules()}</style>'
            f'<div class="wide">{_inline(self.svg, self.alt)}</div>'
            f'<div class="narrow">{_inline(self.narrow_svg, self.alt)}</div>'
            f"<figcaption>{_finding_first(self.caption)}</figcaption></figure>"
        )

    def __repr__(self) -> str:
        """The text alternative."""
        return self.alt


def _as_svg(figure: Figure, salt: str) -> str:
    """Draw a figure; ids differ from those of every other figure of a page."""
    buffer = io.StringIO()
    with mpl.rc_context({"svg.hashsalt": salt, "svg.fonttype": "none"}):
        figure.savefig(
            buffer, format="svg", bbox_inches="tight", pad_inches=0.03, metadata={"Date": None}
        )
    svg = buffer.getvalue()
    svg = svg[svg.index("<svg") :].rstrip() + "\n"
    svg = re.sub(r"\s*<metadata>.*?</metadata>", "", svg, flags=re.DOTALL)
    prefix = "f" + hashlib.sha256(salt.encode()).hexdigest()[:8]
    named = set(re.findall(r'(?:href="|url\()#([^")]+)', svg))
    keep = {name: f"{prefix}-{number}" for number, name in enumerate(sorted(named))}
    svg = re.sub(r' id="([^"]+)"', lambda m: f' id="{keep[m[1]]}"' if m[1] in keep else "", svg)
    return re.sub(r'(href="|url\()#([^")]+)', lambda m: f"{m[1]}#{keep[m[2]]}", svg)


def _inline(svg: str, alt: str) -> str:
    """Give the picture for a page: named, and its colours as variables of the page's style."""
    for colour, name in VARIABLES.items():
        svg = re.sub(rf"{colour}\b", f"var({name},{colour})", svg, flags=re.IGNORECASE)
    return svg.replace("<svg ", f'<svg role="img" aria-label="{escape(alt)}" ', 1)


def _finding_first(caption: str) -> str:
    """Set the first sentence apart; a full stop in a number or before a small letter is none."""
    first, end, rest = caption, "", ""
    if found := re.match(r"(.+?[.!?])(\s+)(?=[A-Z“\"(])(.*)", caption):
        first, end, rest = found.groups()
    return f"<b>{escape(first)}</b>{end}{escape(rest)}"
