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

from torch import nn

from utils.figures import DescribedFigure

STATIC = Path(__file__).parent
SHARED = ("attention.js", "live.js", "live.css")  # of every live figure, before its own


class LiveFigure(DescribedFigure):
    """A picture with caption and text alternative, ``still``, that a script replaces where it can.

    The script is in ``own``, files beside the figure's ``module``. The page calls the function that
    is named as the module, with what is ``given``.
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


def in_halves(model: nn.Module) -> dict[str, str]:
    """Give the weights of a model under their names, as base64 of float16, two bytes a number."""
    state = model.state_dict()
    halves = {name: weight.cpu().half().numpy().astype("<f2") for name, weight in state.items()}
    return {name: base64.b64encode(half.tobytes()).decode() for name, half in halves.items()}
