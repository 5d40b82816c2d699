"""The heads of the landing page: kept as they are exported, named by what they do."""

import json

import pytest
import torch

from benchmarks.named_heads import export, measure, published, script, senses, sentences
from chapters.live.heads import GIVES, HEADS, PAIRS, SCRIPT, Reader, kept, live_heads
from tools.problems import LEGIBLE, smallest_text
from utils.minilm import load_minilm

KEPT = kept()


@pytest.fixture(scope="module")
def reader():
    return Reader(KEPT)


@pytest.mark.slow
def test_what_is_kept_is_what_the_model_gives():
    model = load_minilm(dropout=0.0)
    made = export(model)
    assert made == {name: KEPT[name] for name in made}
    assert SCRIPT.stat().st_size <= 2_500_000
    assert script(KEPT) == SCRIPT.read_text("utf-8")


@pytest.mark.slow
def test_names_and_numbers_are_measured():
    assert len(sentences(set(KEPT["words"].split()))) > 300  # 400 where the weights were made
    assert len(senses()) == 20
    found, told = measure(load_minilm(dropout=0.0), KEPT), KEPT["measured"]
    assert found["before"] > 0.99
    assert found["gap"] < 2 * told["gap"]  # another version of the libraries has other sentences
    assert all(abs(found[name] - told[name]) <= 1 for name in ("nature", "people"))


@pytest.mark.slow
@pytest.mark.parametrize("word", PAIRS)
def test_the_sentences_show_two_senses_of_one_word(reader, word):
    """The query is the same in both; the heads find another word, as near as 8 bits allow."""
    model, places = load_minilm(dropout=0.0), set()
    for sentence, head, other in zip(PAIRS[word], (10, 0), (0, 10), strict=True):
        words = sentence.split()
        place = words.index(word)
        places.add(place)
        weights = dict(zip(HEADS, reader.weights(words), strict=True))
        exact = published(model, words)
        for number, own in weights.items():
            torch.testing.assert_close(own, exact[number], atol=KEPT["measured"]["gap"], rtol=0)
        row = weights[head][place + 1, 1:-1]  # between the marks
        assert row.argmax() > place
        assert row.max() > 0.28 > 2 * weights[other][place + 1, 1 + row.argmax()]
        assert weights[2][place + 1].argmax() == place
    assert len(places) == 1


def test_the_still_has_the_same_sentences_and_numbers(reader):
    figure = live_heads()
    html = figure._repr_html_()
    assert len(html) < 100_000
    assert smallest_text(html) >= LEGIBLE
    for sentence in PAIRS["plant"]:
        words = sentence.split()
        rows = reader.weights(words)[:, words.index("plant") + 1]
        assert f"“{sentence}”, asked by “plant”: head 10" in repr(figure)
        assert all(f", {row.max():.2f}" in repr(figure) for row in rows)
        assert all(html.count(f">{row.max():.2f}</text>") >= 2 for row in rows)  # wide and narrow
    assert GIVES not in html
    assert json.dumps(KEPT["version"])[1:-1] in html
