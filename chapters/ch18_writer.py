"""The trained model that writes: its weights, and a recipe that says what they are.

``make train-writer`` makes the two files. The weights are float16 in a safetensors file, which
holds tensors and nothing that could run; the recipe has their SHA-256, the vocabulary, and how
training went.
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from safetensors.torch import load as load_safetensors

from chapters.ch18_model import LanguageModel
from utils.byte_pairs import BytePairs

SIZES = ("vocab_size", "embed_dim", "num_heads", "num_kv_heads", "hidden_dim", "num_layers")


@dataclass(frozen=True)
class Writer:
    """A language model in evaluation mode, its vocabulary, and its recipe as it was kept."""

    model: LanguageModel
    vocabulary: BytePairs
    recipe: dict[str, Any]


def load_writer(folder: Path | str, name: str = "18-writer") -> Writer:
    """Load the weights of ``name``.safetensors, once their sum is that in ``name``.json.

    Raises
    ------
    RuntimeError
        if one of the two files is missing, or the weights are others than the recipe's; nothing of
        them is then used
    """
    recipe_file, weights_file = (Path(folder, f"{name}.{kind}") for kind in ("json", "safetensors"))
    for file in (recipe_file, weights_file):
        if not file.is_file():
            raise RuntimeError(f"there is no file {file}: `make train-writer` makes it.")
    recipe = json.loads(recipe_file.read_text(encoding="utf-8"))
    content = weights_file.read_bytes()  # once: what is summed is what is used
    found = hashlib.sha256(content).hexdigest()
    if found != recipe["sha256"]:
        raise RuntimeError(
            f"{weights_file.name} is not what {recipe_file.name} describes: its SHA-256 begins "
            f"with {found[:12]}, not {recipe['sha256'][:12]}. Take both from one place."
        )
    model = LanguageModel(**{size: recipe["settings"][size] for size in SIZES})
    model.load_state_dict({k: value.float() for k, value in load_safetensors(content).items()})
    return Writer(model.eval(), BytePairs(recipe["merges"]), recipe)
