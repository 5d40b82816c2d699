"""Measure, print what was found and write benchmarks/results/; or write the book's page from there.

The page, book/measurements.md, is written after each measurement as well.
"""

from __future__ import annotations

import argparse
import time

import torch

from benchmarks import layers, report, training, writer, writing
from benchmarks.page import make_part, write_page

RUNS = {"training": training.measure, "layers": layers.measure, "writing": writing.measure}


def main(arguments: list[str] | None = None) -> None:
    """Do what the command line asks for."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("name", choices=[*RUNS, "writer", "page"])
    parser.add_argument("--device", choices=("cpu", "cuda"), help="default: a GPU if there is one")
    parser.add_argument(
        "--quick", action="store_true", help="small sizes, to see that it runs; nothing is written"
    )
    asked = parser.parse_args(arguments)
    if asked.name == "page":
        print("Written:", write_page())
        return
    device = torch.device(asked.device or ("cuda" if torch.cuda.is_available() else "cpu"))
    if asked.name == "writer":
        writer.make(device, asked.quick)
        return
    start = time.perf_counter()
    settings, tables = RUNS[asked.name](device, asked.quick)
    settings["seconds"] = round(time.perf_counter() - start)
    result = report.make(asked.name, device, settings, tables)
    print(make_part(asked.name, result, device.type)[0])
    if not asked.quick:
        print("Written:", report.write(f"{asked.name}-{device.type}", result))
        print("Written:", write_page())


if __name__ == "__main__":
    main()
