"""The model that translates dates, for a page: what its script is given."""

from __future__ import annotations

from typing import Any

from chapters.live.figure import LiveFigure, model_in_halves
from utils.figures import DescribedFigure

OWN = ("dates.js", "dates.css")
# What the script knows of a ``Transformer``.
PARTS = {"Transformer", "Embedding", "SinusoidalPositionalEncoding", "ModuleList", "EncoderBlock"}
PARTS |= {"DecoderBlock", "MultiHeadAttention", "Sequential", "Linear", "ReLU", "LayerNorm"}
PARTS |= {"Dropout"}  # which does nothing once a model is trained


def live_dates(
    model: Any,
    vocabulary: Any,
    text: str,
    letters: int,
    still: DescribedFigure,
    head: int | None = None,
) -> LiveFigure:
    """Make it; put it at the end of a cell.

    Parameters
    ----------
    model : ``Transformer`` with its norms first; it is kept in half precision
    vocabulary : its ``CharacterVocabulary``
    text : str, what it reads first
    letters : int, how many of them it has written when the figure opens
    head : int, whose lines it opens with; None for the mean of the heads
    still : what stands there without a script, and the figure's caption

    Raises
    ------
    ValueError
        if what it is given does not fit together
    """
    if other := sorted({type(part).__name__ for part in model.modules()} - PARTS):
        raise ValueError(f"the figure does not know {other[0]}, which the model has.")
    if not (model.is_causal and model.encoder[0].norm_first):
        raise ValueError("the figure knows causal models with their norms first alone.")
    if len(vocabulary) != len(model.embedding.weight):
        raise ValueError(
            f"the vocabulary has {len(vocabulary)} tokens, the model {len(model.embedding.weight)}."
        )
    vocabulary.encode([text])  # it says what it does not know
    num_heads = model.encoder[0].mha.num_heads
    if head is not None and not 0 <= head < num_heads:
        raise ValueError(f"head is {head}; the model has {num_heads} heads, from 0.")
    given = {"text": text, "letters": letters, "head": head, "numHeads": num_heads}
    given |= {"characters": "".join(vocabulary.characters), "state": model_in_halves(model)}
    still.alt = f"A model translates “{text}”, letter by letter. {still.alt}"
    return LiveFigure(__file__, OWN, given, still)
