"""A live figure: a classifier that reads what is typed."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from utils.figures.drawings.canvas import Picture
from utils.figures.live_figure import LiveFigure, model_in_halves

SCRIPTS = ("attention.js", "live.js", "headline.js")
STYLES = ("live.css", "headline.css")


def live_headline(
    caption: str, model: Any, tokenizer: Any, classes: Sequence[str], text: str, still: Picture
) -> LiveFigure:
    """Make it; put it at the end of a cell.

    Parameters
    ----------
    caption : str, what the figure shows, the finding first
    model : ``TextClassifier``; it is kept in half precision
    tokenizer : its tokenizer, of MiniLM's kind
    classes : C names
    text : str, what it reads first
    still : ``Picture``, what stands there without a script

    Raises
    ------
    ValueError
        if what it is given does not fit together
    """
    given: dict[str, Any] = {
        "text": text,
        "classes": list(classes),
        "state": model_in_halves(model),
    }
    given |= {"width": model.mha.embed_dim, "numHeads": model.mha.num_heads}
    given["vocabulary"] = " ".join(tokenizer.convert_ids_to_tokens(list(range(len(tokenizer)))))
    return LiveFigure(
        "headline", SCRIPTS, STYLES, given, still.wide, still.alt, caption, still.narrow
    )
