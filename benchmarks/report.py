"""The JSON files in ``benchmarks/results/``: what was measured, where and when."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pandas as pd
import torch

from benchmarks.machine import machine, versions
from utils.costs import Peak
from utils.files import replacing

RESULTS = Path(__file__).parent / "results"


def write(
    name: str,
    device: torch.device,
    settings: Mapping[str, Any],
    peak: Peak,
    tables: Mapping[str, pd.DataFrame],
) -> Path:
    """Write the tables, with machine, versions and date, as results/NAME-DEVICE.json.

    What a table leaves empty (NaN) is null in the file.
    """
    records = {
        key: json.loads(table.to_json(orient="records", double_precision=15))
        for key, table in tables.items()
    }
    report = {
        "benchmark": name,
        "command": f"python -m benchmarks {name} --device {device.type}",
        "date": today(),
        "machine": machine(device),
        "versions": versions(),
        "peak": asdict(peak),
        "settings": dict(settings),
        "tables": records,
    }
    return write_json(f"{name}-{device.type}", report)


def read(name: str) -> dict[str, Any] | None:
    """Give what results/NAME.json holds, or None if there is no such file."""
    file = RESULTS / f"{name}.json"
    return json.loads(file.read_text(encoding="utf-8")) if file.is_file() else None


def write_json(name: str, found: Mapping[str, Any]) -> Path:
    """Write results/NAME.json in one step, so that half of it never stands there."""
    text = json.dumps(found, indent=1, allow_nan=False, ensure_ascii=False)
    return write_text(RESULTS / f"{name}.json", text + "\n")


def write_text(file: Path, text: str) -> Path:
    """Replace a file in one step."""
    with replacing(file) as half:
        half.write_text(text, encoding="utf-8")
    return file


def today() -> str:
    """Give the date, such as 2026-11-21."""
    return datetime.now(UTC).date().isoformat()
