"""The book's page of measurements, written from ``benchmarks/results/``: no number is typed.

The same results give the same bytes.
"""

from __future__ import annotations

import json
import re
from pathlib import Path

import matplotlib as mpl

from benchmarks import chapters, report
from benchmarks.markdown import DEVICES, FOLDER, table
from benchmarks.page_layers import layers
from benchmarks.page_training import training
from benchmarks.page_translation import translation
from utils.plots import DescribedFigure

ROOT = Path(__file__).resolve().parents[1]
PAGE = ROOT / "book" / "measurements.md"
PICTURES = PAGE.parent / FOLDER
PARTS = {
    "training": ("A classifier, trained in seven ways", training),
    "layers": ("One layer against its peers", layers),
    "translation": ("A Transformer that translates", translation),
}
OPENING = """\
% Written by `python -m benchmarks page` from benchmarks/results/; what is changed here is lost.

# Measurements

How fast is the course's layer, next to the same function as others write it, and how well does a
Transformer made of it translate? This page shows what was measured, where and when.
[Chapter 11](../notebooks/11-fast-attention.ipynb) says where each factor comes from, and
[chapter 14](../notebooks/14-encoder-decoder.ipynb) builds the Transformer.

Things that are compared take turns within one run, so that what disturbs the machine disturbs all
alike. What counts are the ratios: seconds say as much about the machine as about the code. Measure
your own with `make bench`, which writes this page anew."""
TIMES = """\
What each chapter took when it was last executed from its first cell to its last, in a fresh kernel.
On another machine it takes longer or shorter."""


def write_page() -> Path:
    """Write the page and its pictures, and remove pictures that it no longer has."""
    text, figures = make_page()
    for name, figure in figures.items():
        report.write_text(PICTURES / f"{name}.svg", figure.svg)
    for file in PICTURES.glob("*.svg"):
        if file.stem not in figures:
            file.unlink()
    return report.write_text(PAGE, text)


def make_page() -> tuple[str, dict[str, DescribedFigure]]:
    """Give the page's text, and its pictures by name."""
    lines: list[str] = [OPENING]
    figures: dict[str, DescribedFigure] = {}
    for name, (title, part) in PARTS.items():
        lines.append(f"## {title}\n\n`python -m benchmarks {name}`")
        for device, word in DEVICES.items():
            if (result := report.read(f"{name}-{device}")) is None:
                lines.append(
                    f"On a {word} nothing has been measured yet: "
                    f"`python -m benchmarks {name} --device {device}` would."
                )
                continue
            lines.append(f"### On a {word}")
            with mpl.rc_context():
                mpl.rcdefaults()  # whatever was drawn before, and however it is set up here
                more, drawn = part(result, device)
            lines += more
            figures |= drawn
    lines += ["## Execution times", TIMES, _times()]
    return "\n\n".join(lines) + "\n", figures


def _times() -> str:
    """Give the table of the chapters, in the book's order, and what they take together."""
    found = (report.read(chapters.NAME) or {"chapters": {}})["chapters"]
    rows, total, processors = [], 0.0, set()
    for path in sorted((ROOT / "notebooks").glob("*.ipynb")):
        row = {"chapter": f"[{_title(path)}](../notebooks/{path.name})"}
        if kept := found.get(path.stem):
            total += kept["seconds"]
            processors.add(f"{kept['processor']} ({kept['cores']} cores)")
            rows.append(row | {"seconds": f"{kept['seconds']:.0f}", "on": kept["date"]})
        else:
            rows.append(row | {"seconds": "", "on": "not measured yet"})
    if not processors:
        return table(rows)
    together = f"Together: {total / 60:.0f} minutes, on {' and '.join(sorted(processors))}."
    return f"{table(rows)}\n\n{together}"


def _title(path: Path) -> str:
    """Give the heading of a chapter."""
    first = json.loads(path.read_text(encoding="utf-8"))["cells"][0]["source"]
    text = first if isinstance(first, str) else "".join(first)
    heading = re.match(r"# (.+)", text)
    return heading[1].strip() if heading else path.stem
