"""The JSON files in ``benchmarks/results/``: what was measured, where, when and on what."""

from __future__ import annotations

import json
import os
import platform
from collections.abc import Mapping
from dataclasses import asdict
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import pandas as pd
import torch

from benchmarks import peers
from benchmarks.limits import Peak
from utils.experiments import replacing

RESULTS = Path(__file__).parent / "results"
NO_GPU = "No GPU is here that PyTorch can use, so this runs on the CPU."


def choose_device(asked: str | None) -> tuple[torch.device, list[str]]:
    """Give the device that was asked for, or the GPU if there is one; and what to say about it."""
    if asked == "cpu":
        return torch.device("cpu"), []
    if torch.cuda.is_available():
        return torch.device("cuda", torch.cuda.current_device()), []
    return torch.device("cpu"), [NO_GPU]


def make(
    name: str,
    device: torch.device,
    settings: Mapping[str, Any],
    peak: Peak,
    tables: Mapping[str, pd.DataFrame],
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
        "peak": asdict(peak),
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


def machine(device: torch.device) -> dict[str, Any]:
    """Name the processor and, if the device is one, the GPU."""
    gpu = torch.cuda.get_device_name(device) if device.type == "cuda" else None
    return {
        "processor": processor(),
        "cores": os.cpu_count(),
        "threads": torch.get_num_threads(),
        "instructions": torch.backends.cpu.get_cpu_capability(),
        "gpu": gpu,
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
    packages = [library.package for library in peers.LIBRARIES]
    found = {}
    for name in dict.fromkeys(["torch", *packages, "tokenizers", "numpy"]):
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            continue
    return found
