"""What chapters draw from their own data: it shows and tells its numbers, and refuses others."""

import pytest
import torch

from chapters.arcs import draw_heads
from tools.problems import LEGIBLE, smallest_text

ABC = ["a", "b", "c"]
ONES = torch.ones(3, 3)


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


@pytest.mark.parametrize(
    ("draw", "says"),
    [
        (lambda: draw_heads(ABC, torch.ones(7, 3, 3), "No."), "1 to 6 heads"),
        (lambda: draw_heads(ABC, ONES[None], "No.", ["a", "b"]), "2 names"),
    ],
)
def test_what_cannot_be_drawn_is_refused(draw, says):
    with pytest.raises(ValueError, match=says):
        draw()
