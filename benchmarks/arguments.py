"""What ``python -m benchmarks`` can be asked."""

from __future__ import annotations

import argparse
from pathlib import Path

import torch

DTYPES = {"float32": torch.float32, "bfloat16": torch.bfloat16}
DESCRIPTION = (
    "Measure, print a table and write benchmarks/results/; or write the book's page from there."
)


def parse(arguments: list[str] | None) -> argparse.Namespace:
    """Read the command line, or stop with what is wrong about it."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=DESCRIPTION)
    names = parser.add_subparsers(dest="name", required=True, metavar="NAME")
    common = argparse.ArgumentParser(add_help=False)
    common.add_argument("--device", choices=("cpu", "cuda"), help="default: a GPU if there is one")
    common.add_argument("--quick", action="store_true", help="small sizes, to see that it runs")
    common.add_argument("--write", action="store_true", help="write even if not all was run")
    training = names.add_parser(
        "training", parents=[common], help="the classifier of chapter 7, in eight ways"
    )
    training.set_defaults(case="", dtype=None)
    training.add_argument("--epochs", type=int, default=10, help="default: 10")
    training.add_argument(
        "--slow-epochs", type=int, default=2, help="of the loop and the reshaped layer; default: 2"
    )
    training.add_argument(
        "--budget", type=float, default=40, help="seconds for single steps; default: 40"
    )
    layers = names.add_parser(
        "layers", parents=[common], help="the layer, as several libraries write it"
    )
    layers.add_argument("--dtype", choices=DTYPES, help="default: bfloat16 on a GPU")
    layers.add_argument("--case", default="", help="only shapes whose name holds this")
    layers.add_argument(
        "--budget", type=float, default=9, help="seconds for a shape and a pass; default: 9"
    )
    writing = names.add_parser(
        "writing", parents=[common], help="tokens a second, beside transformers' generate"
    )
    writing.set_defaults(case="", dtype=None)
    writing.add_argument(
        "--threads", type=int, help="of the processor, beside one; default: all cores"
    )
    writing.add_argument(
        "--budget", type=float, default=40, help="seconds for a batch on some threads; default: 40"
    )
    writer = names.add_parser("writer", help="train the model that writes, and keep it")
    writer.add_argument("--device", choices=("cpu", "cuda"), help="default: a GPU if there is one")
    writer.add_argument(
        "--quick", action="store_true", help="small sizes, kept beside a checkpoint"
    )
    writer.add_argument("--threads", type=int, help="of the processor; default: all cores")
    writer.add_argument(
        "--folder",
        type=Path,
        help="of the checkpoint, which is gone on from if it is there; default: in _build",
    )
    names.add_parser("page", help="write book/measurements.md from the results")
    asked = parser.parse_args(arguments)
    if asked.name == "training" and min(asked.epochs, asked.slow_epochs) < 1:
        parser.error("training needs at least one epoch of every variant")
    if asked.name == "writing" and (asked.threads or 1) < 1:
        parser.error("writing needs at least one thread")
    return asked
