"""English to German at full size: a Transformer of the course's own parts, trained and tested.

Nothing here gives out a sentence: numbers alone leave this module.
"""

from __future__ import annotations

import hashlib
import json
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import pandas as pd
import torch
from torch import Tensor

from benchmarks.multi30k import Pairs, score
from benchmarks.resumable import Training
from benchmarks.subwords import PairOfIds, Subwords, encode_pairs, length_batches, pad
from utils.models import Transformer, beam_search, greedy
from utils.training import code_hash, translation_loss
from utils.training.group import from_all, own_share, place

Validate = Callable[[Transformer], dict[str, float]]

# What is not the same on a processor and on a GPU. Those for a GPU were chosen, and not tried yet.
SETTINGS: dict[str, dict[str, Any]] = {
    "cpu": {"vocab_size": 4000, "embed_dim": 128, "hidden_dim": 256, "num_layers": 3,
            "dropout": 0.1, "epochs": 12, "tokens": 512, "rate": 2e-3, "averaged": 3},
    "cuda": {"vocab_size": 8000, "embed_dim": 256, "hidden_dim": 1024, "num_layers": 4,
             "dropout": 0.3, "epochs": 60, "tokens": 4096, "rate": 1.5e-3, "averaged": 10},
}  # fmt: skip
COMMON: dict[str, Any] = {
    "num_heads": 4,
    "warmup": 0.1,
    "label_smoothing": 0.1,
    "patience": 8,
    "seed": 0,
    "beams": 5,
    "length_penalty": 1.0,
}
QUICK: dict[str, Any] = {  # to see that it runs
    "vocab_size": 300, "embed_dim": 16, "hidden_dim": 32, "num_layers": 1, "epochs": 2,
    "tokens": 256, "averaged": 2,
}  # fmt: skip


def translation_settings(device: torch.device, quick: bool = False) -> dict[str, Any]:
    """Give the settings for a processor or a GPU."""
    return COMMON | SETTINGS[device.type] | (QUICK if quick else {})


def shorten(data: dict[str, Pairs], count: int = 64) -> dict[str, Pairs]:
    """Keep the first pairs of each split, for a quick run."""
    return {split: Pairs(*(side[:count] for side in both)) for split, both in data.items()}


class Translation:
    """The whole task: a vocabulary, a model, its training, and one test at the end.

    Parameters
    ----------
    data : the splits ``train``, ``validation`` and ``test``
    settings : see ``SETTINGS``, ``COMMON`` and ``Training``
    folder : where the checkpoint is, or will be
    every : int, steps between two checkpoints

    Raises
    ------
    ValueError
        if there is a checkpoint of other data, settings, versions or code
    """

    def __init__(
        self,
        data: dict[str, Pairs],
        settings: dict[str, Any],
        device: torch.device,
        folder: Path,
        every: int = 200,
    ) -> None:
        self.data = data
        both = [*data["train"].source, *data["train"].target]
        self.subwords = Subwords.train(both, settings["vocab_size"])
        self.pairs = {split: encode_pairs(self.subwords, *part) for split, part in data.items()}
        self.settings = settings | {
            "data": _fingerprint(data),
            "vocabulary": _fingerprint(self.pairs),
            "torch": str(torch.__version__),
            "threads": torch.get_num_threads() if device.type == "cpu" else None,
            "processes": place()[1],
            "code": code_hash(build, Training),  # what makes the weights
        }
        torch.manual_seed(settings["seed"])
        self.model = build(self.subwords.size, settings).to(device)
        file = folder / "checkpoint.pt"
        self.training = Training(self.model, self.pairs["train"], self.settings, file, every)

    def run(self) -> tuple[dict[str, pd.DataFrame], dict[str, Any]]:
        """Train, choose weights on the validation split, and translate the test split once.

        Returns
        -------
        tables : "epochs" (a row for each) and "test" (one row)
        settings : those given, and what was found on the way: sizes, seconds, how BLEU is counted
        """
        model, training, settings = self.model, self.training, self.settings
        if training.finished:
            print("The checkpoint is that of a finished training: only the test is run.")
        history = pd.DataFrame(training.run(self.validate))
        row = choose(model, training, self.validate)
        start = time.perf_counter()
        beams, penalty = settings["beams"], settings["length_penalty"]
        texts = translate(model, self.subwords, self.pairs["test"], beams, penalty)
        row["seconds"] = time.perf_counter() - start
        cased, lower = (score(texts, self.data["test"].target, fold) for fold in (False, True))
        row |= {"bleu": cased.bleu, "bleu_lowercase": lower.bleu}
        found = {
            "parameters": sum(weights.numel() for weights in model.parameters()),
            "signature": cased.signature,
            "signature_lowercase": lower.signature,
            "pairs": {split: len(part) for split, part in self.pairs.items()},
            "train_seconds": training.state["seconds"],
            "train_core_seconds": training.state["core_seconds"],
            "resumed": training.state["resumed"],
        }
        return {"epochs": history, "test": pd.DataFrame([row])}, settings | found

    def validate(self, model: Transformer) -> dict[str, float]:
        """Give the loss and the BLEU of greedy decoding on the validation split."""
        texts = translate(model, self.subwords, self.pairs["validation"])
        bleu = score(texts, self.data["validation"].target).bleu
        return {"loss": mean_loss(model, self.pairs["validation"]), "bleu": bleu}


def build(vocab_size: int, settings: dict[str, Any]) -> Transformer:
    """Make the model, whose attention is ``utils.attention.MultiHeadAttention``."""
    return Transformer(
        vocab_size,
        settings["embed_dim"],
        settings["num_heads"],
        settings["hidden_dim"],
        settings["num_layers"],
        settings["dropout"],
        norm_first=True,
    )


def choose(model: Transformer, training: Training, validate: Validate) -> dict[str, Any]:
    """Give the model the best epoch's weights or the last epochs' mean: by BLEU on validation."""
    found: dict[str, tuple[dict[str, float], dict[str, Tensor]]] = {}
    for name, weights in {
        "the best epoch": training.state["best"],
        f"the mean of the last {len(training.state['last'])} epochs": training.average(),
    }.items():
        model.load_state_dict(weights)
        found[name] = validate(model), weights
    best = max(found, key=lambda name: found[name][0]["bleu"])
    model.load_state_dict(found[best][1])
    values = {f"validation_{key}": value for key, value in found[best][0].items()}
    return {"weights": best, **values}


@torch.no_grad()
def mean_loss(model: Transformer, pairs: Sequence[PairOfIds], tokens: int = 4096) -> float:
    """Give the mean cross-entropy of a token, in nats, without label smoothing."""
    model.eval()
    device = next(model.parameters()).device
    total, count = 0.0, 0
    for rows in own_share(length_batches(pairs, tokens)):
        source, target = (ids.to(device) for ids in pad(pairs, rows))
        here = int((target[:, 1:] != model.padding_idx).sum())
        total += translation_loss(model, source, target).item() * here
        count += here
    totals, counts = zip(*from_all((total, count)), strict=True)
    return sum(totals) / sum(counts)


def translate(
    model: Transformer,
    subwords: Subwords,
    pairs: Sequence[PairOfIds],
    beams: int = 1,
    length_penalty: float = 1.0,
    tokens: int = 4096,
) -> list[str]:
    """Translate the sources, in their order: greedily, or with several beams."""
    device = next(model.parameters()).device
    found: dict[int, str] = {}
    for rows in own_share(length_batches([(source, []) for source, _ in pairs], tokens // beams)):
        source = pad(pairs, rows)[0].to(device)
        longest = 2 * source.shape[1] + 10  # subwords; hardly any translation is that long
        if beams == 1:
            ids = greedy(model, source, longest)
        else:
            ids, _ = beam_search(model, source, longest, beams, length_penalty)
        found |= zip(rows, subwords.decode(ids), strict=True)
    texts = {i: text for part in from_all(found) for i, text in part.items()}
    return [texts[i] for i in range(len(pairs))]


def _fingerprint(data: Mapping[str, Any]) -> str:
    """Hash sentences or ids, so that a checkpoint of other ones is refused."""
    return hashlib.sha256(json.dumps(data, sort_keys=True).encode()).hexdigest()[:16]
