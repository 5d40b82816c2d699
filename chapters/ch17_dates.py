"""Dates written out in two languages: a small translation task that every installation holds.

The texts are those of the Unicode CLDR, the locale data that Babel brings: real text with an exact
answer, whose words change their order. `Saturday, November 21, 2026` is `Samstag, 21. November
2026` and `2026年11月21日土曜日`.
"""

from __future__ import annotations

import datetime
import random
from collections.abc import Iterable
from typing import NamedTuple

from babel.dates import format_date

LANGUAGES = {
    "de": "German",
    "en": "English",
    "es": "Spanish",
    "fr": "French",
    "ja": "Japanese",
    "ru": "Russian",
}
FIRST, LAST = datetime.date(1900, 1, 1), datetime.date(2099, 12, 31)


class Split(NamedTuple):
    """The dates to learn from, and others to test on."""

    train: list[datetime.date]
    test: list[datetime.date]


def split_dates(num_train: int = 20_000, num_test: int = 2_000, seed: int = 0) -> Split:
    """Draw dates from 1900 to 2099, each at most once, so that no test date is in ``train``.

    Raises
    ------
    ValueError
        if there are not that many dates, or a number is below 1
    """
    days = (LAST - FIRST).days + 1
    if min(num_train, num_test) < 1 or num_train + num_test > days:
        raise ValueError(
            f"{num_train} + {num_test} dates cannot be drawn from the {days} days from {FIRST} "
            f"to {LAST}."
        )
    numbers = random.Random(seed).sample(range(days), num_train + num_test)
    dates = [FIRST + datetime.timedelta(days=number) for number in numbers]
    return Split(dates[:num_train], dates[num_train:])


def write_date(date: datetime.date, language: str) -> str:
    """Write a date out, with the day of the week.

    Spaces that do not break, as in Russian before the letter for "year", are kept.

    Raises
    ------
    ValueError
        for a language that is not in ``LANGUAGES``
    """
    if language not in LANGUAGES:
        raise ValueError(f"there is no language {language!r}; choose from {sorted(LANGUAGES)}.")
    return format_date(date, "full", locale=language)


def write_dates(dates: Iterable[datetime.date], language: str) -> list[str]:
    """Write dates out, see ``write_date``."""
    return [write_date(date, language) for date in dates]
