"""Measure, print a table and write benchmarks/results/; or write the book's page from there."""

from __future__ import annotations

import argparse
import sys
import time
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pandas as pd
import torch

from benchmarks import report
from benchmarks.arguments import DTYPES, parse
from benchmarks.limits import Peak, measure_peak
from benchmarks.page import PARTS, write_page

Found = tuple[dict[str, pd.DataFrame], dict[str, Any]]  # tables and settings, for the file
CHECKPOINTS = Path(__file__).resolve().parents[1] / "_build" / "benchmarks"


def main(arguments: list[str] | None = None) -> None:
    """Do what the command line asks for."""
    asked = parse(arguments)
    if asked.name == "page":
        print("Written:", write_page())
        return
    start = time.perf_counter()
    device, sentences = report.choose_device(asked.device)
    print(*sentences, sep="\n", end="\n" if sentences else "")
    if threads := getattr(asked, "threads", None):
        torch.set_num_threads(threads)
    if asked.name == "writer":
        _writer(asked, device)
        return
    # Losses are compared to four decimals, so `training` takes float32 everywhere.
    fast = device.type == "cuda" and asked.name == "layers"
    like = "bfloat16" if fast else "float32"
    dtype = DTYPES[asked.dtype or like]
    peak = measure_peak(device, dtype, asked.quick)
    tables, settings = RUNS[asked.name](asked, device, dtype, peak)
    settings |= {"dtype": asked.dtype or like, "quick": asked.quick}
    settings["seconds"] = round(time.perf_counter() - start)
    result = report.make(asked.name, device, settings, peak, tables)
    part = PARTS[asked.name](result, device.type)
    print(part.table.to_string(index=False), *part.notes, sep="\n")
    rates = f"{peak.flops / 1e12:.2f} TFLOP/s, {peak.bytes / 1e9:.0f} GB/s"
    print(f"Measured peak: {rates} ({asked.dtype or like}).")
    if (asked.quick or asked.case) and not asked.write:
        print("Not all of it was run, so nothing is written; --write writes it nevertheless.")
    else:
        print("Written:", report.write(f"{asked.name}-{device.type}", result))
        print("Written:", write_page())


def _layers(
    asked: argparse.Namespace, device: torch.device, dtype: torch.dtype, peak: Peak
) -> Found:
    from benchmarks.cases import CASES, QUICK_CASES
    from benchmarks.layers import compare_layers

    cases = [case for case in (QUICK_CASES if asked.quick else CASES) if asked.case in case.name]
    if not cases:
        sys.exit(f"No shape's name holds {asked.case!r}.")
    budget = 0.0 if asked.quick else asked.budget
    rows, notes = compare_layers(cases, device, dtype, peak, budget)
    return {"layers": rows}, {"budget": budget, "notes": notes}


def _training(
    asked: argparse.Namespace, device: torch.device, dtype: torch.dtype, peak: Peak
) -> Found:
    from benchmarks.epochs import load_documents
    from benchmarks.training import compare_variants
    from utils.news import NEWS

    epochs = min(2, asked.epochs) if asked.quick else asked.epochs
    slow = min(epochs, asked.slow_epochs)
    budget = 0.0 if asked.quick else asked.budget
    limit, length = (64, 32) if asked.quick else (None, 512)
    documents = load_documents(epochs, device, limit, length)
    tables = compare_variants(documents, slow, device, peak, budget, memory=not asked.quick)
    settings = {
        "epochs": epochs,
        "slow_epochs": slow,
        "documents": documents.count,
        "source": NEWS.source,
        "step_shape": list(documents.largest[0].shape),
        "batches_seconds": round(documents.seconds, 4),
        "budget": budget,
    }
    return tables, settings


def _writing(
    asked: argparse.Namespace, device: torch.device, dtype: torch.dtype, peak: Peak
) -> Found:
    from benchmarks.writing import QUICK, Sizes, compare_writing, load_model

    sizes, budget = (QUICK, 0.0) if asked.quick else (Sizes(), asked.budget)
    try:
        model, notes = load_model(asked.quick)
    except RuntimeError as error:
        sys.exit(str(error))
    print(*notes, sep="\n", end="\n" if notes else "")
    rows, more = compare_writing(model, sizes, device, budget)
    found = {"budget": budget, "notes": notes + more, "trained": not notes}
    return {"writing": rows}, asdict(sizes) | found


RUNS = {
    "training": _training,
    "layers": _layers,
    "writing": _writing,
}


def _writer(asked: argparse.Namespace, device: torch.device) -> None:
    """Train the model that writes, and keep its weights and recipe with the kept results."""
    from benchmarks import writer
    from utils.docstrings import writer_texts

    settings = writer.SETTINGS | (writer.QUICK if asked.quick else {})
    name = f"writer-{device.type}{'-quick' if asked.quick else ''}"
    folder = asked.folder or CHECKPOINTS / name
    try:
        texts = writer_texts()
        texts = writer.shorten(texts) if asked.quick else texts
        task = writer.WriterTask(texts, settings, device, folder)
    except (RuntimeError, ValueError) as error:
        sys.exit(str(error))
    found = task.run()
    print(*writer.sentences(found), sep="\n")
    kept = folder if asked.quick else writer.RESULTS
    print("Written:", *writer.save(found, task.model, kept))


if __name__ == "__main__":
    main()
