"""Dates are written as the locale data has them, and no date is in both splits."""

import datetime

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from chapters.ch17_dates import FIRST, LANGUAGES, LAST, split_dates, write_date, write_dates

WRITTEN = {
    "en": "Saturday, November 21, 2026",
    "de": "Samstag, 21. November 2026",
    "fr": "samedi 21 novembre 2026",
    "es": "sábado, 21 de noviembre de 2026",
    "ja": "2026年11月21日土曜日",
    "ru": "суббота, 21 ноября 2026\u202fг.",
}


def test_a_date_is_written_as_it_is_in_the_language():
    date = datetime.date(2026, 11, 21)
    assert {language: write_date(date, language) for language in LANGUAGES} == WRITTEN
    assert write_dates([date, date], "fr") == [WRITTEN["fr"]] * 2
    with pytest.raises(ValueError, match="no language 'it'"):
        write_date(FIRST, "it")


@given(st.integers(1, 200), st.integers(1, 200), st.integers(0, 9))
@settings(max_examples=25)
def test_no_date_is_drawn_twice(num_train, num_test, seed):
    train, test = split_dates(num_train, num_test, seed)
    assert (len(train), len(test)) == (num_train, num_test)
    assert len({*train, *test}) == num_train + num_test
    assert all(FIRST <= date <= LAST for date in train + test)
    assert split_dates(num_train, num_test, seed) == (train, test)
    assert split_dates(num_train, num_test, seed + 1) != (train, test)


def test_all_days_can_be_drawn_and_no_more():
    days = (LAST - FIRST).days + 1
    train, test = split_dates(days - 1, 1)
    assert {datetime.date(1900, 1, 1), datetime.date(2099, 12, 31)} <= {*train, *test}
    for numbers in [(days, 1), (0, 5), (5, 0)]:
        with pytest.raises(ValueError, match="cannot be drawn"):
            split_dates(*numbers)
