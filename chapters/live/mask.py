"""A live figure: a mask to tap, its reader, who may take True for the opposite, and the weights."""

from __future__ import annotations

from collections.abc import Sequence

import matplotlib.pyplot as plt
import torch
from torch import Tensor

from chapters.live.figure import LiveFigure
from utils.figures import DescribedFigure, heat_map

OWN = ("mask.js", "mask.css")


def live_mask(caption: str, tokens: Sequence[str], x: Tensor, length: int) -> LiveFigure:
    """Make it of T tokens and x (T, D), all of q, k and v; padding begins at ``length``."""
    T, D = x.shape
    places = torch.arange(T)
    allowed = (places < length).expand(T, T)  # (T, S)
    scores = (x @ x.T * D**-0.5).masked_fill(~allowed, -torch.inf)
    weights = scores.softmax(dim=-1).nan_to_num()  # (T, S)
    figure, panels = plt.subplots(1, 2, figsize=(8.6, 3.9))
    heat_map(panels[0], 0.4 * allowed.double(), tokens, tokens, texts=allowed.numpy().astype(str))
    heat_map(panels[1], weights, tokens, tokens)
    for axes, title in zip(panels, ("the mask, True = may attend", "its weights"), strict=True):
        axes.set(title=title, xlabel="key", ylabel="query")
        axes.tick_params(axis="x", rotation=90)
    rows = zip(tokens, weights.tolist(), strict=True)
    told = "; ".join(f"{token}: {', '.join(f'{w:.2f}' for w in row)}" for token, row in rows)
    alt = f"A padding mask for a text of {length} of {T} tokens, and its weights. {told}."
    given = {"tokens": list(tokens), "x": x.tolist(), "length": length}
    return LiveFigure(__file__, OWN, given, DescribedFigure(figure, alt, caption))
