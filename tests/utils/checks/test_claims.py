"""A claim stops the book where the text is wrong, and tells a reader where their run differs."""

import math

import pytest

from utils.checks import ClaimError, claim
from utils.checks.claims import STRICT
from utils.data import NEWS

HOLD = [(0.5, 0.4, 0.6), (0.4, 0.4, 0.6), (0.6, None, 0.6), (7, 7, None), (True,), ([1],)]
FAIL = [(0.39, 0.4, 0.6), (0.61, None, 0.6), (6, 7, None), (math.nan, 0, 1), (False,), ([],)]


@pytest.mark.parametrize("given", HOLD)
def test_what_holds_says_nothing(given, monkeypatch, capsys):
    monkeypatch.setenv(STRICT, "1")
    claim(*given)
    assert capsys.readouterr().out == ""


@pytest.mark.parametrize("given", FAIL)
def test_what_fails_stops_the_book(given, monkeypatch):
    monkeypatch.setenv(STRICT, "1")
    with pytest.raises(ClaimError, match="this run"):
        claim(*given)


@pytest.mark.parametrize("given", FAIL)
def test_a_reader_is_told(given, monkeypatch, capsys):
    monkeypatch.delenv(STRICT, raising=False)
    claim(*given)
    assert "The text above says otherwise" in capsys.readouterr().out


def test_a_claim_about_the_news_is_passed_over_with_other_texts(monkeypatch):
    monkeypatch.setenv(STRICT, "1")
    monkeypatch.setattr(NEWS, "source", NEWS.stand_in_name)
    claim(0.3, 0.9, 1.0, on=NEWS)
    monkeypatch.setattr(NEWS, "source", NEWS.name)
    with pytest.raises(ClaimError):
        claim(0.3, 0.9, 1.0, on=NEWS)
