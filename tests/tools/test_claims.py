"""Each claim names a sentence of its chapter; one that does not hold says what was found."""

import math

import nbformat
import pytest

from tools import claims
from tools.claims import claim, claims_file, plain, says, sentences
from tools.notebooks import ROOT, chapters
from utils.news import NEWS

HOLD = [(0.5, 0.4, 0.6), (0.4, 0.4, 0.6), (0.6, None, 0.6), (7, 7, None), (True,), ([1],)]
FAIL = [(0.39, 0.4, 0.6), (0.61, None, 0.6), (6, 7, None), (math.nan, 0, 1), (False,), ([],)]


def test_what_holds_is_silent_and_what_does_not_is_noted_by_its_sentence(monkeypatch):
    monkeypatch.setattr(claims, "FAILED", [])
    for given in HOLD:
        with says("It holds."):
            claim(*given)
    assert claims.FAILED == []
    for given in FAIL:
        with says("It does not."):
            claim(*given)
    assert len(claims.FAILED) == len(FAIL)
    assert claims.FAILED[0].startswith("the text says “It does not.”, but this run found 0.39")


def test_a_claim_about_the_news_is_passed_over_with_other_texts(monkeypatch):
    monkeypatch.setattr(NEWS, "source", NEWS.stand_in_name)
    claim(0.3, 0.9, 1.0, on=NEWS)
    monkeypatch.setattr(NEWS, "source", NEWS.name)
    with pytest.raises(AssertionError):
        claim(0.3, 0.9, 1.0, on=NEWS)


@pytest.mark.parametrize("path", chapters([]), ids=lambda path: path.stem)
def test_each_claim_names_a_sentence_of_its_chapter(path):
    nb = nbformat.read(path, as_version=4)
    assert not any("claim" in cell.metadata.get("tags", []) for cell in nb.cells)
    text = plain("\n".join(cell.source for cell in nb.cells))  # a caption stands in its code
    said = sentences(claims_file(path.stem, ROOT).read_text(encoding="utf-8"))
    assert said
    assert [sentence for sentence in said if plain(sentence) not in text] == []


def test_a_claim_without_a_sentence_is_refused():
    with pytest.raises(ValueError, match="line 2: this claim names no sentence"):
        sentences("x = 1\nclaim(x, 0, 2)")
