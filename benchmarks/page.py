"""The book's page of measurements, written from ``benchmarks/results/``: no number is typed.

Its sentences are in ``texts/``, with names in braces for what was found. The same results give the
same bytes.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import matplotlib as mpl
import matplotlib.pyplot as plt
import pandas as pd

from benchmarks import chapters, report
from benchmarks.parts import DEVICES, PARTS
from utils.figures import STYLE, DescribedFigure

FOLDER = "_static/measurements"
PAGE = Path(__file__).resolve().parents[1] / "book" / "measurements.md"
PICTURES = PAGE.parent / FOLDER
TEXTS = Path(__file__).parent / "texts"


def write_page() -> Path:
    """Write the page and its pictures, and remove pictures that it no longer has."""
    text, figures = make_page()
    for name, figure in figures.items():
        report.write_text(PICTURES / f"{name}.html", figure._repr_html_() + "\n")
    for file in PICTURES.glob("*"):
        if file.stem not in figures:
            file.unlink()
    return report.write_text(PAGE, text)


def make_page() -> tuple[str, dict[str, DescribedFigure]]:
    """Give the page's text, and its pictures by name."""
    texts: dict[str, str] = {}
    figures: dict[str, DescribedFigure] = {}
    for name in PARTS:
        found = []
        for device, word in DEVICES.items():
            if result := report.read(f"{name}-{device}"):
                text, figures[f"{name}-{device}"] = make_part(name, result, device)
                found.append(f"### On a {word}\n\n{text}")
            else:
                found.append(
                    f"On a {word} nothing has been measured yet: "
                    f"`python -m benchmarks {name} --device {device}` would."
                )
        texts[name] = "\n\n".join(found)
    times, together = chapters.times()
    return fill("page", {**texts, "chapters": times, "together": together}) + "\n", figures


def make_part(name: str, result: dict[str, Any], device: str) -> tuple[str, DescribedFigure]:
    """Give the text about one result, and its picture."""
    with mpl.rc_context():
        mpl.rcdefaults()  # whatever was drawn before, and however it is set up here
        plt.style.use(STYLE)
        fields = PARTS[name](result, device)
    figure = fields["picture"]
    raw = f"```{{raw}} html\n:file: {FOLDER}/{name}-{device}.html\n```"
    about = {"picture": raw, "measured": measured(result)}
    return fill(name, result["settings"] | fields | about), figure


def fill(name: str, fields: Mapping[str, Any]) -> str:
    """Fill the braces of texts/NAME.md; a paragraph of which nothing is left goes."""
    text = (TEXTS / f"{name}.md").read_text(encoding="utf-8")
    frames = {key: table(value) for key, value in fields.items() if isinstance(value, pd.DataFrame)}
    return re.sub(r"\n{3,}", "\n\n", text.format_map({**fields, **frames})).strip()


def table(rows: pd.DataFrame) -> str:
    """Write a table of Markdown; all columns but the first line up on the right.

    Only the cells of the first column break into lines: a table too wide for a phone scrolls.
    """
    lines = [[*map(str, rows.columns)], ["---", *["---:"] * (rows.shape[1] - 1)]]
    for first, *others in rows.to_numpy().tolist():
        whole = [cell.replace(" ", "\u00a0").replace("–", "–\u2060") for cell in others]
        lines.append([first, *whole])
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def measured(result: dict[str, Any]) -> str:
    """Say when and on what a result was measured."""
    machine = result["machine"]
    on = f"{machine['processor']}, threads: {machine['threads']}, {machine['instructions']}"
    libraries = ", ".join(f"{key} {value}" for key, value in result["versions"].items())
    return (
        f"Measured on {result['date']}: {machine['gpu'] or on}; {result['settings']['dtype']}. "
        f"Versions: {libraries}."
    )
