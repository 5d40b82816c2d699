"""What a run of chapter 7 notes of its model, and what many runs say together."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
import torch
from numpy.typing import NDArray
from scipy import stats
from torch import Tensor, nn

from utils.experiments import run_all
from utils.models import recorded_weights

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerFast


@torch.no_grad()
def noted(
    model: nn.Module, batches: Iterable[tuple[Tensor, Tensor]], lengths: Sequence[int]
) -> dict[str, Any]:
    """Note how often a classifier is right, and how sure it is, of the first tokens of each text.

    Also how many texts there are, and which of them it gets wrong at the last of the lengths.
    """
    found: dict[str, Any] = {}
    for n in lengths:
        parts = [(model(ids[:, :n]), labels) for ids, labels in batches]
        logits, labels = (torch.cat(part) for part in zip(*parts, strict=True))
        sure, answer = logits.softmax(dim=-1).max(dim=-1)  # (N,)
        right = answer == labels  # (N,)
        found |= {f"right {n}": right.double().mean().item(), f"sure {n}": sure.mean().item()}
    wrong = (~right).nonzero().squeeze(1).tolist()
    return found | {"articles": len(right), "wrong": " ".join(["articles", *map(str, wrong)])}


def best_on_test(
    run: Callable[..., Any], layer: str, rates: Sequence[float], more: Mapping[str, Any]
) -> pd.DataFrame:
    """Choose a rate by three runs on validation; give eight on the test at this rate.

    Of two rates that are as good the larger is taken.
    """
    file = f"results/07-{run.__name__.removeprefix('run_')}.csv"

    def rows(rate: float, on: str) -> dict[str, Any]:
        return {"layer": layer, **more, "rate": rate, "on": on}

    val = run_all(run, [rows(rate, "val") for rate in rates], range(3), file)
    by_rate = val.groupby("rate")["right 512"].mean().round(4)
    return run_all(run, [rows(float(by_rate[::-1].idxmax()), "test")], range(8), file)  # type: ignore[arg-type]


def right_of(rows: pd.DataFrame, **setting: Any) -> NDArray[np.float64]:
    """Give where each run of a setting is right, of what ``noted`` gave: (runs, articles)."""
    rows = rows[(rows[list(setting)] == pd.Series(setting)).all(axis=1)]
    right = np.ones((len(rows), rows["articles"].iloc[0]))
    for run, wrong in zip(right, rows["wrong"], strict=True):
        run[[int(place) for place in wrong.split()[1:]]] = 0
    return right


def interval(gain: NDArray[np.float64]) -> tuple[float, float, float]:
    """Give the mean of (runs, articles) and the ends of its 95 % interval, by Student's t.

    Its variance is that over the runs and that over the articles, added up, with the degrees of
    freedom of Satterthwaite.
    """
    parts = np.array([stats.sem(gain.mean(axis=axis)) ** 2 for axis in (1, 0)])
    degrees = parts.sum() ** 2 / (parts**2 / (np.array(gain.shape) - 1)).sum()
    half = stats.t.ppf(0.975, degrees) * parts.sum() ** 0.5
    return gain.mean(), gain.mean() - half, gain.mean() + half


@torch.no_grad()
def weight_of_words(
    model: nn.Module, tokenizer: PreTrainedTokenizerFast, text: str
) -> tuple[list[str], list[float]]:
    """Give the words of a text and the weight of [CLS] on each, a mean over pieces and heads."""
    words = text.split()
    encoded = tokenizer([words], is_split_into_words=True)
    with recorded_weights(model) as records:
        model(torch.tensor(encoded["input_ids"]))
    of_pieces: list[list[float]] = [[] for _ in words]
    by_token = records[0][0][0, :, 0].mean(dim=0).tolist()  # (H, S) -> (S,)
    for word, weight in zip(encoded.word_ids(), by_token, strict=True):
        if word is not None:
            of_pieces[word].append(weight)
    return words, [float(np.mean(weights)) for weights in of_pieces]
