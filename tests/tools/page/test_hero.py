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
    for made_block, block in zip(made["neighbours"], KEPT["neighbours"], strict=True):
        for made_head, head in zip(made_block, block, strict=True):
            assert made_head == pytest.approx(head, abs=2e-3)


def test_a_row_of_weights_sums_to_one():
    rows = [row for head in KEPT["weights"].values() for row in head]
    assert len(rows) == 12
    assert [sum(row) for row in rows] == pytest.approx([1] * 12, abs=1e-3)


def test_the_caption_says_what_the_weights_say():
    above, below = (KEPT["weights"][str(head)] for head in hero.HEADS)
    assert max(above[FIRST]) == above[FIRST][YOU] > 0.9
    assert max(above[SECOND]) == above[SECOND][THAT] > 0.9
    assert max(below[SECOND]) == below[SECOND][YOU]
    assert below[FIRST][YOU] < hero.FAINTEST  # the first of the two does not


def test_a_line_stands_for_each_weight_of_a_word_that_is_large_enough():
    drawn = {(arc.row, arc.query, arc.key): arc for arc in hero.arcs(KEPT)}
    for row, head in enumerate(hero.HEADS):
        for query in range(1, 5):
            for key, weight in enumerate(KEPT["weights"][str(head)][query]):
                expected = weight >= hero.FAINTEST and key != query
                assert ((row, query, key) in drawn) == expected
    for (row, *_), arc in drawn.items():
        ys = [y for _, y in arc.points]
        assert all(0 <= y <= hero.HEIGHT for y in ys[:1] + ys[-1:])
        top = 0.25 * ys[0] + 0.75 * ys[1]  # where a cubic turns
        assert arc.width / 2 < top < hero.HEIGHT - arc.width / 2
        assert (top < hero.ABOVE) == (row == 0)
    widths = sorted(drawn.values(), key=lambda arc: arc.weight)
    assert [arc.width for arc in widths] == sorted(arc.width for arc in widths)
    assert {arc.number for arc in drawn.values()} == {"", "0.99", "0.93", "0.50"}


def test_the_picture_is_well_formed_and_says_its_numbers():
    picture = ET.fromstring(hero.svg())
    told = picture.attrib["aria-label"]
    for number in ("0.99", "0.93", "0.50"):
        assert number in told
    assert "the second can to that 0.93" in told
    assert [text.text for text in picture.iter("text")].count("can") == 2
