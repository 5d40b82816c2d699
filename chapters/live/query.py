"""A live figure: a query among keys: drag it; see scores, weights and the price they make."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import matplotlib.pyplot as plt
import torch
from torch import Tensor

from chapters.live.figure import LiveFigure
from utils.figures import DescribedFigure
from utils.palette import NEUTRAL, PALETTE

OWN = ("query.js", "query.css")


def live_query(
    caption: str,
    keys: Tensor,
    names: Sequence[str],
    dims: Sequence[str],
    start: Tensor,
    values: Tensor,
    unit: str = "",
) -> LiveFigure:
    """Make it of keys (S, 2) with their names, and of the query (2,) that it opens with.

    ``dims`` names the two numbers of a query and of a key, none below 0; the values, (S, 1), have a
    ``unit``.
    """
    scores = keys @ start  # (S,)
    weights = scores.softmax(dim=-1)
    output = (weights @ values).item()
    prices = values.flatten().tolist()
    high = (torch.cat([keys, start[None]]).max(0).values + torch.tensor([0.5, 0.75])).tolist()
    figure, (plane, bars) = plt.subplots(1, 2, figsize=(8.6, 3.6))
    x, y = (torch.linspace(0, end, 50) for end in high)
    lines = plane.contour(x, y, start[0] * x + start[1] * y[:, None], range(1, 9))
    lines.set(color=NEUTRAL, linestyle="--", linewidth=1)
    foot, across = start / (start @ start), start.flip(0) / start.norm() * torch.tensor([-1, 1])
    at = [(foot * score + 0.35 * across).tolist() for score in (1, 2)]
    plane.clabel(lines, fmt="score %.0f", colors=NEUTRAL, fontsize=11, manual=at)
    arrow = {"arrowstyle": "-|>", "lw": 2.5, "shrinkA": 0, "shrinkB": 0}
    for name, at in zip([*names, "query"], [*keys.tolist(), start.tolist()], strict=True):
        colour = PALETTE[0] if name == "query" else PALETTE[1]
        plane.annotate("", at, (0, 0), arrowprops=arrow | {"color": colour})
        plane.annotate(name, at, xytext=(4, 6), textcoords="offset points")
    plane.set(xlim=(0, high[0]), ylim=(0, high[1]), aspect="equal", xlabel=dims[0], ylabel=dims[1])
    bars.bar(prices, weights.tolist(), color=PALETTE[1], width=0.6)
    for name, price, weight in zip(names, prices, weights.tolist(), strict=True):
        bars.text(price, weight + 0.02, f"{name}\n{weight:.2f}", ha="center")
    bars.plot(output, -0.05, "^", color=PALETTE[2], ms=11, clip_on=False)
    bars.text(output + 0.2, -0.08, f"{output:.2f}{unit}", va="center")
    bars.set(xlim=(0, max(prices) + 1), ylim=(-0.12, 1), xlabel=f"price{unit}", ylabel="weight")
    told = ", ".join(f"{n} {w:.2f}" for n, w in zip(names, weights.tolist(), strict=True))
    asked = ", ".join(f"{d} {n:.2f}" for d, n in zip(dims, start.tolist(), strict=True))
    alt = f"A query among {len(keys)} keys: {asked}. Its weights: {told}. "
    alt += f"The output: {output:.2f}{unit}."
    given: dict[str, Any] = {"names": list(names), "dims": list(dims), "unit": unit, "high": high}
    given |= {"keys": keys.tolist(), "values": values.tolist(), "start": start.tolist()}
    return LiveFigure(__file__, OWN, given, DescribedFigure(figure, alt, caption))
