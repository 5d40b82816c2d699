"""How long each chapter took when ``make notebooks`` executed it: kept, and put in a table."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pandas as pd

from benchmarks import report

NAME = "chapters"
NOTEBOOKS = Path(__file__).resolve().parents[1] / "notebooks"


def keep(chapter: str, seconds: float) -> None:
    """Note in results/chapters.json how long a chapter took, today and on this machine.

    The notebook itself does not say it: executed again, it must come out the same.
    """
    found = report.read(NAME) or {"benchmark": NAME, "command": "make notebooks", "chapters": {}}
    found["chapters"][chapter] = {
        "seconds": round(seconds, 1),
        "date": report.today(),
        "processor": report.processor(),
        "cores": os.cpu_count(),
    }
    found["chapters"] = dict(sorted(found["chapters"].items()))
    report.write(NAME, found)


def times() -> tuple[pd.DataFrame, str]:
    """Give the table of the chapters, in the book's order, and a sentence on all of them."""
    found = (report.read(NAME) or {"chapters": {}})["chapters"]
    rows, total, processors = [], 0.0, set()
    for path in sorted(NOTEBOOKS.glob("*.ipynb")):
        row = {"seconds": "", "on": "not measured yet"}
        if kept := found.get(path.stem):
            total += kept["seconds"]
            processors.add(f"{kept['processor']} ({kept['cores']} cores)")
            row = {"seconds": f"{kept['seconds']:.0f}", "on": kept["date"]}
        rows.append({"chapter": f"[{_title(path)}](../notebooks/{path.name})", **row})
    together = f"Together: {total / 60:.0f} minutes, on {' and '.join(sorted(processors))}."
    return pd.DataFrame(rows), together if processors else ""


def _title(path: Path) -> str:
    """Give the heading of a chapter."""
    first = json.loads(path.read_text(encoding="utf-8"))["cells"][0]["source"]
    return "".join(first).partition("\n")[0].removeprefix("# ")
