"""Figures that a reader can touch: the layer itself, in the page. Each has a module ``live_…``.

A live figure is a described figure with a script. Where the script runs, controls stand in the
picture's place; on paper, in an e-book and without JavaScript, there is the picture. Scripts and
style lie in ``_static`` and are written into the figure, so it works on the page, in Colab and in
a file that was saved, and asks for nothing over a network.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Sequence
from html import escape
from pathlib import Path
from typing import Any

from matplotlib.figure import Figure
from torch import Tensor

from utils.figures.figure import DescribedFigure

STATIC = Path(__file__).parent / "_static"
LONGEST = 12  # tokens, keys: more cannot be touched on a phone
MOST = 270_000  # letters of a model in the page


class LiveFigure(DescribedFigure):
    """A described figure that its script replaces where it can.

    ``scripts`` and ``styles`` are files of ``_static``, in their order; the function that the page
    calls has the figure's name. ``given`` is what it is called with.
    """

    def __init__(
        self,
        name: str,
        scripts: Sequence[str],
        styles: Sequence[str],
        given: dict[str, Any],
        figure: Figure,
        alt: str,
        caption: str,
        narrow: Figure | None = None,
    ) -> None:
        super().__init__(figure, alt, caption, narrow)
        self.name, self.scripts, self.styles, self.given = name, scripts, styles, given

    def _repr_html_(self) -> str:
        """The described figure, with style, script and what the script is given."""
        parts = "\n".join(map(_static, self.scripts))
        script = f'(() => {{\n"use strict";\n{parts}begin({self.name});\n}})();'
        given = escape(json.dumps(self.given, ensure_ascii=False))
        head = f'<figure class="course-figure live" data-live="{self.name}" data-given="{given}">'
        still = super()._repr_html_().removeprefix('<figure class="course-figure">')
        style = "".join(f"<style>{_static(file)}</style>" for file in self.styles)
        return f"{head}{style}{still.removesuffix('</figure>')}<script>{script}</script></figure>"


def sizes(name: str, x: Tensor, most: int) -> tuple[int, int]:
    """Give the two sizes of a matrix, or refuse it by its name."""
    if x.dim() != 2 or not 1 <= len(x) <= most:
        raise ValueError(f"{name} has shape {tuple(x.shape)}; expected (1 to {most}, width).")
    return x.shape[0], x.shape[1]


def check_finite(*tensors: Tensor) -> None:
    """Refuse what a picture cannot show."""
    if not all(x.isfinite().all() for x in tensors):
        raise ValueError("a live figure needs finite numbers.")


def model_in_halves(model: Any) -> dict[str, str]:
    """Give all weights of a model under their names, for a figure that holds them.

    Raises
    ------
    ValueError
        if a page has no room for them
    """
    state = {name: in_halves(weight) for name, weight in model.state_dict().items()}
    if (size := sum(map(len, state.values()))) > MOST:
        raise ValueError(f"the weights make {size:,} letters; a page has room for {MOST:,}.")
    return state


def in_halves(weight: Tensor) -> str:
    """Give the numbers of a tensor as base64 of float16, two bytes for each."""
    numbers = weight.detach().cpu().half().numpy().astype("<f2")
    return base64.b64encode(numbers.tobytes()).decode()


def _static(file: str) -> str:
    return (STATIC / file).read_text(encoding="utf-8")
