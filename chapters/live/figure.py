"""Figures that a reader can touch: what they share. Each has a module beside this one.

A live figure is a described figure with a script. Where the script runs, controls stand in the
picture's place; on paper, in an e-book and without JavaScript, there is the picture. Scripts and
style are written into the figure, so it works on the page, in Colab and in a file that was saved,
and asks for nothing over a network.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Sequence
from html import escape
from pathlib import Path
from typing import Any

from torch import Tensor

from utils.figures import DescribedFigure

STATIC = Path(__file__).parent
SHARED = ("attention.js", "live.js", "live.css")  # of every live figure, before its own
LONGEST = 12  # tokens, keys: more cannot be touched on a phone
MOST = 270_000  # letters of a model in the page


class LiveFigure(DescribedFigure):
    """A described figure that its script replaces where it can.

    Parameters
    ----------
    module : str, the ``__file__`` of the figure's module, whose name the function has that the
        page calls
    own : its files, beside the module, in their order
    given : what the function is called with
    still : the picture, with its caption and its text alternative
    """

    def __init__(
        self, module: str, own: Sequence[str], given: dict[str, Any], still: DescribedFigure
    ) -> None:
        self.__dict__ |= vars(still)
        here = Path(module)
        self.name, self.given = here.stem, given
        self.files = [*(STATIC / file for file in SHARED), *(here.parent / file for file in own)]

    def code(self, suffix: str) -> str:
        """Give what its files of a kind hold: ".js" or ".css"."""
        return "\n".join(f.read_text(encoding="utf-8") for f in self.files if f.suffix == suffix)

    def _repr_html_(self) -> str:
        """The described figure, with style, script and what the script is given."""
        script = f'(() => {{\n"use strict";\n{self.code(".js")}begin({self.name});\n}})();'
        given = escape(json.dumps(self.given, ensure_ascii=False))
        head = f'<figure class="course-figure live" data-live="{self.name}" data-given="{given}">'
        still = super()._repr_html_().removeprefix('<figure class="course-figure">')
        style = f"<style>{self.code('.css')}</style>"
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
