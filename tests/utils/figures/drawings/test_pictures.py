"""Every picture fits its two widths, can be read, collides nowhere, and has the page's colours."""

from itertools import combinations, product

import pytest
import torch
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.colors import to_hex

from utils.figures import drawings as d
from utils.figures import palette

WORDS = ["can", "you", "can", "that"]
LONG = ["Internationalization", "of", "tokenization", "is", "unsurprisingly", "understandable"]
NAMED = (palette.INK, palette.PAPER, palette.NOTE, palette.NEUTRAL, palette.PALE)
COLOURS = {to_hex(colour) for colour in (*palette.PALETTE, *NAMED)}
TREE = {
    ("die",): (0.52, "kept"),
    ("heute",): (0.48, "kept"),
    ("die", "Schwester"): (0.52, "kept"),
    ("heute", "kann"): (0.48, "kept"),
    ("die", "Schwester", "kann"): (0.30, "ended"),
    ("die", "Schwester", "kann2"): (0.22, "dropped"),
    ("heute", "kann", "die"): (0.48, "best"),
}
CAUSAL = torch.ones(6, 6, dtype=torch.bool).tril()


def weights(*shape):
    return (4 * torch.randn(shape)).softmax(dim=-1)


PICTURES = {
    "mask": lambda: d.draw_mask(CAUSAL, LONG, LONG),
    "scores": lambda: d.draw_scores_to_weights(10 * torch.randn(6, 6), CAUSAL, LONG, LONG),
    "heads": lambda: d.draw_heads(LONG, weights(3, 6, 6)),
    "six heads": lambda: d.draw_heads(WORDS, weights(6, 4, 4)),
    "lookup": lambda: d.draw_lookup(
        "cappuccino", WORDS[1:], ["2 €", "3 €", "5 €"], weights(3), exact="can", answer="3.21 €"
    ),
    "embedding": lambda: d.draw_embedding(LONG[:4], LONG, torch.rand(6, 3), LONG[:3]),
    "couriers": d.draw_couriers,
    "loop": lambda: d.draw_loop(3),
    "sum of heads": lambda: d.draw_sum_of_heads(3),
    "folding": lambda: d.draw_folding(2),
    "splitting": lambda: d.draw_splitting(LONG, 3, 2),
    "packings": lambda: d.draw_packings(4),
    "block": d.draw_block,
    "transformer": d.draw_transformer,
    "alignment": lambda: d.draw_alignment(LONG, LONG[:4], weights(2, 4, 6)),
    "beams": lambda: d.draw_beams(TREE),
    "reading": lambda: d.draw_reading(LONG * 3, [0.0] * 17 + [0.4], "Weight of [CLS]"),
    "tiles": lambda: d.draw_tiles(torch.randn(12), torch.randn(12), 5),
    "cache": lambda: d.draw_cache(LONG[:3], LONG[3:6]),
    "sharing": lambda: d.draw_sharing(4, 2),
}


@pytest.mark.parametrize("name", PICTURES)
def test_a_picture_can_be_read_on_a_page_and_on_a_phone(name):
    picture = PICTURES[name]()
    assert len(picture.alt) > 60
    assert picture.alt.endswith(".")
    for figure, width in zip(picture[:2], (d.WIDE, d.NARROW), strict=True):
        assert figure.get_figwidth() * 72 == pytest.approx(width)
        assert figure.get_facecolor()[3] == 0, "the page shows through"
        renderer = FigureCanvasAgg(figure).get_renderer()
        (axes,) = figure.axes
        texts, patches = (
            [(artist, artist.get_window_extent(renderer)) for artist in artists]
            for artists in (axes.texts, axes.patches)
        )
        lies_inside(figure, texts + patches)
        collides_nowhere(texts, patches)
        has_the_colours_of_the_page(axes)
        assert min(text.get_size() for text in axes.texts) >= 11


def lies_inside(figure, drawn):
    width, height = figure.get_size_inches() * 72
    for artist, place in drawn:
        assert min(place.x0, place.y0, width - place.x1, height - place.y1) >= -0.5, artist


def collides_nowhere(texts, patches):
    cells = [(patch, place) for patch, place in patches if patch.get_label() == "cells"]
    for (text, a), (other, b) in [*combinations(texts, 2), *product(texts, cells)]:
        over = min(min(a.x1, b.x1) - max(a.x0, b.x0), min(a.y1, b.y1) - max(a.y0, b.y0))
        assert over < 1.5, (text.get_text(), other)


def has_the_colours_of_the_page(axes):
    used = {to_hex(text.get_color()) for text in axes.texts}
    used |= {to_hex(p.get_facecolor()) for p in axes.patches if p.get_facecolor()[3]}
    edged = [p for p in axes.patches if p.get_linewidth() and p.get_edgecolor()[3]]
    assert used | {to_hex(p.get_edgecolor()) for p in edged} <= COLOURS
