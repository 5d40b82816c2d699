"""Figures: one style, plots and drawings that everyone can read, and heads to be explored.

``palette``      the colours, what each is for, and what takes its place on a dark ground
``figure``       a figure with caption and text alternative, wide and narrow, light and dark
``narrow``       how a figure is laid out for a phone
``plots``        the plots that several chapters draw
``drawings``     tensors, masks, heads, layers, blocks, tiles and caches
``head_view``    the weights of each head as lines between tokens
``live_figure``  what a reader can touch; each such figure has a module, as ``live_query``
"""

from utils.figures.drawings import (
    draw_alignment,
    draw_beams,
    draw_block,
    draw_cache,
    draw_couriers,
    draw_embedding,
    draw_folding,
    draw_heads,
    draw_lookup,
    draw_loop,
    draw_mask,
    draw_packings,
    draw_reading,
    draw_scores_to_weights,
    draw_sharing,
    draw_splitting,
    draw_sum_of_heads,
    draw_tiles,
    draw_transformer,
)
from utils.figures.figure import STYLE, DescribedFigure
from utils.figures.head_view import FAINT, HeadView
from utils.figures.live_dates import live_dates
from utils.figures.live_headline import live_headline
from utils.figures.live_heads import live_heads
from utils.figures.live_mask import live_mask
from utils.figures.live_query import live_query
from utils.figures.live_turn import live_turn
from utils.figures.live_writer import live_writer
from utils.figures.narrow import NARROW
from utils.figures.palette import (
    BINARY,
    HEAD_COLOURS,
    HEAT,
    INK,
    LINK,
    NEUTRAL,
    NOTE,
    PALE,
    PALETTE,
    PAPER,
    SEQUENTIAL,
    tint,
)
from utils.figures.plots import heat_map, plot_attention
