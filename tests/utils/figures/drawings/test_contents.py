"""The pictures show what they were given: numbers, links, colours of heads, and their mistakes."""

import math
from collections import Counter

import pytest
import torch
from matplotlib.colors import to_hex

from utils.figures import HEAD_COLOURS, NEUTRAL
from utils.figures.drawings import (
    canvas,
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
    trim,
    write,
)

ABC = ["a", "b", "c"]
CAUSAL = torch.ones(3, 3, dtype=torch.bool).tril()


def texts(figure):
    return [text.get_text() for text in figure.axes[0].texts]


def patches(figure, label):
    return [patch for patch in figure.axes[0].patches if patch.get_label() == label]


def test_a_mask_is_written_in_both_conventions():
    for figure in draw_mask(CAUSAL, ABC, ABC)[:2]:
        words = [text for text in texts(figure) if text in {"True", "False"}]
        assert words[:9] == ["True" if allowed else "False" for allowed in CAUSAL.flatten()]
        assert words[9:] == ["False" if allowed else "True" for allowed in CAUSAL.flatten()]
        assert len(patches(figure, "blocked")) == 2 * 3
        assert {"True = may attend", "True = blocked"} <= set(texts(figure))
    assert "lets through 6 of 9 pairs" in draw_mask(CAUSAL, ABC, ABC).alt


def test_scores_become_minus_infinity_and_weights():
    scores = torch.tensor([[1.0, 2.0, 3.0], [0.0, math.log(3), 9.0], [0.0, 0.0, 0.0]])
    picture = draw_scores_to_weights(scores, CAUSAL, ABC, ABC)
    for figure in picture[:2]:
        written = texts(figure)
        assert written.count("−∞") == 3
        assert {"mask", "softmax", "0.25", "0.75"} <= set(written)
        assert written.count("0.33") == 3
    assert "b attends to b with 0.75" in picture.alt


def test_a_row_that_may_see_nothing_is_shown_as_it_comes_out():
    nothing = torch.tensor([[True, True], [False, False]])
    picture = draw_scores_to_weights(torch.zeros(2, 2), nothing, ["a", "b"], ["a", "b"])
    assert texts(picture.wide).count("NaN") == 2
    assert "b attends to nothing" in picture.alt


def test_links_have_the_colours_of_their_heads_and_faint_ones_are_left_out():
    weights = torch.zeros(2, 3, 3)
    weights[0, 0, 1], weights[0, 2, 2], weights[1, 2, 0], weights[1, 0, 2] = 1.0, 0.5, 0.8, 0.01
    picture = draw_heads(ABC, weights, ["first", "second"])
    for figure in picture[:2]:
        links = patches(figure, "link")
        colours = [to_hex(link.get_edgecolor()) for link in links]
        first, second = (colour.lower() for colour in HEAD_COLOURS[:2])
        assert sorted(colours) == sorted([first, first, second])
        widths = sorted(link.get_linewidth() for link in links)
        assert widths == pytest.approx([1 + 6 * 0.5, 1 + 6 * 0.8, 7])
        assert {*ABC, "first", "second"} <= set(texts(figure))
    assert "first: a to b 1.00" in picture.alt


def test_the_first_head_runs_above_the_tokens_and_the_second_below():
    weights = torch.zeros(2, 3, 3)
    weights[0, 0, 1] = weights[1, 1, 2] = 1.0
    figure = draw_heads(ABC, weights).wide
    (line,) = {text.get_position()[1] for text in figure.axes[0].texts if text.get_text() in ABC}
    above, below = (link.get_path().get_extents() for link in patches(figure, "link"))
    assert above.y1 < line < below.y0


def test_equal_tokens_are_told_apart_in_words():
    alt = draw_heads(["can", "can"], torch.eye(2)[None]).alt
    assert "can (1) to can (1) 1.00, can (2) to can (2) 1.00" in alt


def test_the_layer_names_its_parts_and_shapes():
    for figure in draw_layer(2, embed_dim="8", head_dim="4")[:2]:
        assert {"x", "q", "k", "v", "joined", "output", "(T, 8)", "(T, 4)"} <= set(texts(figure))
        assert {"q_proj", "k_proj", "v_proj", "out_proj"} <= set(texts(figure))
        assert {"head 0", "head 1"} <= set(texts(figure))
        assert "head 2" not in texts(figure)


def sizes(figure):
    """How many rows and columns of cells there are in each part that has one colour."""
    found = Counter()
    for patch in patches(figure, "cells"):
        corners = patch.get_path().vertices[::14].round(3)  # a cell is a path of 14 points
        rows, columns = len(set(corners[:, 1])), len(set(corners[:, 0]))
        found[to_hex(patch.get_facecolor()), rows, columns] += 1
    return found


def test_each_head_of_the_loop_has_three_small_matrices_of_its_own():
    for figure in draw_loop(2)[:2]:
        found = sizes(figure)
        for colour in HEAD_COLOURS[:2]:
            assert found[colour, 4, 2] == 3  # w_q, w_k, w_v: (D, D_head)
            assert found[colour, 3, 2] == 3 + 1 + 1  # q, k, v, the output, its part of joined
            assert found[colour, 3, 3] == 1  # the weights: (T, T)
        assert found[NEUTRAL, 4, 4] == 1  # w_o
        assert found[NEUTRAL, 3, 4] == 2  # x and the output
        written = texts(figure)
        assert [written.count(f"w_{name}") for name in "qkvo"] == [2, 2, 2, 1]
        assert {"head 0", "head 1", "(D, D_head)", "(T, T)", "(D, D)", "joined"} <= set(written)


def test_the_sum_has_each_heads_numbers_and_rows_once_on_either_side():
    for figure in draw_sum_of_heads(2)[:2]:
        for colour in HEAD_COLOURS[:2]:
            assert sizes(figure)[colour, 1, 3] == 2  # D_head numbers
            assert sizes(figure)[colour, 3, 6] == 2  # (D_head, D)
        assert [texts(figure).count(sign) for sign in "@=+"] == [3, 1, 1]
    # In the matrix at the left the rows of head 0 are above those of head 1.
    drawn = patches(draw_sum_of_heads(2).wide, "cells")[2:4]
    first, second = (patch.get_path().get_extents() for patch in drawn)
    assert first.y1 < second.y0
    assert first.x0 == second.x0


def test_each_packing_has_the_rows_or_columns_of_every_head():
    for figure in draw_packings(2)[:2]:
        drawn = patches(figure, "cells")
        for colour in HEAD_COLOURS[:2]:
            assert sizes(figure)[colour, 2, 4] == 3 + 3  # rows: in PyTorch, and in GPT-NeoX
            assert sizes(figure)[colour, 4, 2] == 3  # columns: Keras's q, k and v
        heads = [to_hex(patch.get_facecolor()) for patch in drawn[:12]]
        first, second = (colour.lower() for colour in HEAD_COLOURS[:2])
        assert heads == [first, second] * 3 + [first] * 3 + [second] * 3
        written = texts(figure)
        assert [written.count(kind) for kind in "qkv"] == [1 + 2 + 1] * 3
        assert {"in_proj_weight", "(D, H, D_head) each", "head 0", "head 1"} <= set(written)


def test_only_the_packings_asked_for_are_drawn():
    picture = draw_packings(2, ["PyTorch", "GPT-NeoX, BLOOM"])
    for figure in picture[:2]:
        written = texts(figure)
        assert [written.count(kind) for kind in "qkv"] == [1 + 2] * 3
        assert "Keras" not in written
        assert written.count("(3 D, D)") == 2
    assert "two ways" in picture.alt
    assert "Keras" not in picture.alt


def test_folding_has_a_block_a_token_and_then_a_block_a_head():
    first, second = (colour.lower() for colour in HEAD_COLOURS[:2])
    for figure in draw_folding(2)[:2]:
        assert "(H, T, D_head)" in texts(figure)
        heads = [to_hex(patch.get_facecolor()) for patch in patches(figure, "cells")]
        assert heads == [first, second] * (1 + 1 + 1 + 4) + [first, second]
        for colour in HEAD_COLOURS[:2]:
            assert sizes(figure)[colour, 1, 2] == 4  # of every token a row, two numbers wide
            assert sizes(figure)[colour, 4, 2] == 4  # W_0; and in W, the product and the head


def test_splitting_shows_the_numbers_that_view_and_transpose_give():
    numbers = torch.arange(16).view(4, 4)
    right, wrong = numbers.view(4, 2, 2).transpose(0, 1), numbers.view(2, 4, 2)
    shown = [str(n) for part in (numbers, right, wrong) for n in part.flatten().tolist()]
    picture = draw_splitting(["a", "b", "c", "d"])
    for figure in picture[:2]:
        assert [text for text in texts(figure) if text.isdecimal()] == shown
        colours = [to_hex(patch.get_facecolor()) for patch in patches(figure, "cell")]
        assert colours[16:24] == [HEAD_COLOURS[0]] * 8  # by transpose: one colour a head
        assert colours[32:36] == [HEAD_COLOURS[0]] * 2 + [HEAD_COLOURS[1]] * 2
    assert "“head” 1 has c, c, d, d" in picture.alt


def test_only_post_norm_has_a_normalisation_on_the_stream():
    for figure in draw_block()[:2]:
        streams = sorted({patch.center[0] for patch in patches(figure, "sum")})
        norms = [t for t in figure.axes[0].texts if t.get_text() == "norm"]
        on_stream = [sum(t.get_position()[0] == x for t in norms) for x in streams]
        assert (len(norms), on_stream) == (4, [0, 2])


def test_a_line_leads_from_each_token_written_to_what_it_reads():
    weights = torch.tensor([[[0.9, 0.1], [0.2, 0.8]], [[0.6, 0.4], [0.45, 0.55]]])
    picture = draw_alignment(["old", "hat"], ["alten", "Hut"], weights)
    for figure in picture[:2]:
        colours = [to_hex(patch.get_edgecolor()) for patch in patches(figure, "link")]
        assert sorted(colours) == sorted(HEAD_COLOURS[:2] * 2)
    assert "head 0: alten to old, Hut to hat; head 1: alten to old, Hut to hat" in picture.alt
    few = draw_alignment(["old", "hat"], ["alten", "Hut"], weights, least=0.7)
    assert len(patches(few.wide, "link")) == 2
    alone = draw_alignment(["old", "hat"], ["alten", "Hut"], weights[:1])
    assert "head" not in alone.alt + "".join(texts(alone.wide))


def test_a_tree_of_beams_has_a_box_for_each_beginning():
    tree = {("a",): (0.6, "kept"), ("b",): (0.4, "best"), ("a", "c"): (0.3, "dropped")}
    for figure in draw_beams(tree)[:2]:
        assert [len(patches(figure, kind)) for kind in ("kept", "best", "dropped")] == [1, 1, 1]
        assert {"0.60", "0.40", "0.30"} <= set(texts(figure))


def test_the_memory_enters_cross_attention_alone():
    for figure in draw_transformer()[:2]:
        assert len(patches(figure, "memory")) == 1
        assert len(patches(figure, "sum")) == 5  # two parts of the encoder, three of the decoder
        assert texts(figure).count("norm") == 6  # one a part, and the decoder's last


def test_tiles_end_at_the_softmax_average():
    scores, values = torch.tensor([0.5, 2.0, -1.0, 3.0, 0.0]), torch.arange(5.0)
    picture = draw_tiles(scores, values, 2)
    average = (scores.softmax(dim=0) @ values).item()
    for figure in picture[:2]:
        assert len(patches(figure, "card")) == 3
        assert f"{average:.2f}" in texts(figure)
        assert {"× 0.37", "× 1.00"} <= set(texts(figure))  # e^(2 - 3), and a maximum that stays
    assert f"last average, {average:.2f}" in picture.alt


def test_a_cache_grows_by_one_column_a_token():
    for figure in draw_cache(ABC[:2], ["c", "d", "e"])[:2]:
        # Two cells a column: the prompt of two is written at once, then one token a pass.
        assert len(patches(figure, "new")) == 2 * (2 + 1 + 1)
        assert len(patches(figure, "kept")) == 2 * (0 + 2 + 3)
        assert len(patches(figure, "weights")) == 3
        assert texts(figure).count("prefill") == 1
        assert texts(figure).count("decode") == 2


def test_heads_share_caches():
    for figure in draw_sharing(4, 2)[:2]:
        # Three columns of two cells for each of 4 + 2 + 1 key heads, of one for latent vectors.
        assert len(patches(figure, "new")) == 2 * (4 + 2 + 1) + 1
        assert len(patches(figure, "head")) == 4 * 4
        ends = {tuple(line.get_path().vertices[-1]) for line in patches(figure, "line")}
        assert len(ends) == 4 + 2 + 1 + 1
        assert {"4 key heads", "2 key heads", "1 key head", "latent vectors"} <= set(texts(figure))


def test_one_courier_has_one_bag_and_two_have_two():
    for figure in draw_couriers("ABCDEF", ("B", "E"))[:2]:
        assert len(patches(figure, "bag")) == 3
        assert texts(figure).count("mixed") == 1
        assert {"card of B", "card of E"} <= set(texts(figure))


def test_a_dictionary_follows_one_arrow_and_attention_several():
    picture = draw_lookup("q", ABC, ["1", "2", "3"], torch.tensor([0.2, 0.7, 0.1]))
    assert len(patches(picture.wide, "link")) == 1 + 3
    assert "b 0.70" in picture.alt


def test_a_lookup_with_an_answer_shows_what_is_taken_of_each_value():
    weights = torch.tensor([0.2, 0.7, 0.1])
    picture = draw_lookup("q", ABC, ["1 €", "2 €", "4 €"], weights, exact="c", answer="2.00 €")
    shown = texts(picture.wide)
    assert {"0.20 · 1 €", "0.70 · 2 €", "1 · 4 €", "0 · 2 €", "= 4 €", "= 2.00 €"} <= set(shown)
    assert "asked for c follows one arrow, to c, and gives 4 €" in picture.alt
    assert "attention, asked for q, follows 3 arrows" in picture.alt
    assert picture.alt.endswith("average of the values, 2.00 €.")


def test_equal_tokens_take_the_same_row_of_the_table():
    picture = draw_embedding("aba", ABC, torch.eye(3), "xyz")
    for figure in picture[:2]:
        assert len(patches(figure, "link")) == 3
        assert len(patches(figure, "row")) == 2 + 3  # two kinds of token, three tokens
        colours = [to_hex(patch.get_facecolor()) for patch in patches(figure, "row")]
        assert colours[2] == colours[4] != colours[3]
    assert "a (1.0, 0.0, 0.0), b (0.0, 1.0, 0.0), a" in picture.alt


def test_trimming_keeps_the_width_and_centres_what_is_drawn():
    axes = canvas(200)
    write(axes, (900, 500), "far away")
    figure = trim(axes)
    assert figure.get_figwidth() * 72 == pytest.approx(200)
    assert sum(axes.get_xlim()) / 2 == pytest.approx(900, abs=1)
    assert figure.get_figheight() * 72 < 40


@pytest.mark.parametrize(
    ("draw", "says"),
    [
        (lambda: draw_mask(CAUSAL, ABC, ["a"]), "mask of shape .* 3 queries and 1 keys"),
        (lambda: draw_mask(CAUSAL.int(), ABC, ABC), "must be of bools"),
        (lambda: draw_mask(torch.ones(1, 13) > 0, ["a"], ["b"] * 13), "12 by 12 fit"),
        (lambda: draw_scores_to_weights(torch.ones(2, 3), CAUSAL, ABC, ABC), "scores of shape"),
        (lambda: draw_scores_to_weights(torch.ones(3, 3), CAUSAL[:2], ABC, ABC), "mask of shape"),
        (lambda: draw_heads(ABC, torch.ones(2, 2, 2)), "do not fit 3 tokens"),
        (lambda: draw_heads(ABC, -torch.ones(1, 3, 3)), "none negative"),
        (lambda: draw_heads(ABC, torch.ones(1, 3, 3), ["x", "y"]), "2 names do not fit 1 heads"),
        (lambda: draw_heads(ABC, torch.ones(7, 3, 3)), "colours for 1 to 6 heads, not 7"),
        (
            lambda: draw_alignment(ABC, ABC, torch.ones(1, 3, 2)),
            "do not fit 3 written and 3 source",
        ),
        (lambda: draw_alignment(ABC, ABC, torch.ones(7, 3, 3)), "colours for 1 to 6 heads, not 7"),
        (lambda: draw_beams({}), "a probability and one of"),
        (lambda: draw_beams({("a",): (1.0, "lost")}), "a probability and one of"),
        (lambda: draw_beams({("a", "b"): (1.0, "kept")}), "goes on from is missing"),
        (lambda: draw_layer(0), "colours for 1 to 6 heads, not 0"),
        (lambda: draw_loop(7), "colours for 1 to 6 heads, not 7"),
        (lambda: draw_sum_of_heads(0), "colours for 1 to 6 heads, not 0"),
        (lambda: draw_packings(5), "room for 1 to 4 heads, not 5"),
        (lambda: draw_folding(7), "colours for 1 to 6 heads, not 7"),
        (lambda: draw_packings(0), "colours for 1 to 6 heads, not 0"),
        (lambda: draw_packings(2, ["Keras", "NumPy"]), "some of 'PyTorch', .* got .*NumPy"),
        (lambda: draw_splitting(ABC), "3 tokens cannot be drawn; give 1 to 6, a multiple of 2"),
        (lambda: draw_tiles(torch.ones(3), torch.ones(2), 1), "scores of shape"),
        (lambda: draw_tiles(torch.ones(3), torch.ones(3), 0), "at least one key"),
        (lambda: draw_cache([], ABC), "0 tokens of a prompt"),
        (lambda: draw_sharing(4, 3), "3 groups do not share out 4 heads"),
        (lambda: draw_couriers("ABC", ("A", "A")), "two different ones"),
        (lambda: draw_lookup("q", ABC, ["1"], torch.ones(3)), "do not fit"),
        (lambda: draw_lookup("q", ABC, ABC, torch.ones(3), exact="d"), "a, b, c has no d"),
        (lambda: draw_embedding("a", ABC, torch.ones(3, 2), "x"), "does not fit 3 words and 1"),
        (lambda: draw_embedding("ad", ABC, torch.ones(3, 1), "x"), "d is not in the vocabulary"),
        (lambda: draw_embedding("abcde", "abcde", torch.ones(5, 1), "x"), "not 7"),
    ],
)
def test_what_cannot_be_drawn_is_refused(draw, says):
    with pytest.raises(ValueError, match=says):
        draw()


def test_a_word_is_the_darker_the_more_it_is_read():
    picture = draw_reading(["can", "you", "can,", "that"], [0.1, 0.0, 0.6, 0.3], "Weight of [CLS]")
    for figure in picture[:2]:
        shown = patches(figure, "word")
        assert texts(figure)[:4] == ["can", "you", "can,", "that"]
        alphas = [patch.get_facecolor()[3] for patch in shown[:4]]
        assert alphas[2] == pytest.approx(0.5)
        assert [alpha / alphas[2] for alpha in alphas] == pytest.approx([1 / 6, 0, 1, 0.5])
        assert {"6.0 %", "30.0 %", "60.0 %"} <= set(texts(figure))
    assert "the largest: can 60.0%, that 30.0%, can 10.0%" in picture.alt


@pytest.mark.parametrize(("words", "weights"), [([], []), (["a"], [0.0]), (["a"], [1.0, 1.0]),
                                                (["a", "b"], [1.0, -1.0])])  # fmt: skip
def test_weights_that_do_not_fit_the_words_are_refused(words, weights):
    with pytest.raises(ValueError, match="as many weights"):
        draw_reading(words, weights, "Weight")
