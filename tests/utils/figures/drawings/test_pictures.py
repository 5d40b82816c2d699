"""Every picture fits its two widths, can be read, collides nowhere, and has the page's colours."""

import io
from itertools import combinations
from typing import NamedTuple

import matplotlib as mpl
import pytest
import torch
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.colors import to_hex

from utils.figures import palette
from utils.figures.drawings import (
    NARROW,
    WIDE,
    draw_alignment,
    draw_beams,
    draw_block,
    draw_cache,
    draw_couriers,
    draw_embedding,
    draw_folding,
    draw_heads,
    draw_layer,
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

WORDS = ["can", "you", "can", "that"]
LONG = ["Internationalization", "of", "tokenization", "is", "unsurprisingly", "understandable"]
COLOURS = {
    to_hex(colour)
    for colour in [
        *palette.PALETTE,
        palette.INK,
        palette.PAPER,
        palette.NOTE,
        palette.NEUTRAL,
        palette.PALE,
    ]
}

TREE = {
    ("die",): (0.52, "kept"),
    ("heute",): (0.48, "kept"),
    ("die", "Schwester"): (0.52, "kept"),
    ("heute", "kann"): (0.48, "kept"),
    ("die", "Schwester", "kann"): (0.30, "ended"),
    ("die", "Schwester", "kann2"): (0.22, "dropped"),
    ("heute", "kann", "die"): (0.48, "best"),
}


def causal(T):
    return torch.ones(T, T, dtype=torch.bool).tril()


def some(*shape):
    return torch.randn(shape, generator=torch.Generator().manual_seed(0))


def attention(H, T):
    return (2 * some(H, T, T)).softmax(dim=-1)


PICTURES = {
    "mask": lambda: draw_mask(causal(4), WORDS, WORDS),
    "mask of one": lambda: draw_mask(causal(1), ["can"], ["can"]),
    "mask, long": lambda: draw_mask(causal(6), LONG, LONG),
    "mask, many": lambda: draw_mask(causal(12), ["t"] * 12, ["t"] * 12),
    "scores": lambda: draw_scores_to_weights(some(4, 4), causal(4), WORDS, WORDS),
    "scores of one": lambda: draw_scores_to_weights(some(1, 1), causal(1), ["can"], ["can"]),
    "scores, long": lambda: draw_scores_to_weights(10 * some(6, 6), causal(6), LONG, LONG),
    "heads": lambda: draw_heads(WORDS, attention(2, 4), ["who does it?", "to what?"]),
    "one head, one token": lambda: draw_heads(["can"], torch.ones(1, 1, 1)),
    "six heads": lambda: draw_heads(WORDS, attention(6, 4)),
    "heads, long": lambda: draw_heads(LONG, attention(3, 6)),
    "lookup": lambda: draw_lookup(
        "3.4 min", ["2.0", "3.3", "4.5"], ["55", "74", "82"], torch.tensor([0.1, 0.7, 0.2])
    ),
    "lookup, with answers": lambda: draw_lookup(
        "cappuccino",
        ["tea", "coffee", "cake"],
        ["2 €", "3 €", "5 €"],
        torch.tensor([0.21, 0.58, 0.21]),
        exact="coffee",
        answer="3.21 €",
    ),
    "embedding": lambda: draw_embedding(
        WORDS, ["can", "dog", "that", "you"], torch.eye(4, 3), "APT"
    ),
    "embedding, long": lambda: draw_embedding(LONG[:4], LONG, torch.rand(6, 3), LONG[:3]),
    "couriers": draw_couriers,
    "couriers of two": lambda: draw_couriers("XY", "YX"),
    **{f"layer, {h} heads": lambda h=h: draw_layer(h) for h in (1, 2, 5, 6)},
    **{f"loop, {h} heads": lambda h=h: draw_loop(h) for h in (1, 2, 3, 6)},
    **{f"sum of {h} heads": lambda h=h: draw_sum_of_heads(h) for h in (1, 2, 3, 6)},
    "layer, numbers": lambda: draw_layer(2, embed_dim="512", head_dim="256"),
    **{f"folding, {h} heads": lambda h=h: draw_folding(h) for h in (1, 2, 6)},
    "splitting": lambda: draw_splitting(WORDS),
    "splitting, one head": lambda: draw_splitting(["can"], 1, 3),
    "splitting, long": lambda: draw_splitting(LONG, 3, 2),
    **{f"packings, {h} heads": lambda h=h: draw_packings(h) for h in (1, 2, 4)},
    "packings of rows": lambda: draw_packings(2, ["PyTorch", "GPT-NeoX, BLOOM"]),
    "packing of kernels": lambda: draw_packings(4, ["Keras"]),
    "block": draw_block,
    "transformer": draw_transformer,
    "alignment": lambda: draw_alignment(WORDS, WORDS[:3], (2 * some(4, 3, 4)).softmax(-1)),
    "alignment of letters": lambda: draw_alignment(
        "‹Friday,·May·25,·2001›", "Freitag,·25.·Mai·2001›", (4 * some(4, 22, 22)).softmax(-1)
    ),
    "alignment, long": lambda: draw_alignment(LONG, LONG[:4], (4 * some(2, 4, 6)).softmax(-1)),
    "beams": lambda: draw_beams(TREE),
    "beams of one": lambda: draw_beams({("can",): (1.0, "best")}),
    "reading": lambda: draw_reading(WORDS * 12, some(48).abs().tolist(), "Weight of [CLS]"),
    "reading of one": lambda: draw_reading(["can"], [1.0], "Weight"),
    "reading, long": lambda: draw_reading(LONG * 3, [0.0] * 17 + [0.4], "Weight of [CLS]"),
    "tiles": lambda: draw_tiles(some(9), some(9).abs(), 3),
    "tile of one": lambda: draw_tiles(some(1), some(1), 1),
    "tiles, uneven": lambda: draw_tiles(some(12), some(12), 5),
    "cache": lambda: draw_cache(WORDS[:2], WORDS[2:]),
    "cache, long": lambda: draw_cache(LONG[:3], LONG[3:6]),
    "cache of one": lambda: draw_cache(["can"], ["you"]),
    **{f"sharing, {h} heads": lambda h=h: draw_sharing(h, 1 + (h > 1)) for h in (1, 2, 4, 6)},
}


@pytest.fixture(params=list(PICTURES), scope="module")
def picture(request):
    return PICTURES[request.param]()


@pytest.fixture(scope="module")
def both(picture):
    """Of the wide picture and the narrow one: the texts, the patches, and their places."""
    return [drawn(figure) for figure in picture[:2]]


class Place(NamedTuple):
    """The place of something drawn, in points."""

    x0: float
    y0: float
    x1: float
    y1: float


def drawn(figure):
    renderer = FigureCanvasAgg(figure).get_renderer()
    (axes,) = figure.axes
    return [
        [(artist, Place(*artist.get_window_extent(renderer).extents)) for artist in artists]
        for artists in (axes.texts, axes.patches)
    ]


def overlap(a, b):
    """How far two places lie over each other, in points, the lesser of both directions."""
    return min(min(a.x1, b.x1) - max(a.x0, b.x0), min(a.y1, b.y1) - max(a.y0, b.y0))


def test_the_widths_are_those_of_a_page_and_of_a_phone(picture):
    assert picture.wide.get_figwidth() * 72 == pytest.approx(WIDE)
    assert picture.narrow.get_figwidth() * 72 == pytest.approx(NARROW)
    assert WIDE <= 8.6 * 72
    assert NARROW <= 4.6 * 72


def test_nothing_lies_outside(picture, both):
    for figure, (texts, patches) in zip(picture[:2], both, strict=True):
        width, height = figure.get_size_inches() * 72
        for artist, place in texts + patches:
            assert -0.5 <= place.x0 <= place.x1 <= width + 0.5, artist
            assert -0.5 <= place.y0 <= place.y1 <= height + 0.5, artist


def test_every_text_can_be_read(both):
    for texts, _ in both:
        assert texts
        assert min(text.get_size() for text, _ in texts) >= 11


def test_no_text_lies_over_another_or_over_cells(both):
    for texts, patches in both:
        for (text, place), (other, there) in combinations(texts, 2):
            assert overlap(place, there) < 1.5, (text.get_text(), other.get_text())
        cells = [place for patch, place in patches if patch.get_label() == "cells"]
        for text, place in texts:
            assert all(overlap(place, cell) < 1.5 for cell in cells), text.get_text()


def test_a_text_fits_into_its_box(both):
    for texts, patches in both:
        boxes = [p for patch, p in patches if patch.get_label() in {"box", "cell", "blocked"}]
        for text, place in texts:
            for box in boxes:
                x, y = (place.x0 + place.x1) / 2, (place.y0 + place.y1) / 2
                if box.x0 <= x <= box.x1 and box.y0 <= y <= box.y1:
                    assert box.x0 <= place.x0 <= place.x1 <= box.x1, text.get_text()


def test_all_colours_are_those_of_the_palette(both):
    for texts, patches in both:
        used = {to_hex(text.get_color()) for text, _ in texts}
        for patch, _ in patches:
            face, edge = patch.get_facecolor(), patch.get_edgecolor()
            used |= {to_hex(face)} if face[3] else set()
            used |= {to_hex(edge)} if edge[3] and patch.get_linewidth() else set()
        assert used <= COLOURS


def test_the_picture_is_said_in_words_and_lets_the_page_show_through(picture):
    assert len(picture.alt) > 60
    assert picture.alt.endswith(".")
    for figure in picture[:2]:
        assert figure.get_facecolor()[3] == 0
        buffer = io.BytesIO()
        with mpl.rc_context({"svg.fonttype": "none"}):
            figure.savefig(buffer, format="svg")
        assert buffer.tell() < 250_000
