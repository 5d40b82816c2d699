"""The model that translates dates, for a page: what its script is given."""

from __future__ import annotations

from typing import Any

from matplotlib.figure import Figure

from utils.figures.drawings.canvas import Picture
from utils.figures.live_writer import model_in_halves

# What the script knows of a ``Transformer``.
PARTS = {"Transformer", "Embedding", "SinusoidalPositionalEncoding", "ModuleList", "EncoderBlock"}
PARTS |= {"DecoderBlock", "MultiHeadAttention", "Sequential", "Linear", "ReLU", "LayerNorm"}
PARTS |= {"Dropout"}  # which does nothing once a model is trained


def draw_dates(
    model: Any,
    vocabulary: Any,
    text: str,
    letters: int,
    still: Picture,
    head: int | None = None,
) -> tuple[dict[str, Any], Figure, str, Figure]:
    """Give the translator in half precision; what stands in its place is drawn by the caller."""
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
    alt = f"A model translates “{text}”, letter by letter. {still.alt}"
    return given, still.wide, alt, still.narrow
