"""Multi30k: 31,014 descriptions of pictures, each in English and in German; and how it is scored.

29,000 are to learn from, 1,014 to watch the training, and 1,000 (test 2016) to test. BLEU is what
sacrebleu counts.

Sources: Elliott, Frank, Sima'an and Specia 2016, "Multi30K: Multilingual English-German Image
Descriptions"; Post 2018, "A Call for Clarity in Reporting BLEU Scores".
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any, NamedTuple

from datasets import load_dataset

HUB_NAME = "bentrevett/multi30k"
SPLITS = ("train", "validation", "test")


class Pairs(NamedTuple):
    """Sentences and their translations, one for one."""

    source: list[str]
    target: list[str]


def load_pairs(source: str = "en", target: str = "de") -> dict[str, Pairs]:
    """Load the three splits, from the folder that ``MULTI30K`` names, or else from the hub.

    The folder has ``train.jsonl``, ``validation.jsonl`` and ``test.jsonl``, each line an object
    with a sentence in each language.

    Raises
    ------
    RuntimeError
        if neither can be read; the message says what to do
    ValueError
        if a split or a language is not there, or a sentence is empty
    """
    place = os.path.expanduser(os.environ.get("MULTI30K") or HUB_NAME)  # a shell may leave the ~
    try:
        loaded = load_dataset(place)
    except Exception as error:  # of a dozen kinds, from four libraries
        raise RuntimeError(
            f"Multi30k cannot be read from {place} ({type(error).__name__}). With a network it "
            f"comes from {HUB_NAME} on the hub; without one, let MULTI30K name a folder with "
            "train.jsonl, validation.jsonl and test.jsonl."
        ) from error
    found = {}
    for split in SPLITS:
        if split not in loaded or not {source, target} <= set(loaded[split].column_names):
            raise ValueError(f"{place} has no {split} with the columns {source!r} and {target!r}.")
        pairs = Pairs(
            *([text.strip() for text in loaded[split][name]] for name in (source, target))
        )
        if not pairs.source or not all(pairs.source) or not all(pairs.target):
            raise ValueError(f"{place}: {split} has no sentences, or an empty one.")
        found[split] = pairs
    return found


class Score(NamedTuple):
    """BLEU, BLEU of lower-cased text and chrF, from 0 to 100; and the signatures by these names."""

    bleu: float
    bleu_lowercase: float
    chrf: float
    signatures: dict[str, str]


def score(translations: Sequence[str], references: Sequence[str]) -> Score:
    """Compare all sentences with one reference for each.

    BLEU counts the runs of one to four words that both have, chrF those of one to six characters:
    a word with another ending is wrong to the one, and nearly right to the other. Many papers count
    BLEU of lower-cased text. That gives a higher number, which the signature tells.

    Source: chrF is of Popović 2015, "chrF: character n-gram F-score for automatic MT evaluation".

    Raises
    ------
    RuntimeError
        if sacrebleu is not installed
    """
    metrics = load_sacrebleu()
    ways = {
        "bleu": metrics.BLEU(),
        "bleu_lowercase": metrics.BLEU(lowercase=True),
        "chrf": metrics.CHRF(),
    }
    found = {
        name: way.corpus_score(list(translations), [list(references)]).score
        for name, way in ways.items()
    }
    signatures = {name: str(way.get_signature()) for name, way in ways.items()}
    return Score(**found, signatures=signatures)


def load_sacrebleu() -> Any:
    """Give the module that counts.

    Raises
    ------
    RuntimeError
        if sacrebleu is not installed
    """
    try:
        from sacrebleu import metrics
    except ImportError as error:
        raise RuntimeError(
            "BLEU is counted by sacrebleu, which is not installed here: pip install sacrebleu"
        ) from error
    return metrics
