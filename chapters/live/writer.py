"""The model that writes, for a page: its weights as a script, and what is drawn in its place."""

from __future__ import annotations

import json
import math
import re
import textwrap
from typing import Any

import matplotlib.pyplot as plt
import torch

from chapters.live.figure import LiveFigure, in_halves
from utils.figures import DescribedFigure
from utils.palette import PALETTE

OWN = ("byte_pairs.js", "writer.js", "writer.css")
LINES, LETTERS = 14, 44  # of the text in the picture
BEST = 8  # tokens that have a bar


def weights_script(writer: Any) -> str:
    """Give the script that hands the weights, in half precision, and the vocabulary to a page.

    ``tools.page`` writes it beside the book's styles; a page asks for it once its reader starts
    the figure. It needs no server: a page may have a script from a plain folder.
    """
    given = {
        "numHeads": writer.recipe["settings"]["num_heads"],
        "length": writer.recipe["settings"]["length"],
        "merges": writer.vocabulary.merges,
        "state": in_halves(writer.model),
    }
    return f"globalThis.courseWriter = {json.dumps(given, separators=(',', ':'))};\n"


def live_writer(caption: str, writer: Any, text: str, written: str) -> LiveFigure:
    """Make it of a ``Writer``, a prompt, and how the model went on with that, for the picture."""
    ids = [0, *writer.vocabulary.encode(text + written)]  # behind the end of another text
    with torch.no_grad():
        chances = writer.model(torch.tensor([ids]))[0, -1].softmax(dim=-1)  # (V,)
    best = chances.topk(min(BEST, len(chances)))
    names = [writer.vocabulary.name(token) for token in best.indices.tolist()]
    shares = best.values.tolist()
    parts = (textwrap.wrap(line, LETTERS) or [""] for line in (text + written).splitlines())
    lines = [line for part in parts for line in part]
    lines = lines if len(lines) <= LINES else [*lines[: LINES - 1], "…"]
    shown = re.sub("(?m)^ +", lambda blank: "\N{NO-BREAK SPACE}" * len(blank[0]), "\n".join(lines))
    figure, (page, bars) = plt.subplots(1, 2, figsize=(8.6, 3.6), width_ratios=(3, 2))
    page.set_axis_off()
    page.set_title(f"what it wrote after “{text}”" if text else "what it wrote", loc="left")
    page.text(0, 1, shown, va="top", transform=page.transAxes, linespacing=1.3)
    bars.barh(range(len(best.values)), shares, color=PALETTE[0])
    for n, share in enumerate(shares):
        bars.text(share + 0.02, n, f"{share:.2f}", va="center")
    bars.set_yticks(range(len(names)), names)
    bars.set(xlim=(0, 1.2), xticks=(0, 0.5, 1), xlabel="probability of the next token")
    bars.set_title(f"next, after “{writer.vocabulary.name(ids[-1])}”", loc="left")
    bars.invert_yaxis()
    told = ", ".join(f"{name} {share:.2f}" for name, share in zip(names, shares, strict=True))
    alt = f"The model went on with “{text}”: “{text}{written}” The next token after it: {told}."
    numbers = sum(weight.numel() for weight in writer.model.state_dict().values())
    size = math.ceil(numbers * 8 / 3 / 1e5) / 10  # two bytes each are 8 / 3 letters of base64
    given = {"text": text, "written": written, "megabytes": size}
    given["version"] = writer.recipe["sha256"][:8]
    return LiveFigure(__file__, OWN, given, DescribedFigure(figure, alt, caption))
