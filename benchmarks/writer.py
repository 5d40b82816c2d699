"""The model that writes: trained once, and kept with what it is compared with."""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Mapping, Sequence
from importlib.metadata import version
from pathlib import Path
from typing import Any

import torch
from safetensors.torch import save as save_safetensors
from torch import nn

from benchmarks import report
from benchmarks.compression import compressed_bits, join_texts
from benchmarks.resumable import Training
from chapters.ch18_model import LanguageModel
from chapters.ch18_ngrams import NGramModel
from chapters.ch18_sampling import write
from chapters.ch18_training import bits_per_byte, language_nats
from chapters.ch18_writer import SIZES
from tools.stamp import code_hash
from utils.byte_pairs import END_OF_TEXT, BytePairs
from utils.docstrings import DISTRIBUTIONS, TRAINED_ON, VALIDATED_ON
from utils.experiments import replacing

RESULTS = Path(__file__).resolve().parents[1] / "notebooks" / "results"
NAME = "18-writer"
SETTINGS: dict[str, Any] = {
    "vocab_size": 2048,
    "embed_dim": 128,
    "num_heads": 4,
    "num_kv_heads": 2,
    "hidden_dim": 384,
    "num_layers": 6,
    "dropout": 0.0,
    "length": 256,
    "batch_size": 16,
    "epochs": 3,
    "rate": 3e-3,
    "warmup": 0.1,
    "seed": 0,
    "orders": 5,  # of the n-gram models
    "samples": 16,  # texts that are written
    "new_tokens": 256,
    "temperature": 0.8,
    "top_p": 0.95,
}
QUICK: dict[str, Any] = {  # to see that it runs
    "vocab_size": 300, "embed_dim": 16, "num_heads": 2, "num_kv_heads": 1, "hidden_dim": 32,
    "num_layers": 2, "length": 32, "batch_size": 8, "epochs": 2, "orders": 3, "samples": 2,
    "new_tokens": 8,
}  # fmt: skip
Texts = Mapping[str, Sequence[str]]


def shorten(texts: Texts, count: int = 24) -> dict[str, list[str]]:
    """Keep the first texts of each split, and of each its beginning, for a quick run."""
    return {split: [text[:1000] for text in part[:count]] for split, part in texts.items()}


class WriterTask:
    """The whole task: a vocabulary, a model, its training, and what it is compared with.

    Parameters
    ----------
    texts : the splits ``train`` and ``validation``
    settings : see ``SETTINGS``
    folder : where the checkpoint is, or will be
    every : int, steps between two checkpoints

    Raises
    ------
    ValueError
        if there is a checkpoint of other texts, settings, versions or code
    """

    def __init__(
        self,
        texts: Texts,
        settings: dict[str, Any],
        device: torch.device,
        folder: Path,
        every: int = 100,
    ) -> None:
        self.texts = texts
        self.vocabulary = BytePairs.learn(texts["train"], settings["vocab_size"])
        self.ids = {split: self.vocabulary.encode_all(part) for split, part in texts.items()}
        # A text and the end after it, as a compressor reads them too.
        self.bytes = {split: len(join_texts(part).encode()) for split, part in texts.items()}
        self.settings = settings | {
            "vocab_size": len(self.vocabulary),
            "data": hashlib.sha256(join_texts(texts["train"]).encode()).hexdigest(),
            "torch": str(torch.__version__),
            "threads": torch.get_num_threads() if device.type == "cpu" else None,
            "code": code_hash(build, Training),  # what makes the weights
        }
        torch.manual_seed(settings["seed"])
        self.model = build(self.settings).to(device)
        file = folder / "checkpoint.pt"
        self.training = Training(self.model, self.ids["train"], self.settings, file, every)

    def run(self) -> dict[str, Any]:
        """Train, then measure; give all that the recipe is to hold, but for the hash."""
        training = self.training
        if training.finished:
            print("The checkpoint is that of a finished training: it is only measured.")
        history = training.run(self.validate)
        half_precision(self.model)  # what is measured is what is kept
        return {
            "settings": self.settings,
            "parameters": sum(weights.numel() for weights in self.model.parameters()),
            "packages": package_versions(),
            "texts": {split: len(part) for split, part in self.texts.items()},
            "bytes": self.bytes,
            "tokens": {split: len(part) for split, part in self.ids.items()},
            "curve": history,
            "resumed": training.state["resumed"],
            "bits_per_byte": self.compare(),
            "samples": self.samples(),
            "merges": self.vocabulary.merges,
        }

    def validate(self, model: LanguageModel) -> dict[str, float]:
        """Give the loss of a token, in nats, and the bits a byte on the validation texts."""
        ids = self.ids["validation"]
        nats = language_nats(model, ids, self.settings["length"])
        bits = bits_per_byte(nats, self.bytes["validation"])
        return {"loss": nats / (len(ids) - 1), "bits_per_byte": bits}

    def compare(self) -> dict[str, float]:
        """Give the bits a byte of the validation texts: the model, n-gram models, a compressor."""
        ids, size = self.ids, self.bytes["validation"]
        found = {"model": self.validate(self.model)["bits_per_byte"]}
        counted = NGramModel(ids["train"], self.settings["orders"], len(self.vocabulary))
        for order in range(1, self.settings["orders"] + 1):
            found[f"{order}-gram"] = counted.bits_of(ids["validation"], order) / size
        train, validation = (join_texts(self.texts[split]) for split in ("train", "validation"))
        return found | {"lzma": compressed_bits(validation, train) / size}

    def samples(self) -> list[dict[str, str]]:
        """Write texts."""
        settings = self.settings
        device = next(self.model.parameters()).device
        begin = torch.full((settings["samples"], 1), END_OF_TEXT, device=device)
        drawn = write(self.model, begin, settings["new_tokens"], settings["temperature"],
                      top_p=settings["top_p"], end=END_OF_TEXT, seed=settings["seed"])  # fmt: skip
        rows = torch.stack(list(drawn), dim=1).tolist()
        return [{"text": self.vocabulary.decode(row).rstrip("\0")} for row in rows]


def build(settings: Mapping[str, Any]) -> LanguageModel:
    """Make the model, whose attention is ``utils.attention.MultiHeadAttention``."""
    return LanguageModel(**{size: settings[size] for size in SIZES}, dropout=settings["dropout"])


def half_precision(model: nn.Module) -> None:
    """Round the weights to float16, and keep them as they were kept before."""
    model.load_state_dict({name: weights.half() for name, weights in model.state_dict().items()})


def save(
    found: Mapping[str, Any],
    model: nn.Module,
    folder: Path,
    name: str = NAME,
    asked: str = "writer",
) -> list[Path]:
    """Write the weights as float16, and the recipe with their SHA-256; each file in one step.

    The two files have the ``name``; ``asked`` is what the command was asked for.
    """
    weights = {name: value.half().contiguous() for name, value in model.state_dict().items()}
    content = save_safetensors({name: value.cpu() for name, value in weights.items()})
    files = [folder / f"{name}.{kind}" for kind in ("safetensors", "json")]
    recipe = {
        "command": f"python -m benchmarks {asked}",
        "date": report.today(),
        "machine": report.machine(next(model.parameters()).device),
        "sha256": hashlib.sha256(content).hexdigest(),
        **found,
    }
    merges = json.dumps(recipe.pop("merges"))  # on one line
    text = json.dumps(recipe, indent=1, allow_nan=False, ensure_ascii=False)
    with replacing(files[0]) as half:
        half.write_bytes(content)
    return [files[0], report.write_text(files[1], f'{text[:-2]},\n "merges": {merges}\n}}\n')]


def sentences(found: Mapping[str, Any]) -> list[str]:
    """Say what was found, for the screen."""
    bits = ", ".join(f"{name} {value:.3f}" for name, value in found["bits_per_byte"].items())
    last = found["curve"][-1]
    return [
        f"{found['parameters']:,} parameters, {found['tokens']['train']:,} tokens an epoch, "
        f"{last['step']} steps in {last['seconds'] / 60:.0f} minutes, "
        f"perplexity {math.exp(last['loss']):.1f} a token.",
        f"Bits a byte: {bits}.",
    ]


def package_versions() -> dict[str, str]:
    """Give the version of each package whose texts are read."""
    names = TRAINED_ON + VALIDATED_ON
    return {name: version(DISTRIBUTIONS.get(name, name)) for name in names}
