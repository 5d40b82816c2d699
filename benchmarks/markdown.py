"""What the page is put together from: tables, pictures, and numbers as words."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import pandas as pd

from benchmarks.pictures import plain
from utils.plots import DescribedFigure

FOLDER = "_static/measurements"
DEVICES = {"cpu": "processor", "cuda": "GPU"}
UNITS = {"cpu": ("GFLOP/s", 1e9), "cuda": ("TFLOP/s", 1e12)}  # of operations
Part = tuple[list[str], dict[str, DescribedFigure]]  # paragraphs, and the pictures among them


def table(rows: Iterable[dict[str, str]]) -> str:
    """Write rows as a table of Markdown; all columns but the first line up on the right.

    Only the cells of the first column break into lines: a table too wide for a phone scrolls.
    """
    found = list(rows)
    lines = [list(found[0]), ["---", *["---:"] * (len(found[0]) - 1)]]
    for first, *others in (row.values() for row in found):
        whole = [cell.replace(" ", "\u00a0").replace("–", "–\u2060") for cell in others]
        lines.append([first, *whole])
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def picture(name: str, figure: DescribedFigure, caption: str) -> str:
    """Write a picture with its text alternative."""
    return f":::{{figure}} {FOLDER}/{name}.svg\n:alt: {figure.alt}\n\n{caption}\n:::"


def measured(result: dict[str, Any], device: str) -> str:
    """Say when and on what a result was measured."""
    machine, peak = result["machine"], result["peak"]
    on = [machine["processor"], f"threads: {machine['threads']}", machine["instructions"]]
    name = machine["gpu"] or ", ".join(map(str, on))
    libraries = ", ".join(f"{key} {value}" for key, value in result["versions"].items())
    unit, size = UNITS[device]
    return (
        f"Measured on {result['date']}: {name}; {result['settings']['dtype']}. Measured peak: "
        f"{plain(peak['flops'] / size)} {unit}, {plain(1e-9 * peak['bytes'])} GB/s. "
        f"Versions: {libraries}."
    )


def rate(row: Any, device: str) -> dict[str, str]:
    """Give the cell with operations a second and the share of the measured peak."""
    unit, size = UNITS[device]
    column = f"{unit} (of the peak)"
    if pd.isna(row["tflops"]):
        return {column: ""}
    return {column: f"{plain(1e12 * row['tflops'] / size)} ({row['of_peak']:.0%})"}


def span(row: Any, name: str, digits: int | None = None) -> str:
    """Write a median, and in brackets its quartiles, or whatever ``_low`` and ``_high`` are.

    Without ``digits`` it writes as many as fit its size.
    """
    if digits is None:
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
