"""A live figure: a whole layer of attention, every number in its place, and what breaks it."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import matplotlib.pyplot as plt
import torch
from torch import Tensor

from chapters.live.figure import LiveFigure
from utils.attention import MultiHeadAttention
from utils.figures import DescribedFigure, heat_map
from utils.palette import HEAD_COLOURS, tint

OWN = ("layer.js", "layer.css")
WEIGHTS = "layer.json"  # ``python -m benchmarks.whole_layer`` makes it
PADDING = "[PAD]"
HEADS = ["the word before", "its noun"]  # what the two heads were trained to look at
SENTENCES = (
    "the hungry cat chased a mouse",
    "my friend saw a blue bird",
    "the cat sat on the mat",
    "she is tired",
    "a young girl ate bread today",
)


def kept() -> dict[str, Any]:
    """Give the words of the layer under their kinds, and all its weights in hundredths."""
    return json.loads((Path(__file__).parent / WEIGHTS).read_text("utf-8"))


def rows_of(layer: dict[str, Any], words: Sequence[str]) -> Tensor:
    """Give the input for words, the vectors of words and places added: (T, D)."""
    known = " ".join(layer["words"].values()).split()
    weights = layer["hundredths"]
    vectors = [weights["vectors"][known.index(word) if word != PADDING else -1] for word in words]
    return (torch.tensor(vectors) + torch.tensor(weights["places"][: len(words)])) / 100


def module_of(layer: dict[str, Any], num_heads: int = len(HEADS)) -> MultiHeadAttention:
    """Give the layer itself, with these weights, cut into this many heads."""
    D = len(layer["hundredths"]["places"][0])
    module = MultiHeadAttention(D, num_heads, bias=False).eval()
    state = layer["hundredths"]["state"].items()
    module.load_state_dict({name: torch.tensor(w).view(D, D) / 100 for name, w in state})
    return module


def live_layer(caption: str) -> LiveFigure:
    """Make it; put it at the end of a cell."""
    layer, words = kept(), SENTENCES[0].split()
    x = rows_of(layer, words)  # (T, D)
    with torch.no_grad():
        _, weights = module_of(layer)(x, x, x, average_attn_weights=False)  # (H, T, T)
    assert weights is not None
    figure, panels = plt.subplots(1, len(HEADS), figsize=(8.6, 4.0))
    told = []
    for axes, own, name, colour in zip(panels, weights, HEADS, HEAD_COLOURS, strict=False):
        heat_map(axes, own, words, words, cmap=tint(colour), fmt=None)
        axes.set(title=f"looks for {name}", xlabel="key", ylabel="query")
        axes.tick_params(axis="x", rotation=90)
        most = ", ".join(f"{words[t]} → {words[s]}" for t, s in enumerate(own.argmax(dim=-1)))
        told.append(f"The head that looks for {name}, most weight: {most}.")
    alt = f"The weights of two heads for “{SENTENCES[0]}”. {' '.join(told)}"
    given = layer | {"sentences": SENTENCES, "heads": HEADS}
    return LiveFigure(__file__, OWN, given, DescribedFigure(figure, alt, caption))
