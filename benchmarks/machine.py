"""What the numbers were measured on."""

from __future__ import annotations

import os
import platform
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import torch

PACKAGES = (
    "torch", "transformers", "tokenizers", "x-transformers", "llms-from-scratch", "sacrebleu",
    "numpy",
)  # fmt: skip
NO_GPU = "No GPU is here that PyTorch can use, so this runs on the CPU."


def choose_device(asked: str | None) -> tuple[torch.device, list[str]]:
    """Give the device that was asked for, or the GPU if there is one; and what to say about it."""
    if asked == "cpu":
        return torch.device("cpu"), []
    if torch.cuda.is_available():
        return torch.device("cuda", torch.cuda.current_device()), []
    return torch.device("cpu"), [NO_GPU]


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
    """Give the versions of the libraries that take part."""
    found = {}
    for name in PACKAGES:
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            continue
    return found
