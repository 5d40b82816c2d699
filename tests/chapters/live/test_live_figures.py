import json
import re
from html import unescape

import pytest
import torch

from chapters.live.layer import live_layer
from chapters.live.mask import live_mask
from chapters.live.query import live_query
from chapters.live.turn import live_turn
from tools.problems import LEGIBLE, smallest_text

PLANE = {"keys": torch.eye(2), "names": ["a", "</script>"], "dims": ["x", "y"]}
PLANE |= {"start": torch.ones(2), "values": torch.tensor([[1.0], [3.0]])}
MASK = {"tokens": ["a", "b"], "x": torch.eye(2), "length": 1}
TURN = {"query": torch.ones(2), "key": torch.arange(2.0)}
FIGURES = {live_query: PLANE, live_mask: MASK, live_turn: TURN, live_layer: {}}


@pytest.mark.parametrize("live", FIGURES)
def test_it_is_a_described_figure_with_a_script(live):
    figure = live("It moves. So.", **FIGURES[live])
    html = figure._repr_html_()
    assert html.count("<script>") == html.count("</script>") == 1
    assert html.count("<svg") == 2
    assert "<b>It moves.</b> So." in html
    assert "http" not in html.replace("http://www.w3.org/", "")
    assert smallest_text(html) >= LEGIBLE
    assert repr(figure) == figure.alt


def test_the_script_is_given_what_was_given():
    html = live_query("It moves.", **PLANE)._repr_html_()
    given = json.loads(unescape(re.search(r'data-given="([^"]*)"', html)[1]))
    assert given["names"] == PLANE["names"]
    assert given["keys"] == [[1, 0], [0, 1]]
    assert given["values"] == [[1], [3]]


def test_the_pictures_say_their_numbers():
    alt = repr(live_query("It moves.", **PLANE))
    assert alt.endswith("Its weights: a 0.50, </script> 0.50. The output: 2.00.")
    assert repr(live_mask("It blocks.", **MASK)).endswith("a: 1.00, 0.00; b: 1.00, 0.00.")
    assert "RoPE 1.38 to 1.38" in repr(live_turn("It turns.", **TURN))
