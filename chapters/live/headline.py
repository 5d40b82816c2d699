"""A live figure: a classifier that reads what is typed."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from chapters.live.figure import LiveFigure, in_halves
from utils.figures import DescribedFigure

OWN = ("headline.js", "headline.css")


def live_headline(
    model: Any, tokenizer: Any, classes: Sequence[str], text: str, still: DescribedFigure
) -> LiveFigure:
    """Make it of a ``TextClassifier``, kept in half precision, and its tokenizer, of MiniLM's kind.

    It reads ``text`` first; ``still`` stands there without a script, and has the caption.
    """
    given: dict[str, Any] = {"text": text, "classes": list(classes)}
    given["state"] = in_halves(model)
    given |= {"width": model.mha.embed_dim, "numHeads": model.mha.num_heads}
    given["vocabulary"] = " ".join(tokenizer.convert_ids_to_tokens(list(range(len(tokenizer)))))
    return LiveFigure(__file__, OWN, given, still)
