"""Ours and PyTorch's, trained with several seeds in turns; and a step of both, timed in turns."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import product
from pathlib import Path
from typing import Any, cast, get_args

import pandas as pd
import torch
from torch import Tensor

from benchmarks.multi30k import Pairs
from benchmarks.ratios import quartiles, ratio
from benchmarks.resumable import lower_precision
from benchmarks.subwords import length_batches, pad
from benchmarks.translation import Corpus, Translation, stamps
from benchmarks.translators import Name, build
from chapters.ch17_training import translation_loss
from chapters.ch17_transformer import Transformer
from utils.timing import interleave
from utils.training import gradient_steps

MODELS: tuple[Name, ...] = get_args(Name)


def compare_models(
    data: dict[str, Pairs],
    settings: dict[str, Any],
    device: torch.device,
    folder: Path,
    seeds: int = 3,
    budget: float = 40.0,
) -> tuple[dict[str, pd.DataFrame], dict[str, Any]]:
    """Train and test both models with each seed, each run in a folder of its own.

    What is finished is not trained again, and what was stopped goes on.

    Parameters
    ----------
    data : the splits ``train``, ``validation`` and ``test``
    settings : see ``benchmarks.translation``
    folder : where the folders of the runs are, or will be
    seeds : int, how many, from 0
    budget : float, seconds for single steps

    Returns
    -------
    tables : "epochs" (a row for each, with its seed and model), "test" (a row for each run) and
        "steps" (a row for each model)
    settings : those given, and what was found on the way: sizes, and how the scores are counted

    Raises
    ------
    ValueError
        if a checkpoint is of other data, settings, versions or code
    """
    corpus = Corpus.prepare(data, settings["vocab_size"])

    def prepare(seed: int, name: Name) -> Translation:
        chosen = settings | {"seed": seed, "model": name}
        return Translation(corpus, chosen, device, folder / f"seed-{seed}-{name}")

    runs = list(product(range(seeds), MODELS))
    for seed, name in runs:
        prepare(seed, name)  # what does not fit is refused before a long training
    epochs: list[dict[str, Any]] = []
    tests: list[dict[str, Any]] = []
    for seed, name in runs:
        print(f"Seed {seed}, {name}", flush=True)
        history, test = prepare(seed, name).run()
        epochs += [{"seed": seed, "model": name, **row} for row in history]
        tests.append({"seed": seed, "model": name, **test})
    same = {key: tests[0][key] for key in ("parameters", "signatures")}
    tables = {
        "epochs": pd.DataFrame(epochs),
        "test": pd.DataFrame(tests).drop(columns=[*same, "code"]),
        "steps": compare_steps(corpus, settings, device, budget),
    }
    found = {"seeds": seeds, "pairs": {split: len(part) for split, part in corpus.pairs.items()}}
    return tables, settings | stamps(corpus, device) | same | found


def compare_steps(
    corpus: Corpus, settings: dict[str, Any], device: torch.device, budget: float, batches: int = 8
) -> pd.DataFrame:
    """Time a step of each model in turns: forward, backward, and what the optimiser does.

    A turn takes a step on each of several batches of the training, the same ones for both.

    Returns
    -------
    DataFrame with a row for each model: ``ms`` a step, and ``to_torch``, how many times as long as
    PyTorch's, with quartiles
    """
    pairs = corpus.pairs["train"]
    some = length_batches(pairs, settings["tokens"], seed=0)[:batches]
    ids = [tuple(side.to(device) for side in pad(pairs, rows)) for rows in some]
    functions: dict[str, Callable[[], None]] = {}
    for name in MODELS:
        torch.manual_seed(0)
        model = cast(Transformer, build(corpus.subwords.size, settings, name).to(device))
        functions[name] = _turn(model, ids, settings, device)
    times = interleave(functions, device, budget) / len(ids)
    rows = [
        {"model": name, **quartiles(1e3 * times[name], "ms")}
        | ratio(times, name, "torch.nn", "to_torch")
        for name in MODELS
    ]
    return pd.DataFrame(rows)


def _turn(
    model: Transformer,
    batches: Sequence[Sequence[Tensor]],
    settings: dict[str, Any],
    device: torch.device,
) -> Callable[[], None]:
    """Make the function that takes a step on each batch."""
    optimizer = torch.optim.Adam(model.parameters(), 1e-4, fused=True)

    def loss_of(model: Transformer, source: Tensor, target: Tensor) -> Tensor:
        with lower_precision(device, settings["dtype"]):
            return translation_loss(model, source, target, settings["label_smoothing"])

    def turn() -> None:
        for _ in gradient_steps(model, batches, loss_of, optimizer, max_norm=1.0):
            pass

    return turn
