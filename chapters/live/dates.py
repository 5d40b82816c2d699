"""The model that translates dates, for a page: what its script is given."""

from __future__ import annotations

from typing import Any

from chapters.live.figure import LiveFigure, in_halves
from utils.figures import DescribedFigure

OWN = ("dates.js", "dates.css")
# What the script knows of a ``Transformer``.
PARTS = {"Transformer", "Embedding", "SinusoidalPositionalEncoding", "ModuleList", "EncoderBlock"}
PARTS |= {"DecoderBlock", "MultiHeadAttention", "Sequential", "Linear", "ReLU", "LayerNorm"}
PARTS |= {"Dropout"}  # which does nothing once a model is trained


def live_dates(
    model: Any, vocabulary: Any, text: str, letters: int, still: DescribedFigure, head: int
) -> LiveFigure:
    """Make it of a ``Transformer`` with its norms first, and its ``CharacterVocabulary``.

    It opens where some letters of ``text`` are translated, with the lines of the head that aligns
    the digits; ``still`` stands there without a script, and has the caption. ValueError if the
    script does not know a part of the model.
    """
    if other := sorted({type(part).__name__ for part in model.modules()} - PARTS):
        raise ValueError(f"the figure does not know {other[0]}, which the model has.")
    if not (model.is_causal and model.encoder[0].norm_first):
        raise ValueError("the figure knows causal models with their norms first alone.")
    given = {"text": text, "letters": letters, "head": head}
    given |= {"numHeads": model.encoder[0].mha.num_heads}
    given |= {"characters": "".join(vocabulary.characters), "state": in_halves(model)}
    still.alt = f"A model translates “{text}”, letter by letter. {still.alt}"
    return LiveFigure(__file__, OWN, given, still)
