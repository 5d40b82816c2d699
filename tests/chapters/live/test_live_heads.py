"""The heads of the landing page: kept as they are exported, named by what they do."""

import json
from pathlib import Path

import pytest
import torch

from benchmarks.named_heads import export, measure, published, script, senses, sentences
from chapters.live.heads import BEFORE, PAIRS, SCRIPT, Reader, kept, largest, live_heads, told
from tools.problems import LEGIBLE, smallest_text
from utils.minilm import load_minilm

KEPT = kept()


@pytest.fixture(scope="module")
def reader():
    return Reader(KEPT)


@pytest.mark.slow
def test_what_is_kept_is_what_the_model_gives():
    model = load_minilm(dropout=0.0)
    made = export(model, KEPT["words"].split())
    assert made == {name: KEPT[name] for name in made}
    assert SCRIPT.stat().st_size <= 2_500_000
    assert script(KEPT) == SCRIPT.read_text("utf-8")


@pytest.mark.slow
def test_names_and_numbers_are_measured():
    assert len(sentences(set(KEPT["words"].split()))) > 300  # 400 where the weights were made
    assert KEPT["measured"]["sentences"] == 2 * len(senses())
    found, kept = measure(load_minilm(dropout=0.0), KEPT), KEPT["measured"]
    assert found["before"] > 0.99
    assert found["gap"] < 2 * kept["gap"]  # another version of the libraries has other sentences
    for name in ("first", "half", "first swapped", "half swapped"):
        assert found[name] == pytest.approx(kept[name], abs=0.5)


def test_the_page_says_what_was_measured():
    page = (Path(__file__).parents[3] / "book" / "intro.md").read_text("utf-8")
    n = {name: round(number) for name, number in KEPT["measured"].items()}
    assert f"In {n['first']} of {n['sentences']} sentences" in page
    assert f"still happens in {n['first swapped']} on average" in page
    assert f": {n['half']} for the neighbour, {n['half swapped']} for the word that" in page


@pytest.mark.slow
@pytest.mark.parametrize("word", PAIRS)
def test_the_sentences_show_two_senses_of_one_word(reader, word):
    """The query is the same in both, as near as rounding allows; two heads give most."""
    model, places, firsts = load_minilm(dropout=0.0), set(), set()
    for sentence in PAIRS[word]:
        asked = tokens, at, weights = reader.ask(word, sentence)
        exact = published(model, tokens[1:-1])[:, at]
        torch.testing.assert_close(weights, exact, atol=KEPT["measured"]["gap"], rtol=0)
        head = largest([asked])[0]
        assert exact[head].max() > 0.6
        assert exact[BEFORE].argmax() == at - 1
        places.add(at)
        firsts.add(head)
    assert (len(places), len(firsts)) == (1, 2)


def test_the_example_of_the_page_answers_what_it_asks(reader):
    tree, dog = (reader.ask("bark", f"the bark of the {name}") for name in ("tree", "dog"))
    says = [told(tree, 10), told(dog, 10), told(tree, 1)]
    assert largest([tree])[0] == 10
    assert says[:2] == ["most on “tree”, 0.78", "most on [CLS], 0.49"]
    assert says[2] == "most on [CLS], 0.29; “tree” gets 0.24"


def test_the_still_has_the_same_sentences_and_lines(reader):
    figure = live_heads()
    html = figure._repr_html_()
    assert len(html) < 100_000
    assert smallest_text(html) >= LEGIBLE
    assert "grew in the garden”, asked by “plant”: head 10 most on “garden”" in repr(figure)
    both = [reader.ask("plant", sentence) for sentence in PAIRS["plant"]]
    for asked in both:
        for head in largest(both):
            assert html.count(f">{told(asked, head)}</text>") >= 2  # wide and narrow
            assert html.count(f">{asked[2][head].max():.2f}</text>") >= 2
    assert json.dumps(KEPT["version"])[1:-1] in html
