"""A live figure: products of a query and a key that move through a text, rotary and sinusoidal."""

from __future__ import annotations

from typing import Any

import matplotlib.pyplot as plt
import torch
from torch import Tensor

from chapters.live.figure import LiveFigure
from utils.figures import DescribedFigure
from utils.palette import INK, NEUTRAL, PALETTE

OWN = ("turn.js", "turn.css")
PLACES, FURTHEST = 32, 8  # how far both can move, and how far the key can be from the query


def live_turn(caption: str, query: Tensor, key: Tensor) -> LiveFigure:
    """Make it of a query and a key, (D_head,) each, D_head even."""
    D = query.numel()
    frequencies = 10_000 ** (-torch.arange(0, D, 2) / D)  # (D / 2,)
    t = torch.arange(FURTHEST, FURTHEST + PLACES + 1).unsqueeze(-1)  # (T, 1)

    def turned(x: Tensor, angles: Tensor) -> Tensor:
        (first, second), cos, sin = x.chunk(2), angles.cos(), angles.sin()
        return torch.cat([first * cos - second * sin, second * cos + first * sin], dim=-1)

    def clock(angles: Tensor) -> Tensor:
        return torch.stack([angles.sin(), angles.cos()], dim=-1).flatten(1)

    here, there = t * frequencies, (t + 2) * frequencies  # (T, D / 2)
    products = {
        "rotary": turned(query, here) * turned(key, there),
        "sinusoidal, places alone": clock(here) * clock(there),
        "sinusoidal, added to tokens": (query + clock(here)) * (key + clock(there)),
    }
    figure, axes = plt.subplots(figsize=(7.4, 3.4))
    axes.axhline(0, color=NEUTRAL, linewidth=1)
    told = []
    for (name, terms), n, style in zip(products.items(), (0, 2, 1), ("-", "--", ":"), strict=True):
        along = terms.sum(dim=-1)  # (T,)
        axes.plot(t[:, 0], along, style, color=PALETTE[n], linewidth=2.5, label=name)
        told.append(f"{name} {along.min():.2f} to {along.max():.2f}")
    axes.set(xlabel="place of the query, the key stands two after it", ylabel="product")
    figure.legend(loc="outside upper left", ncols=1, labelcolor=INK)
    alt = f"Products of a query and a key two places after it, at all places: {'; '.join(told)}."
    given: dict[str, Any] = {"query": query.tolist(), "key": key.tolist()}
    given |= {"places": PLACES, "furthest": FURTHEST}
    return LiveFigure(__file__, OWN, given, DescribedFigure(figure, alt, caption))
