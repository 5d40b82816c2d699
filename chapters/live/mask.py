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
    blocked = (torch.arange(T) >= length).expand(T, T)  # (T, S)
    scores = x @ x.T * D**-0.5
    weights = scores.masked_fill(blocked, -torch.inf).softmax(dim=-1)  # (T, S)
    shown = {"without a mask": scores.softmax(dim=-1), "padding blocked": weights}
    figure, panels = plt.subplots(1, 2, figsize=(8.6, 3.9))
    for axes, (title, shares) in zip(panels, shown.items(), strict=True):
        heat_map(axes, shares, tokens, tokens)
        axes.set(title=title, xlabel="key", ylabel="query")
        axes.tick_params(axis="x", rotation=90)
    rows = zip(tokens, weights.tolist(), strict=True)
    told = "; ".join(f"{token}: {', '.join(f'{w:.2f}' for w in row)}" for token, row in rows)
    alt = f"""Who reads whom in a text of {length} of {T} tokens, without a mask and with padding
        blocked, when the rest takes over its weight. Then the weights are {told}."""
    given = {"tokens": list(tokens), "x": x.tolist(), "length": length}
    return LiveFigure(__file__, OWN, given, DescribedFigure(figure, alt, caption))
