"""A live figure: a classifier that reads what is typed."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from chapters.live.figure import LiveFigure, model_in_halves
from utils.figures import DescribedFigure

OWN = ("headline.js", "headline.css")


def live_headline(
    model: Any, tokenizer: Any, classes: Sequence[str], text: str, still: DescribedFigure
) -> LiveFigure:
    """Make it; put it at the end of a cell.

    Parameters
    ----------
    model : ``TextClassifier``; it is kept in half precision
    tokenizer : its tokenizer, of MiniLM's kind
    classes : C names
    text : str, what it reads first
    still : what stands there without a script, and the figure's caption

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
    return LiveFigure(__file__, OWN, given, still)
