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

    ``dims`` names the two numbers of a query and of a key (of a key none is below 0); the values,
    (S, 1), have a ``unit``.
    """
    scores = keys @ start  # (S,)
    weights = scores.softmax(dim=-1)
    output = (weights @ values).item()
    prices = values.flatten().tolist()
    ends = torch.cat([keys, start[None]]).double().max(0).values + torch.tensor([0.5, 0.7])  # (2,)
    low, high = ((share * ends).round(decimals=1).tolist() for share in (-0.6, 1))
    sides = list(zip(low, high, strict=True))
    figure, (plane, bars) = plt.subplots(1, 2, figsize=(8.6, 3.6))
    x, y = (torch.linspace(*side, 50) for side in sides)
    lines = plane.contour(x, y, start[0] * x + start[1] * y[:, None], range(-8, 9))
    lines.set(color=NEUTRAL, linestyle="--", linewidth=1)
    plane.clabel(lines, fmt="%.0f", colors=NEUTRAL, fontsize=11)
    arrow = {"arrowstyle": "-|>", "lw": 2.5, "shrinkA": 0, "shrinkB": 0}
    for name, at in zip([*names, "query"], [*keys.tolist(), start.tolist()], strict=True):
        colour = PALETTE[0] if name == "query" else PALETTE[1]
        plane.annotate("", at, (0, 0), arrowprops=arrow | {"color": colour})
        plane.annotate(name, at, xytext=(4, 6), textcoords="offset points")
    plane.set(xlim=sides[0], ylim=sides[1], aspect="equal", xlabel=dims[0], ylabel=dims[1])
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
    given: dict[str, Any] = {"names": list(names), "dims": list(dims), "unit": unit}
    given |= {"keys": keys.tolist(), "values": values.tolist(), "start": start.tolist()}
    given |= {"low": low, "high": high}
    return LiveFigure(__file__, OWN, given, DescribedFigure(figure, alt, caption))
