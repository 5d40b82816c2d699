"""How the numbers of the page and of the screen are written."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pandas as pd

UNITS = {"cpu": ("GFLOP/s", 1e9), "cuda": ("TFLOP/s", 1e12)}  # of operations


def plain(value: float, _: object = None) -> str:
    """Write a number of an axis or a table with three digits at most, and no exponent."""
    return f"{value:,.0f}" if value >= 100 else f"{value:.3g}"


def rate(row: Any, device: str) -> dict[str, str]:
    """Give the cell with operations a second and the share of the measured peak."""
    unit, size = UNITS[device]
    column = f"{unit} (of the peak)"
    if pd.isna(row["tflops"]):
        return {column: ""}
    return {column: f"{plain(1e12 * row['tflops'] / size)} ({row['of_peak']:.0%})"}


def span(row: Any, name: str) -> str:
    """Write a median, and in brackets its quartiles, or whatever ``_low`` and ``_high`` are."""
    digits = _digits(row[name])
    median, low, high = (f"{row[name + end]:,.{digits}f}" for end in ("", "_low", "_high"))
    return f"{median} ({low}–{high})"


def factor(value: Any) -> str:
    """Write a ratio that has no spread, with as many digits as ``span`` would."""
    return f"{value:,.{_digits(value)}f}"


def _digits(value: float) -> int:
    return 0 if value >= 100 else 1 if value >= 10 else 2


def small(value: Any) -> str:
    """Write a difference by its order of magnitude."""
    return "0" if value == 0 else number(value, "{:.0e}".format)


def number(value: Any, write: Callable[[float], str] = plain) -> str:
    """Write a number, or nothing where there is none."""
    return "" if value is None or pd.isna(value) else write(value)
