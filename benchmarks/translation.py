"""English to German with two small Transformers, the course's and PyTorch's: one training of one.

Nothing here gives out a sentence: numbers alone leave this module.
"""

from __future__ import annotations

import hashlib
import json
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from benchmarks.group import from_all, own_share
from benchmarks.multi30k import Pairs, score
from benchmarks.resumable import Training
from benchmarks.subwords import PairOfIds, Subwords, encode_pairs, length_batches, pad
from benchmarks.translators import Translator, as_ours, build
from chapters.ch13_batches import place
from chapters.ch17_training import translation_loss
from chapters.ch17_transformer import Transformer
from chapters.ch17_writing import beam_search, greedy
from tools.stamp import code_hash

# What is not the same on a processor and on a GPU. Those for a GPU were chosen, and not tried yet.
SETTINGS: dict[str, dict[str, Any]] = {
    "cpu": {"vocab_size": 4000, "embed_dim": 128, "hidden_dim": 256, "num_layers": 3,
            "dropout": 0.1, "epochs": 5, "tokens": 512, "rate": 2e-3, "averaged": 3},
    "cuda": {"vocab_size": 8000, "embed_dim": 256, "hidden_dim": 1024, "num_layers": 4,
             "dropout": 0.3, "epochs": 60, "tokens": 4096, "rate": 1.5e-3, "averaged": 10},
}  # fmt: skip
COMMON: dict[str, Any] = {
    "num_heads": 4,
    "warmup": 0.1,
    "label_smoothing": 0.1,
    "patience": 8,
    "beams": 5,
    "length_penalty": 1.0,
}
QUICK: dict[str, Any] = {  # to see that it runs
    "vocab_size": 300, "embed_dim": 16, "hidden_dim": 32, "num_layers": 1, "epochs": 2,
    "tokens": 256, "averaged": 2,
}  # fmt: skip


def translation_settings(device: torch.device, quick: bool = False) -> dict[str, Any]:
    """Give the settings for a processor or a GPU, all but the seed and the model."""
    return COMMON | SETTINGS[device.type] | (QUICK if quick else {})


def shorten(data: dict[str, Pairs], count: int = 64) -> dict[str, Pairs]:
    """Keep the first pairs of each split, for a quick run."""
    return {split: Pairs(*(side[:count] for side in both)) for split, both in data.items()}


@dataclass(frozen=True)
class Corpus:
    """The sentences, the vocabulary made of the training split, and the ids that they become."""

    data: dict[str, Pairs]
    subwords: Subwords
    pairs: dict[str, list[PairOfIds]]

    @classmethod
    def prepare(cls, data: dict[str, Pairs], vocab_size: int) -> Corpus:
        """Make the vocabulary, and write the splits ``train``, ``validation`` and ``test`` in it.

        Raises
        ------
        ValueError
            if ``vocab_size`` is too small
        """
        subwords = Subwords.train([*data["train"].source, *data["train"].target], vocab_size)
        pairs = {split: encode_pairs(subwords, *part) for split, part in data.items()}
        return cls(data, subwords, pairs)

    def fingerprints(self) -> dict[str, str]:
        """Give a hash of the sentences, and one of the ids."""
        return {"data": _fingerprint(self.data), "vocabulary": _fingerprint(self.pairs)}


class Translation:
    """One model with one seed: its training, and one test at the end.

    Parameters
    ----------
    settings : see ``SETTINGS``, ``COMMON`` and ``Training``; ``model`` is a name that ``build``
        knows, and ``seed`` draws the first weights, the order of the batches and dropout
    folder : where the checkpoint is, or will be
    every : int, steps between two checkpoints

    Raises
    ------
    ValueError
        if there is a checkpoint of other data, settings, versions or code
    """

    def __init__(
        self,
        corpus: Corpus,
        settings: dict[str, Any],
        device: torch.device,
        folder: Path,
        every: int = 200,
    ) -> None:
        self.corpus = corpus
        self.settings = settings | stamps(corpus, device)
        torch.manual_seed(settings["seed"])
        self.model = build(corpus.subwords.size, settings, settings["model"]).to(device)
        file = folder / "checkpoint.pt"
        self.training = Training(self.model, corpus.pairs["train"], self.settings, file, every)

    def run(self) -> tuple[list[dict[str, Any]], dict[str, Any]]:
        """Train, choose weights on the validation split, and translate the test split once.

        What the test found is kept in the checkpoint, and tested again only where the code of the
        test is another.

        Returns
        -------
        epochs : a row for each
        test : what was found at the end, and what the training took
        """
        training, code = self.training, code_hash(Translation)
        epochs = training.run(self.validate)
        if training.state["test"].get("code") != code:
            training.state["test"] = self.test() | {"code": code}
            training.save()
        took = {key: training.state[key] for key in ("seconds", "core_seconds", "resumed")}
        return epochs, training.state["test"] | {f"train_{key}": took[key] for key in took}

    def validate(self, model: Translator) -> dict[str, float]:
        """Give the loss and the BLEU of greedy decoding on the validation split."""
        ours, pairs = as_ours(model), self.corpus.pairs["validation"]
        texts = translate(ours, self.corpus.subwords, pairs)
        bleu = score(texts, self.corpus.data["validation"].target).bleu
        return {"loss": mean_loss(ours, pairs), "bleu": bleu}

    def test(self) -> dict[str, Any]:
        """Give what the chosen weights score on the test split, and how that was counted."""
        row, settings = self.choose(), self.settings
        start = time.perf_counter()
        beams, penalty = settings["beams"], settings["length_penalty"]
        pairs = self.corpus.pairs["test"]
        texts = translate(as_ours(self.model), self.corpus.subwords, pairs, beams, penalty)
        row["seconds"] = time.perf_counter() - start
        found = score(texts, self.corpus.data["test"].target)._asdict()
        return row | found | {"parameters": sum(w.numel() for w in self.model.parameters())}

    def choose(self) -> dict[str, Any]:
        """Load the best epoch's weights or the last epochs' mean: by BLEU on validation."""
        found: dict[str, tuple[dict[str, float], dict[str, Tensor]]] = {}
        for name, weights in {
            "the best epoch": self.training.state["best"],
            f"the mean of the last {len(self.training.state['last'])}": self.training.average(),
        }.items():
            self.model.load_state_dict(weights)
            found[name] = self.validate(self.model), weights
        best = max(found, key=lambda name: found[name][0]["bleu"])
        self.model.load_state_dict(found[best][1])
        values = {f"validation_{key}": value for key, value in found[best][0].items()}
        return {"weights": best, **values}


def stamps(corpus: Corpus, device: torch.device) -> dict[str, Any]:
    """Give what else the weights depend on: data, versions, processes and code."""
    return corpus.fingerprints() | {
        "torch": str(torch.__version__),
        "threads": torch.get_num_threads() if device.type == "cpu" else None,
        "processes": place()[1],
        "code": code_hash(build, Training),  # what makes the weights
    }


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
