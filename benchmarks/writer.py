"""The model that writes, trained and kept: its weights, and the recipe that says what they are."""

from __future__ import annotations

import hashlib
import json
import time
from collections.abc import Iterator, Mapping, Sequence
from importlib.metadata import version
from pathlib import Path
from typing import Any

import torch
from safetensors.torch import save as save_safetensors
from torch import Tensor
from torch.nn.utils import clip_grad_norm_
from tqdm import tqdm

from benchmarks import report
from chapters.ch18_model import LanguageModel
from chapters.ch18_sampling import write
from chapters.ch18_training import (
    bits_per_byte,
    cut_pieces,
    language_loss,
    language_nats,
    piece_starts,
)
from chapters.ch18_writer import SIZES
from utils.byte_pairs import END_OF_TEXT, BytePairs
from utils.docstrings import DISTRIBUTIONS, TRAINED_ON, VALIDATED_ON, writer_texts
from utils.experiments import linear_rate, replacing

ROOT = Path(__file__).resolve().parents[1]
RESULTS = ROOT / "notebooks" / "results"
NAME = "18-writer"
SETTINGS: dict[str, Any] = {
    "vocab_size": 2048,
    "embed_dim": 128,
    "num_heads": 4,
    "num_kv_heads": 2,
    "hidden_dim": 384,
    "num_layers": 6,
    "length": 256,  # of the pieces that it reads
    "batch_size": 16,
    "epochs": 3,
    "rate": 3e-3,  # the highest
    "seed": 0,
    "samples": 16,  # texts that are written
    "new_tokens": 256,
    "temperature": 0.8,
    "top_p": 0.95,
}
QUICK = SETTINGS | {  # to see that it runs
    "vocab_size": 300, "embed_dim": 16, "num_heads": 2, "num_kv_heads": 1, "hidden_dim": 32,
    "num_layers": 2, "length": 32, "batch_size": 8, "epochs": 2, "samples": 2, "new_tokens": 8,
}  # fmt: skip
Texts = Mapping[str, Sequence[str]]


def make(device: torch.device, quick: bool) -> None:
    """Train the model that writes, and keep it with the kept results; a quick one in _build."""
    settings, folder, texts = SETTINGS, RESULTS, writer_texts()
    if quick:
        settings, folder = QUICK, ROOT / "_build" / "benchmarks"
        texts = {split: [text[:1000] for text in part[:24]] for split, part in texts.items()}
    model, recipe = train(texts, settings, device)
    print("Written:", *save(model, recipe, folder))


def train(
    texts: Texts, settings: Mapping[str, Any], device: torch.device
) -> tuple[LanguageModel, dict[str, Any]]:
    """Learn a vocabulary, train a model, and measure it after each epoch.

    Its weights are float16 in the end, so that what is measured is what is kept.

    Parameters
    ----------
    texts : the splits ``train`` and ``validation``
    settings : see ``SETTINGS``

    Returns
    -------
    model : LanguageModel, in evaluation mode
    recipe : dict, all that is to be kept of it

    Raises
    ------
    RuntimeError
        if the loss is no longer finite
    """
    vocabulary = BytePairs.learn(texts["train"], settings["vocab_size"])
    ids = {split: vocabulary.encode_all(part) for split, part in texts.items()}
    # A byte ends each text, as a token does for the model.
    sizes = {split: sum(len(t.encode()) + 1 for t in part) for split, part in texts.items()}
    torch.manual_seed(settings["seed"])
    model = build({**settings, "vocab_size": len(vocabulary)}).to(device)
    curve: list[dict[str, float]] = []
    start = time.perf_counter()
    for row in _epochs(model, ids["train"], settings):
        if row["epoch"] == settings["epochs"]:
            model.load_state_dict({k: w.half() for k, w in model.state_dict().items()})
        nats = language_nats(model, ids["validation"], settings["length"])
        row["bits_per_byte"] = bits_per_byte(nats, sizes["validation"])
        curve.append(row | {"seconds": time.perf_counter() - start})
        print(", ".join(f"{name} {value:.4g}" for name, value in curve[-1].items()))
    begin = torch.full((settings["samples"], 1), END_OF_TEXT, device=device)
    drawn = write(model.eval(), begin, settings["new_tokens"], settings["temperature"],
                  top_p=settings["top_p"], end=END_OF_TEXT, seed=settings["seed"])  # fmt: skip
    rows = torch.stack(list(drawn), dim=1).tolist()
    return model, {
        "settings": {**settings, "vocab_size": len(vocabulary)},
        "parameters": sum(weights.numel() for weights in model.parameters()),
        "packages": package_versions(),
        "texts": {split: len(part) for split, part in texts.items()},
        "bytes": sizes,
        "tokens": {split: len(part) for split, part in ids.items()},
        "curve": curve,
        "samples": [{"text": vocabulary.decode(row).rstrip("\0")} for row in rows],
        "merges": vocabulary.merges,
    }


def build(settings: Mapping[str, Any]) -> LanguageModel:
    """Make the model, whose attention is ``utils.attention.MultiHeadAttention``."""
    return LanguageModel(**{size: settings[size] for size in SIZES})


def _epochs(
    model: LanguageModel, ids: Tensor, settings: Mapping[str, Any]
) -> Iterator[dict[str, float]]:
    """Train for an epoch at a time, and give the steps so far and the mean loss of its pieces."""
    length, epochs = settings["length"], settings["epochs"]
    optimizer = torch.optim.Adam(model.parameters(), 1.0, (0.9, 0.98), 1e-9, fused=True)
    device, step = next(model.parameters()).device, 0
    for epoch in range(1, epochs + 1):
        places = piece_starts(len(ids), length, settings["seed"] * 1_000_003 + epoch)
        batches, total = places.split(settings["batch_size"]), 0.0
        model.train()
        for starts in tqdm(batches, desc=f"epoch {epoch}", ncols=78):
            step += 1
            rate = linear_rate(step, epochs * len(batches), settings["rate"])
            optimizer.param_groups[0]["lr"] = rate
            read, following = cut_pieces(ids, starts, length)
            loss = language_loss(model, read.to(device), following.to(device))
            optimizer.zero_grad()
            loss.backward()
            clip_grad_norm_(model.parameters(), 1.0, error_if_nonfinite=True)
            optimizer.step()
            total += loss.item() * len(starts)
        yield {"epoch": epoch, "step": step, "train_loss": total / len(places)}


def save(model: LanguageModel, recipe: Mapping[str, Any], folder: Path) -> list[Path]:
    """Write the weights as float16, and the recipe with their SHA-256; each file in one step."""
    weights = {name: value.half().contiguous() for name, value in model.state_dict().items()}
    content = save_safetensors({name: value.cpu() for name, value in weights.items()})
    files = [folder / f"{NAME}.{kind}" for kind in ("safetensors", "json")]
    said = {
        "command": "python -m benchmarks writer",
        "date": report.today(),
        "machine": report.machine(next(model.parameters()).device),
        "sha256": hashlib.sha256(content).hexdigest(),
        **recipe,
    }
    merges = json.dumps(said.pop("merges"))  # on one line
    text = json.dumps(said, indent=1, allow_nan=False, ensure_ascii=False)
    with replacing(files[0]) as half:
        half.write_bytes(content)
    return [files[0], report.write_text(files[1], f'{text[:-2]},\n "merges": {merges}\n}}\n')]


def package_versions() -> dict[str, str]:
    """Give the version of each package whose texts are read."""
    names = TRAINED_ON + VALIDATED_ON
    return {name: version(DISTRIBUTIONS.get(name, name)) for name in names}
