"""The pictures show what they were given, in numbers and in words, and refuse what does not fit."""

import math

import pytest
import torch
from matplotlib.colors import to_hex

from utils.figures import HEAD_COLOURS
from utils.figures import drawings as d

ABC = ["a", "b", "c"]
CAUSAL = torch.ones(3, 3, dtype=torch.bool).tril()
FIRST, SECOND = (colour.lower() for colour in HEAD_COLOURS[:2])


def texts(figure):
    return [text.get_text() for text in figure.axes[0].texts]


def patches(figure, label):
    return [patch for patch in figure.axes[0].patches if patch.get_label() == label]


def test_a_mask_is_written_in_both_conventions():
    picture = d.draw_mask(CAUSAL, ABC, ABC)
    for figure in picture[:2]:
        words = [text for text in texts(figure) if text in {"True", "False"}]
        assert words[:9] == [str(allowed) for allowed in CAUSAL.flatten().tolist()]
        assert words[9:] == [str(not allowed) for allowed in CAUSAL.flatten().tolist()]
        assert {"True = may attend", "True = blocked"} <= set(texts(figure))
    assert "lets through 6 of 9 pairs" in picture.alt


def test_scores_become_minus_infinity_and_weights():
    scores = torch.tensor([[1.0, 2.0, 3.0], [0.0, math.log(3), 9.0], [0.0, 0.0, 0.0]])
    picture = d.draw_scores_to_weights(scores, CAUSAL, ABC, ABC)
    for figure in picture[:2]:
        written = texts(figure)
        assert written.count("−∞") == 3
        assert {"mask", "softmax", "0.25", "0.75"} <= set(written)
        assert written.count("0.33") == 3
    assert "b attends to b with 0.75" in picture.alt
    blocked = CAUSAL & torch.tensor([[True], [False], [True]])
    picture = d.draw_scores_to_weights(torch.zeros(3, 3), blocked, ABC, ABC)
    assert texts(picture.wide).count("NaN") == 3
    assert "b attends to nothing" in picture.alt


def test_links_have_the_colours_of_their_heads_and_faint_ones_are_left_out():
    weights = torch.zeros(2, 3, 3)
    weights[0, 0, 1], weights[0, 2, 2], weights[1, 2, 0], weights[1, 0, 2] = 1.0, 0.5, 0.8, 0.01
    picture = d.draw_heads(ABC, weights, ["first", "second"])
    for figure in picture[:2]:
        links = patches(figure, "link")
        widths = {FIRST: [], SECOND: []}
        for link in links:
            widths[to_hex(link.get_edgecolor())].append(link.get_linewidth())
        assert sorted(widths[FIRST]) == pytest.approx([1 + 6 * 0.5, 7])
        assert widths[SECOND] == pytest.approx([1 + 6 * 0.8])
        assert {*ABC, "first", "second"} <= set(texts(figure))
    assert "first: a to b 1.00" in picture.alt
    alt = d.draw_heads(["can", "can"], torch.eye(2)[None]).alt
    assert "can (1) to can (1) 1.00, can (2) to can (2) 1.00" in alt


def test_splitting_shows_the_numbers_that_view_and_transpose_give():
    numbers = torch.arange(16).view(4, 4)
    right, wrong = numbers.view(4, 2, 2).transpose(0, 1), numbers.view(2, 4, 2)
    shown = [str(n) for part in (numbers, right, wrong) for n in part.flatten().tolist()]
    picture = d.draw_splitting(["a", "b", "c", "d"])
    for figure in picture[:2]:
        assert [text for text in texts(figure) if text.isdecimal()] == shown
    assert "“head” 1 has c, c, d, d" in picture.alt


def test_a_line_leads_from_each_token_written_to_what_it_reads():
    weights = torch.tensor([[[0.9, 0.1], [0.2, 0.8]], [[0.6, 0.4], [0.45, 0.55]]])
    picture = d.draw_alignment(["old", "hat"], ["alten", "Hut"], weights)
    assert len(patches(picture.wide, "link")) == 4
    assert "head 0: alten to old, Hut to hat; head 1: alten to old, Hut to hat" in picture.alt
    few = d.draw_alignment(["old", "hat"], ["alten", "Hut"], weights, least=0.7)
    assert len(patches(few.wide, "link")) == 2


def test_tiles_end_at_the_softmax_average():
    scores, values = torch.tensor([0.5, 2.0, -1.0, 3.0, 0.0]), torch.arange(5.0)
    picture = d.draw_tiles(scores, values, 2)
    average = (scores.softmax(dim=0) @ values).item()
    for figure in picture[:2]:
        # e^(2 - 3), and a maximum that stays
        assert {f"{average:.2f}", "× 0.37", "× 1.00"} <= set(texts(figure))
    assert f"last average, {average:.2f}" in picture.alt


def test_a_lookup_with_an_answer_shows_what_is_taken_of_each_value():
    weights = torch.tensor([0.2, 0.7, 0.1])
    picture = d.draw_lookup("q", ABC, ["1 €", "2 €", "4 €"], weights, exact="c", answer="2.00 €")
    shown = texts(picture.wide)
    assert {"0.20 · 1 €", "0.70 · 2 €", "1 · 4 €", "0 · 2 €", "= 4 €", "= 2.00 €"} <= set(shown)
    assert len(patches(picture.wide, "link")) == 1 + 3
    assert "asked for c follows one arrow, to c, and gives 4 €" in picture.alt
    assert picture.alt.endswith("average of the values, 2.00 €.")


def test_equal_tokens_take_the_same_row_of_the_table():
    picture = d.draw_embedding("aba", ABC, torch.eye(3), "xyz")
    colours = [to_hex(patch.get_facecolor()) for patch in patches(picture.wide, "row")]
    assert len(colours) == 2 + 3  # two kinds of token, three tokens
    assert colours[2] == colours[4] != colours[3]
    assert "a (1.0, 0.0, 0.0), b (0.0, 1.0, 0.0), a" in picture.alt


def test_a_word_is_the_darker_the_more_it_is_read():
    picture = d.draw_reading(["can", "you", "can,", "that"], [0.1, 0.0, 0.6, 0.3], "Weight")
    for figure in picture[:2]:
        alphas = [patch.get_facecolor()[3] for patch in patches(figure, "word")[:4]]
        assert [alpha / alphas[2] for alpha in alphas] == pytest.approx([1 / 6, 0, 1, 0.5])
        assert texts(figure)[:4] == ["can", "you", "can,", "that"]
        assert {"6.0 %", "30.0 %", "60.0 %"} <= set(texts(figure))
    assert "the largest: can 60.0%, that 30.0%, can 10.0%" in picture.alt


ONES = torch.ones(3, 3)


@pytest.mark.parametrize(
    ("draw", "says"),
    [
        (lambda: d.draw_mask(CAUSAL, ABC, ["a"]), "3 queries and 1 keys"),
        (lambda: d.draw_mask(CAUSAL.int(), ABC, ABC), "bools"),
        (lambda: d.draw_scores_to_weights(ONES[:2], CAUSAL, ABC, ABC), "scores of shape"),
        (lambda: d.draw_heads(ABC, -ONES[None]), "negative"),
        (lambda: d.draw_heads(ABC, torch.ones(7, 3, 3)), "not 7"),
        (lambda: d.draw_alignment(ABC, ABC, ONES[None, :, :2]), "3 written"),
        (lambda: d.draw_beams({("a", "b"): (1.0, "kept")}), "missing"),
        (lambda: d.draw_splitting(ABC), "3 tokens"),
        (lambda: d.draw_tiles(ONES[0], ONES[0, :2], 1), "shape"),
        (lambda: d.draw_lookup("q", ABC, ABC, ONES[0], exact="d"), "has no d"),
        (lambda: d.draw_embedding("ad", ABC, ONES, "xyz"), "d is not"),
        (lambda: d.draw_reading(["a", "b"], [1.0, -1.0], "Weight"), "as many weights"),
    ],
)
def test_what_cannot_be_drawn_is_refused(draw, says):
    with pytest.raises(ValueError, match=says):
        draw()
