"""What chapters draw from their own data: it shows and tells its numbers, and refuses others."""

import pytest
import torch

from chapters.arcs import draw_heads
from chapters.ch17_alignment import draw_alignment
from chapters.ch17_beams import draw_beams
from tools.problems import LEGIBLE, smallest_text

ABC = ["a", "b", "c"]
ONES = torch.ones(3, 3)
TREE = {
    ("die",): (0.52, "kept"),
    ("heute",): (0.48, "kept"),
    ("die", "Schwester"): (0.30, "ended"),
    ("heute", "kann"): (0.48, "best"),
    ("die", "Frau"): (0.22, "dropped"),
}


def lines(svg):
    return [svg.count(f" stroke: var(--fig-{h},") for h in (0, 1)]


def test_arrows_have_the_colours_of_their_heads_and_faint_ones_are_left_out():
    weights = torch.zeros(2, 3, 3)
    weights[0, 0, 1], weights[0, 2, 2], weights[1, 2, 0], weights[1, 0, 2] = 1.0, 0.5, 0.8, 0.01
    shown = draw_heads(ABC, weights, "They look.", ["first", "second"])
    for svg in (shown.svg, shown.narrow_svg):
        assert lines(svg) == [2, 1]
        assert ">first<" in svg
    assert "first: a to b 1.00" in shown.alt
    assert smallest_text(shown._repr_html_()) >= LEGIBLE
    alt = draw_heads(["can", "can"], torch.eye(2)[None], "They look.").alt
    assert "can (1) to can (1) 1.00, can (2) to can (2) 1.00" in alt


def test_a_line_leads_from_each_token_written_to_what_it_reads():
    weights = torch.tensor([[[0.9, 0.1], [0.2, 0.8]], [[0.6, 0.4], [0.45, 0.55]]])
    texts = ["old", "hat"], ["alten", "Hut"]
    shown = draw_alignment(*texts, weights, "They cross.")
    assert lines(shown.svg) == [2, 2]
    assert "head 0: alten to old, Hut to hat; head 1: alten to old, Hut to hat" in shown.alt
    few = draw_alignment(*texts, weights, "They cross.", least=0.7)
    assert lines(few.svg) == [2, 0]
    assert draw_alignment(["Internationalization"] * 9, ABC, torch.ones(1, 3, 9), "Many.").svg


def test_a_beam_has_its_probabilities():
    shown = draw_beams(TREE, "It goes on.")
    assert ">Schwester<" in shown.svg
    assert "heute kann: 0.48, best" in shown.alt


@pytest.mark.parametrize(
    ("draw", "says"),
    [
        (lambda: draw_heads(ABC, torch.ones(7, 3, 3), "No."), "1 to 6 heads"),
        (lambda: draw_heads(ABC, ONES[None], "No.", ["a", "b"]), "2 names"),
        (lambda: draw_alignment(ABC, ABC, ONES[None, :, :2], "No."), "3 written"),
        (lambda: draw_beams({("a", "b"): (1.0, "kept")}, "No."), "missing"),
    ],
)
def test_what_cannot_be_drawn_is_refused(draw, says):
    with pytest.raises(ValueError, match=says):
        draw()
