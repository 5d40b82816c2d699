"""A live figure: a query and a key, their places added as sinusoids or turned in as in RoPE."""

from __future__ import annotations

from typing import Any

import matplotlib.pyplot as plt
import torch
from matplotlib.figure import Figure
from matplotlib.patches import Circle
from torch import Tensor

from chapters.live.figure import LiveFigure
from utils.figures import NARROW, WIDE, DescribedFigure
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

    def draw(figure: Figure, grid: Any) -> Figure:
        for panels, (name, both), n in zip(grid, placed.items(), (3, 2), strict=True):
            for axes, t in zip(panels, SHOWN, strict=False):
                ends = both[0, t], both[1, t + APART]
                for word, end, colour in zip(words, ends, PALETTE, strict=False):
                    look: dict[str, Any] = {"angles": "xy", "scale_units": "xy", "scale": 1}
                    axes.quiver(0, 0, *word, color=NEUTRAL, width=0.012, **look)
                    axes.quiver(0, 0, *end, color=colour, width=0.022, **look)
                    centre, r = (word, 1.0) if name == "added" else ((0, 0), word.norm())
                    axes.add_patch(Circle(centre, r, fill=False, color=NEUTRAL, alpha=0.4))
                    if name == "added":
                        axes.plot(*zip(word, end, strict=True), color=colour, linewidth=1.5)
                left, low = (-0.5, -0.2) if name == "added" else (-1.3, -1.3)
                axes.set(aspect="equal", xlim=(left, left + 2.6), ylim=(low, low + 2.6))
                score = f"score {scores[name][t - FIRST]:.2f}".replace("-", "−")
                axes.set(title=f"{name}: query {t}, key {t + APART}")
                axes.text(0.5, -0.14, score, ha="center", transform=axes.transAxes)
                axes.set_axis_off()
            panels[-1].plot(at, scores[name], "-" * (n - 1), color=PALETTE[n], linewidth=2.5)
            panels[-1].set(xlabel="place of the query", title=f"score, {name}", ylim=(-1, 6))
        names = "query", "key", "without place", "thin: clock’s hand"
        for name, colour in zip(names, (*PALETTE[:2], NEUTRAL, "none"), strict=True):
            figure.axes[-1].plot([], [], color=colour, label=name)
        figure.legend(loc="outside upper center", ncols=2 if figure is narrow else 4)
        return figure

    figure, grid = plt.subplots(2, 3, figsize=(WIDE, 5.2))
    narrow, other = plt.subplots(3, 2, figsize=(NARROW, 7.2))
    of = "; ".join(f"{name} {s.min():.2f} to {s.max():.2f}" for name, s in scores.items())
    alt = f"""Scores of a query and a key {-APART} places before it, as both move on: {of}. With
        RoPE both arrows turn alike; where a clock's hand is added, lengths and angle change."""
    given: dict[str, Any] = {"query": query.tolist(), "key": key.tolist()}
    given |= {"first": FIRST, "last": LAST, "begins": APART}
    still = DescribedFigure(draw(figure, grid), alt, caption, draw(narrow, other.T))
    return LiveFigure(__file__, OWN, given, still)
