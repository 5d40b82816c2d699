"""A trained model that is kept: its weights, and a recipe that says what they are.

Two files of ``notebooks/results/``: the weights, float16 in a safetensors file, which holds tensors
and nothing that could run; and the recipe, which has their SHA-256, the vocabulary, and how
training went.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, TypeVar

from safetensors.torch import load as load_safetensors
from torch import nn

from utils.byte_pairs import BytePairs

Model = TypeVar("Model", bound=nn.Module)


def load_kept(
    make: Callable[..., Model], sizes: Sequence[str], folder: Path | str, name: str, command: str
) -> tuple[Model, BytePairs, dict[str, Any]]:
    """Give a trained model, float32, in evaluation mode; its vocabulary; and its recipe.

    Parameters
    ----------
    make : class of the model, called with those settings of the recipe that ``sizes`` names
    name : str, of the two files, ``name``.json and ``name``.safetensors
    command : str, what makes them

    Raises
    ------
    RuntimeError
        if one of the two files is missing, or the weights are others than the recipe's; nothing of
        them is then used
    """
    recipe_file, weights_file = (Path(folder, f"{name}.{kind}") for kind in ("json", "safetensors"))
    for file in (recipe_file, weights_file):
        if not file.is_file():
            raise RuntimeError(f"there is no file {file}: `{command}` makes it.")
    recipe = json.loads(recipe_file.read_text(encoding="utf-8"))
    content = weights_file.read_bytes()  # once: what is summed is what is used
    found = hashlib.sha256(content).hexdigest()
    if found != recipe["sha256"]:
        raise RuntimeError(
            f"{weights_file.name} is not what {recipe_file.name} describes: its SHA-256 begins "
            f"with {found[:12]}, not {recipe['sha256'][:12]}. Take both from one place."
        )
    model = make(**{size: recipe["settings"][size] for size in sizes})
    model.load_state_dict({k: value.float() for k, value in load_safetensors(content).items()})
    return model.eval(), BytePairs(recipe["merges"]), recipe
