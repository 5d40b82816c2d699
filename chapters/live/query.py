"""A live figure: a query among keys: drag it, or move its sliders; see scores, weights, output."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import matplotlib.pyplot as plt
from torch import Tensor

from chapters.live.figure import LiveFigure
from utils.figures import DescribedFigure
from utils.palette import PALETTE

OWN = ("query.js",)


def live_query(
    caption: str,
    keys: Tensor,
    names: Sequence[str],
    dims: Sequence[str],
    start: Tensor,
    values: Tensor | None = None,
    unit: str = "",
) -> LiveFigure:
    """Make it of keys (S, D) with their names, and of the query (D,) that it opens with.

    ``dims`` names the numbers of a query; the last two span the plane. Without values, (S, D_value)
    in a ``unit``, the keys are mixed.
    """
    values, S = keys if values is None else values, len(keys)
    weights = (keys @ start).softmax(dim=-1)  # (S,)
    output = (weights @ values).tolist()
    reach = round(1.25 * max(keys.abs().max().item(), start.abs().max().item(), 0.4) + 0.5)
    low = -float(reach) if min(keys.min(), start.min()) < 0 else 0.0
    figure, (plane, bars) = plt.subplots(1, 2, figsize=(8.6, 3.4))
    x, y = keys[:, -2].tolist(), keys[:, -1].tolist()
    areas = (30 + 500 * weights).tolist()
    plane.scatter(x, y, s=areas, color=PALETTE[1], alpha=0.75, clip_on=False)
    for at_x, at_y, name in zip(x, y, names, strict=True):
        plane.annotate(name, (at_x, at_y), xytext=(0, 8), textcoords="offset points", ha="center")
    arrow = {"arrowstyle": "-|>", "color": PALETTE[0], "lw": 2.5, "shrinkA": 0, "shrinkB": 0}
    plane.annotate("", start[-2:].tolist(), (0, 0), arrowprops=arrow)
    plane.set(xlim=(low, reach), ylim=(low, reach), aspect="equal")
    plane.set(xlabel=dims[-2], ylabel=dims[-1])
    bars.barh(range(S), weights.tolist(), color=PALETTE[0])
    for s, weight in enumerate(weights.tolist()):
        bars.text(weight + 0.02, s, f"{weight:.2f}", va="center")
    bars.set_yticks(range(S), names)
    bars.set(xlim=(0, 1.15), xlabel="weight")
    bars.invert_yaxis()
    told = ", ".join(f"{n} {w:.2f}" for n, w in zip(names, weights.tolist(), strict=True))
    answer = ", ".join(f"{number:.2f}" for number in output)
    asked = ", ".join(f"{d} {n:.2f}" for d, n in zip(dims, start.tolist(), strict=True))
    alt = f"A query among {S} keys: {asked}. Its weights: {told}. The output: {answer}{unit}."
    given: dict[str, Any] = {"names": list(names), "dims": list(dims), "scale": 1.0, "unit": unit}
    given |= {"keys": keys.tolist(), "values": values.tolist(), "start": start.tolist()}
    given |= {"low": low, "high": reach}
    return LiveFigure(__file__, OWN, given, DescribedFigure(figure, alt, caption))
