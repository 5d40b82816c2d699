"""The picture of the landing page shows the model's own weights."""

import xml.etree.ElementTree as ET

import pytest

from tools.page import hero

KEPT = hero.read()
FIRST, YOU, SECOND, THAT = 1, 2, 3, 4


@pytest.mark.slow
def test_the_kept_weights_are_those_of_the_model():
    made = hero.compute()
    assert made["tokens"] == KEPT["tokens"] == ["[CLS]", *hero.SENTENCE.split(), "[SEP]"]
    for head in map(str, hero.HEADS):
        for made_row, row in zip(made["weights"][head], KEPT["weights"][head], strict=True):
            assert made_row == pytest.approx(row, abs=2e-3)


def test_the_caption_says_what_the_weights_say():
    above, below = (KEPT["weights"][str(head)] for head in hero.HEADS)
    assert max(above[FIRST]) == above[FIRST][YOU] > 0.9
    assert max(above[SECOND]) == above[SECOND][THAT] > 0.9
    assert max(below[SECOND]) == below[SECOND][YOU]
    assert below[FIRST][YOU] < hero.FAINTEST  # the first of the two does not
    told = ET.fromstring(hero.svg()).attrib["aria-label"]
    assert "the second can to that 0.93" in told
    numbers = {arc.number for arc in hero.arcs(KEPT)} - {""}
    assert all(number in told for number in numbers)
    assert numbers == {"0.99", "0.93", "0.50"}
