"""Writing with one set of weights, ours and as ``transformers``' Llama, in turns: the benchmark."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from itertools import product
from typing import Any, NamedTuple

import pandas as pd
import torch
import torch.nn.functional as F
from torch import Tensor
from tqdm import tqdm

from benchmarks import writer
from benchmarks.timing import interleave, spread
from chapters.ch18_llama import to_llama
from chapters.ch18_model import LanguageModel
from chapters.ch18_sampling import write
from chapters.ch18_writer import load_writer
from utils.byte_pairs import END_OF_TEXT
from utils.costs import count

OURS, DEFAULT, FLOOR = "ours", "generate", "the products alone"
CALLS = {DEFAULT: {}, "generate, static cache": {"cache_implementation": "static"}}
TIE = 1e-3  # logits that are as near as this may be the other way round after rounding
Way = Callable[[Tensor, int], Any]  # prompts (B, T) and a number of tokens -> (B, tokens)


class Sizes(NamedTuple):
    """What is measured."""

    prompt: int = 128  # tokens that are there
    new_tokens: int = 256  # that are written
    batches: tuple[int, ...] = (1, 16)  # texts at once


QUICK = Sizes(prompt=8, new_tokens=6, batches=(1, 3))


def measure(device: torch.device, quick: bool) -> tuple[dict[str, Any], dict[str, pd.DataFrame]]:
    """Give settings and tables, for the file; a quick run writes with random weights."""
    if quick:
        model, sizes, budget = writer.build(writer.QUICK).eval(), QUICK, 0.0
    else:  # seconds for a batch on some threads
        model, sizes, budget = load_writer(writer.RESULTS).model, Sizes(), 40.0
    rows = compare_writing(model, sizes, device, budget)
    return {"dtype": "float32", "budget": budget, **sizes._asdict()}, {"writing": rows}


def compare_writing(
    model: LanguageModel, sizes: Sizes, device: torch.device, budget: float
) -> pd.DataFrame:
    """Time how the model and the same weights as a Llama write, once all write the same texts.

    Each batch is written on one thread, and on as many as PyTorch has here.

    Returns
    -------
    DataFrame with a row for each batch, number of threads and way to write: seconds, tokens a
    second, and how many times as long it takes as ours, each with its range; and ``calls``, the
    operators of PyTorch that a token takes. The last way writes nothing: it only multiplies with
    the weights, as often as all must

    Raises
    ------
    ArithmeticError
        if a way writes something else than ours
    """
    model = model.to(device)
    theirs = to_llama(model)
    ways: dict[str, Way] = {OURS: partial(_ours, model)}
    ways |= {name: partial(_theirs, theirs, options) for name, options in CALLS.items()}
    timed: dict[str, Way] = {**ways, FLOOR: partial(_products, model)}
    before = torch.get_num_threads()
    most = before if device.type == "cpu" else 1
    rows: list[dict[str, Any]] = []
    for batch, threads in tqdm([*product(sizes.batches, sorted({1, most}))], desc="writing"):
        torch.set_num_threads(threads)
        ids = prompts(model, batch, sizes.prompt)
        check_texts(model, ids, {name: way(ids, sizes.new_tokens) for name, way in ways.items()})
        calls = {name: _calls(way, ids) for name, way in timed.items()}
        turns = {name: partial(way, ids, sizes.new_tokens) for name, way in timed.items()}
        times = interleave(turns, device, budget)
        for name in timed:
            row: dict[str, Any] = {"batch": batch, "threads": threads, "way": name}
            row |= spread(times[name], "seconds", (0, 1))
            row |= spread(batch * sizes.new_tokens / times[name], "per_second", (0, 1))
            row |= spread(times[name] / times[OURS], "to_ours", (0, 1))
            rows.append(row | {"calls": calls[name], "rounds": len(times)})
    torch.set_num_threads(before)
    return pd.DataFrame(rows)


def prompts(model: LanguageModel, batch: int, length: int) -> Tensor:
    """Let the model begin texts, (batch, length): drawn, so that no two are alike."""
    begin = torch.full((batch, 1), END_OF_TEXT, device=model.embedding.weight.device)
    drawn = write(model, begin, length - 1, seed=0)
    return torch.cat([begin, *(token.unsqueeze(1) for token in drawn)], dim=1)


@torch.no_grad()
def check_texts(model: LanguageModel, ids: Tensor, written: Mapping[str, Tensor]) -> None:
    """See that all went on with ``ids`` as ours did; what follows a tie may differ.

    Raises
    ------
    ArithmeticError
        if one is another text, or of another length
    """
    ours = written[OURS]
    for name, found in written.items():
        if found.shape != ours.shape:
            raise ArithmeticError(f"“{name}” wrote {found.shape[1]} tokens, not {ours.shape[1]}.")
        for row in (found != ours).any(dim=1).nonzero().flatten().tolist():
            first = int((found[row] != ours[row]).nonzero()[0])
            logits = model(torch.cat([ids[row], ours[row, :first]]).unsqueeze(0))[0, -1]
            if not (logits[found[row, first]] - logits[ours[row, first]]).abs() <= TIE:
                raise ArithmeticError(f"“{name}” writes another text than ours.")


def _ours(model: LanguageModel, ids: Tensor, count: int) -> Tensor:
    return torch.stack(list(write(model, ids, count, temperature=None)), dim=1)


def _theirs(model: Any, options: Mapping[str, str], ids: Tensor, count: int) -> Tensor:
    found = model.generate(ids, max_new_tokens=count, do_sample=False, **options)
    return found[:, ids.shape[1] :]


@torch.no_grad()
def _products(model: LanguageModel, ids: Tensor, count: int) -> None:
    """Multiply with every matrix of weights, once a token; what is before and after is left out."""
    weights = [weight for weight in model.parameters() if weight.dim() == 2]
    inputs = {weight.shape[1]: weight.new_ones(len(ids), weight.shape[1]) for weight in weights}
    for _ in range(count):
        for weight in weights:
            F.linear(inputs[weight.shape[1]], weight)


def _calls(way: Way, ids: Tensor) -> int:
    """Count the operators that one more token takes."""
    few, more = (count(partial(way, ids, tokens)).calls for tokens in (2, 4))
    return (more - few) // 2
