"""How long each chapter took when it was executed: kept by ``make notebooks``."""

from __future__ import annotations

import os

from benchmarks import report
from benchmarks.machine import processor

NAME = "chapters"


def keep(chapter: str, seconds: float) -> None:
    """Note in results/chapters.json how long a chapter took, today and on this machine.

    The notebook itself does not say it: executed again, it must come out the same.
    """
    found = report.read(NAME) or {"benchmark": NAME, "command": "make notebooks", "chapters": {}}
    found["chapters"][chapter] = {
        "seconds": round(seconds, 1),
        "date": report.today(),
        "processor": processor(),
        "cores": os.cpu_count(),
    }
    found["chapters"] = dict(sorted(found["chapters"].items()))
    report.write_json(NAME, found)
