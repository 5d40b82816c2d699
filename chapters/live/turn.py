"""A live figure: a query and a key, their places added as sinusoids or turned in as in RoPE."""

from __future__ import annotations

from typing import Any

import matplotlib.pyplot as plt
import torch
from torch import Tensor

from chapters.live.figure import LiveFigure
from utils.figures import WIDE, DescribedFigure
from utils.palette import NEUTRAL, PALETTE
from utils.positions import RotaryPositionalEncoding, SinusoidalPositionalEncoding

OWN = ("turn.js", "turn.css")
FIRST, LAST = 20, 80  # places of the query; the key is at most 20 away, so never below 0
APART, SHOWN = -10, (20, 60)  # at first: where the key is from the query, and places of the query


def live_turn(caption: str, query: Tensor, key: Tensor) -> LiveFigure:
    """Make it of the arrows of a query and a key, (2,) each: how far to the right, how far up."""
    words = torch.stack([query, key])
    x = words.unsqueeze(1).expand(2, LAST + 1, 2)  # (2, T, 2)
    turned = RotaryPositionalEncoding(8).rotate(x.repeat_interleave(4, dim=-1))  # all pairs alike
    placed = {  # of each, the second pair of eight numbers, which turns by 0.1 radians a place
        "added": x + SinusoidalPositionalEncoding(8).table(x.shape[1])[:, 2:4],
        "RoPE": turned[..., [1, 5]],
    }
    at = torch.arange(FIRST, LAST + 1)
    scores = {n: (q[at] * k[at + APART]).sum(dim=-1) for n, (q, k) in placed.items()}
    look: dict[str, Any] = {"angles": "xy", "scale_units": "xy", "scale": 1}
    figure, grid = plt.subplots(2, 3, figsize=(WIDE, 5.2))
    for panels, (name, both), n in zip(grid, placed.items(), (3, 2), strict=True):
        for axes, t in zip(panels, SHOWN, strict=False):
            ends = both[0, t], both[1, t + APART]
            for word, end, colour in zip(words, ends, PALETTE, strict=False):
                place = (end - word) * (name == "added")
                axes.quiver(0, 0, *word, color=NEUTRAL, width=0.012, **look)
                axes.quiver(*word, *place, color=colour, width=0.012, **look)
                axes.quiver(0, 0, *end, color=colour, width=0.022, **look)
            score = f"{scores[name][t - FIRST]:.2f}".replace("-", "−")
            axes.set(title=f"{name}: query {t}, key {t + APART},\nscore {score}")
            axes.set(aspect="equal", xlim=(-2.1, 2.7), ylim=(-2.1, 2.5))
            axes.set_axis_off()
        panels[2].plot(at, scores[name], "-" * (n - 1), color=PALETTE[n], linewidth=2.5)
        panels[2].set(xlabel="place of the query", title=f"score, {name}", ylim=(-1, 4))
    figure.suptitle("blue: query, orange: key, grey: word, thin: position", fontsize="medium")
    of = "; ".join(f"{name} {s.min():.2f} to {s.max():.2f}" for name, s in scores.items())
    alt = f"""Scores of a query and a key {-APART} places before it, as both move on: {of}. With
        RoPE both arrows turn alike; where positions are added, lengths and angle change."""
    given: dict[str, Any] = {"query": query.tolist(), "key": key.tolist()}
    given |= {"first": FIRST, "last": LAST, "begins": APART}
    return LiveFigure(__file__, OWN, given, DescribedFigure(figure, alt, caption))
