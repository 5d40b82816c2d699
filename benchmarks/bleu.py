"""BLEU, as everyone counts it: by sacrebleu.

Source: Post 2018, "A Call for Clarity in Reporting BLEU Scores".
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple


class Score(NamedTuple):
    """BLEU from 0 to 100, and the signature that says how it was counted."""

    bleu: float
    signature: str


def score(translations: Sequence[str], references: Sequence[str], lowercase: bool = False) -> Score:
    """Count BLEU over all sentences, against one reference for each.

    Many papers count lower-cased text. That gives a higher number, which the signature tells.

    Raises
    ------
    RuntimeError
        if sacrebleu is not installed
    """
    metric = load_sacrebleu().BLEU(lowercase=lowercase)
    found = metric.corpus_score(list(translations), [list(references)])
    return Score(found.score, str(metric.get_signature()))


def load_sacrebleu() -> Any:
    """Give the module that counts.

    Raises
    ------
    RuntimeError
        if sacrebleu is not installed
    """
    try:
        from sacrebleu.metrics import bleu
    except ImportError as error:
        raise RuntimeError(
            "BLEU is counted by sacrebleu, which is not installed here: pip install sacrebleu"
        ) from error
    return bleu
