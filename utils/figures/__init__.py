"""Figures: one palette, plots that carry a text alternative, and heads to be explored.

``palette``    the colours, and what each is for
``plots``      figures with a text alternative, and the plots that several chapters draw
``head_view``  the weights of each head as lines between tokens
"""

from utils.figures.head_view import FAINT, HeadView
from utils.figures.palette import (
    BINARY,
    DIVERGING,
    GRADED,
    HEAD_COLOURS,
    INK,
    LINK,
    NEUTRAL,
    NOTE,
    PALE,
    PALETTE,
    PAPER,
    SEQUENTIAL,
)
from utils.figures.plots import DescribedFigure, plot_attention, plot_confusion, plot_losses
