"""The heads of one trained layer, for a page: what its weights need, and what is drawn before."""

from __future__ import annotations

import re
from typing import Any

import torch

from chapters.arcs import draw_heads
from utils.live import LiveFigure, in_halves

OWN = ("byte_pairs.js", "heads.js", "heads.css")
NEEDED = r"gap|embedding\.weight|(mha_norm|mha\.[qk]_proj)\.(weight|bias)"  # for weights alone


def live_heads(caption: str, filler: Any, text: str) -> LiveFigure:
    """Make it; put it at the end of a cell.

    Parameters
    ----------
    caption : str, what the figure shows, the finding first
    filler : ``KeptGapFiller``, with its weights, vocabulary and recipe
    text : str, the sentence that the figure opens with

    Raises
    ------
    ValueError
        if what it is given does not fit together
    """
    ids = filler.encode(text)
    if not ids:
        raise ValueError("the picture needs a sentence of at least one token.")
    with torch.no_grad():
        weights = filler.model.weights(torch.tensor([ids]))[0]  # (H, T, T)
    called = filler.recipe["called"]  # of each head: where it looks, and how much of its weight
    names = [f"head {h}: {name}, {share:.2f}" for h, (name, share) in enumerate(called)]
    tokens = [called_in_panels(filler.vocabulary, token) for token in ids]
    still = draw_heads(tokens, weights, caption, names)
    state = filler.model.state_dict()
    given = {
        "text": text,
        "merges": filler.vocabulary.merges,
        "numHeads": len(weights),
        "looksAt": called,
        "state": {n: in_halves(x) for n, x in state.items() if re.fullmatch(NEEDED, n)},
    }
    return LiveFigure(__file__, OWN, given, still)


def called_in_panels(vocabulary: Any, token: int) -> str:
    """What the panels call a token: as ``called`` in the script."""
    name = vocabulary.name(token)
    if name.startswith("·"):
        return name[1:] or name
    return f"-{name}" if re.match(r"\w", vocabulary.decode([token])) else name
