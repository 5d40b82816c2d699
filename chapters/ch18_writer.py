"""The trained model that writes: its weights, and a recipe that says what they are.

``make train-writer`` makes the two files. The weights are float16 in a safetensors file, which
holds tensors and nothing that could run; the recipe has their SHA-256, the vocabulary, and how
training went.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from chapters.ch18_model import LanguageModel
from utils.byte_pairs import BytePairs
from utils.kept import load_kept

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
        see ``load_kept``
    """
    return Writer(*load_kept(LanguageModel, SIZES, folder, name, "make train-writer"))
