"""The JSON files in ``benchmarks/results/``: what was measured, where, when and on what."""

from __future__ import annotations

import json
import os
import platform
from collections.abc import Mapping
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import pandas as pd
import torch

from benchmarks import peers
from utils.experiments import replacing

RESULTS = Path(__file__).parent / "results"


def make(
    name: str, device: torch.device, settings: Mapping[str, Any], tables: Mapping[str, pd.DataFrame]
) -> dict[str, Any]:
    """Put tables, machine, versions and date together, as the file holds them.

    What a table leaves empty (NaN) is None.
    """
    return {
        "benchmark": name,
        "command": f"python -m benchmarks {name} --device {device.type}",
        "date": today(),
        "machine": machine(device),
        "versions": versions(),
        "settings": dict(settings),
        "tables": {
            key: json.loads(table.to_json(orient="records", double_precision=15))
            for key, table in tables.items()
        },
    }


def read(name: str) -> dict[str, Any] | None:
    """Give what results/NAME.json holds, or None if there is no such file."""
    file = RESULTS / f"{name}.json"
    return json.loads(file.read_text(encoding="utf-8")) if file.is_file() else None


def write(name: str, found: Mapping[str, Any]) -> Path:
    """Write results/NAME.json."""
    text = json.dumps(found, indent=1, allow_nan=False, ensure_ascii=False)
    return write_text(RESULTS / f"{name}.json", text + "\n")


def write_text(file: Path, text: str) -> Path:
    """Replace a file in one step, so that half of it never stands there."""
    with replacing(file) as half:
        half.write_text(text, encoding="utf-8")
    return file


def today() -> str:
    """Give the date, such as 2026-11-21."""
    return datetime.now(UTC).date().isoformat()


def machine(device: torch.device) -> dict[str, Any]:
    """Name the processor and, if the device is one, the GPU."""
    return {
        "processor": processor(),
        "cores": os.cpu_count(),
        "threads": torch.get_num_threads(),
        "instructions": torch.backends.cpu.get_cpu_capability(),
        "gpu": torch.cuda.get_device_name(device) if device.type == "cuda" else None,
        "system": f"{platform.system()} {platform.machine()}",
        "python": platform.python_version(),
    }


def processor() -> str:
    """Give the processor's name, as the system tells it."""
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        return platform.processor() or platform.machine()
    names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.machine()


def versions() -> dict[str, str]:
    """Give the versions of PyTorch and of all that takes part, as far as it is installed."""
    found = {}
    for name in dict.fromkeys(["torch", *(library.package for library in peers.LIBRARIES)]):
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            continue
    return found
