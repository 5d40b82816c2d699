"""The layer whose heads are shown: trained once to fill the gaps of sentences, and kept.

What its heads look at is measured on sentences of other libraries, and each is called after the
narrowest place that has half of its weight.
"""

from __future__ import annotations

import hashlib
import re
import time
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor
from torch.optim.lr_scheduler import LambdaLR

from benchmarks.compression import join_texts
from benchmarks.looks import at_offset, same_token
from benchmarks.writer import half_precision
from chapters.ch03_gap_filler import SIZES, GapFiller, as_read
from chapters.ch18_training import cut_pieces, piece_starts
from tools.stamp import code_hash
from utils.byte_pairs import BytePairs
from utils.docstrings import package_versions
from utils.training import linear_rate, train_epochs

NAME = "03-heads"
SETTINGS: dict[str, Any] = {
    "vocab_size": 1024,
    "embed_dim": 64,
    "num_heads": 4,
    "hidden_dim": 128,
    "length": 32,
    "batch_size": 64,
    "steps": 1500,
    "rate": 3e-3,
    "sentences": 20_000,  # to train with
    "seed": 1,
}
QUICK: dict[str, Any] = {  # to see that it runs
    "vocab_size": 300, "embed_dim": 16, "num_heads": 2, "hidden_dim": 16, "length": 8,
    "batch_size": 8, "steps": 20, "sentences": 200,
}  # fmt: skip
SAME = "the same token elsewhere"
PLACES = {  # where a head may look, from the token that is hidden; narrow ones first
    "the token before": (-1,),
    "the token after": (1,),
    "the second token before": (-2,),
    "the second token after": (2,),
    SAME: (),
    "both neighbours": (-1, 1),
    "the two tokens before": (-2, -1),
    "the two tokens after": (1, 2),
    "two tokens on either side": (-2, -1, 1, 2),
    "four tokens on either side": (-4, -3, -2, -1, 1, 2, 3, 4),
}
ENOUGH = 0.5  # of its weight: what a head is called after has as much
SENTENCE = re.compile(r"[A-Z][^.:;`<>*_=/\\|\n]{40,400}\.")  # no code, no formula, no list
Texts = Mapping[str, Sequence[str]]


def sentences(texts: Sequence[str], most: int | None = None) -> list[str]:
    """Give the English sentences of some documentation, each once, as the model reads them.

    Parameters
    ----------
    texts : as they are written, in lines
    most : int or None, how many
    """
    paragraphs = (part.replace("\n", " ") for text in texts for part in text.split("\n\n"))
    found = (as_read(one) for part in paragraphs for one in SENTENCE.findall(part))
    return list(dict.fromkeys(found))[:most]


def filling_loss(model: GapFiller, ids: Tensor) -> Tensor:
    """Give the mean cross-entropy, in nats, of what stands at each place, (B, T) int64."""
    return F.cross_entropy(model(ids).flatten(0, 1), ids.flatten())


def train(texts: Texts, settings: dict[str, Any]) -> tuple[GapFiller, dict[str, Any]]:
    """Learn the vocabulary, train the model, and measure it; give it with what is to be kept.

    Parameters
    ----------
    texts : the splits ``train`` and ``validation`` of ``utils.docstrings.writer_texts``
    settings : see ``SETTINGS``
    """
    split = {
        "train": sentences(texts["train"], settings["sentences"]),
        "validation": sentences(texts["validation"]),
    }
    vocabulary = BytePairs.learn(split["train"], settings["vocab_size"])
    ids = {name: vocabulary.encode_all(part) for name, part in split.items()}
    settings = settings | {
        "vocab_size": len(vocabulary),
        "data": hashlib.sha256(join_texts(split["train"]).encode()).hexdigest(),
        "torch": str(torch.__version__),
        "threads": torch.get_num_threads(),
        "code": code_hash(GapFiller, _steps),  # what makes the weights
    }
    torch.manual_seed(settings["seed"])
    model = GapFiller(**{size: settings[size] for size in SIZES})
    start = time.perf_counter(), time.process_time()
    loss = _steps(model, ids["train"], settings)
    seconds = [now - then for now, then in zip(_now(), start, strict=True)]
    half_precision(model)  # what is measured is what is kept
    found = measure(model.eval(), ids["validation"], settings)
    return model, {
        "settings": settings,
        "parameters": sum(weights.numel() for weights in model.parameters()),
        "packages": package_versions(),
        "sentences": {name: len(part) for name, part in split.items()},
        "tokens": {name: len(part) for name, part in ids.items()},
        "seconds": seconds[0],
        "core_seconds": seconds[1],
        "train_loss": loss,
        **found,
        "merges": vocabulary.merges,
    }


def _now() -> tuple[float, float]:
    return time.perf_counter(), time.process_time()


def _steps(model: GapFiller, ids: Tensor, settings: Mapping[str, Any]) -> float:
    """Take the steps, and give the mean of their losses."""
    steps, length, batch_size = (settings[name] for name in ("steps", "length", "batch_size"))

    def batches(_: int) -> Iterator[tuple[Tensor]]:
        taken, epoch = 0, 0
        while taken < steps:
            starts = piece_starts(len(ids), length, settings["seed"] + 1_000_003 * epoch)
            epoch += 1
            for rows in starts.split(batch_size)[: steps - taken]:
                taken += 1
                yield (cut_pieces(ids, rows, length)[0],)

    optimizer = torch.optim.Adam(model.parameters(), 1.0, (0.9, 0.98), 1e-9, fused=True)
    rate = partial(linear_rate, steps=steps, highest=settings["rate"])
    schedule = LambdaLR(optimizer, lambda step: rate(step + 1))
    history = train_epochs(model, batches, 1, steps, filling_loss, optimizer, schedule)
    return float(history["train_loss"].iloc[0])


@torch.no_grad()
def measure(model: GapFiller, ids: Tensor, settings: Mapping[str, Any]) -> dict[str, Any]:
    """Say how many gaps of other texts it fills, and where each head looks for what is hidden."""
    starts = piece_starts(len(ids), settings["length"])[:500]
    pieces, _ = cut_pieces(ids, starts, settings["length"])
    right = model(pieces).argmax(dim=-1) == pieces
    weights = model.weights(pieces)  # (B, H, T, T)
    at = {o: at_offset(weights, o) for places in PLACES.values() for o in places}  # (H,) each
    at_once = {
        name: sum((at[o] for o in places), torch.zeros(())) for name, places in PLACES.items()
    }
    at_once[SAME] = same_token(weights, pieces)
    looks = [
        {name: share[h].item() for name, share in at_once.items()} for h in range(weights.shape[1])
    ]
    return {
        "right": right.double().mean().item(),
        "looks_at": looks,
        "called": [call(head) for head in looks],
    }


def call(looks: Mapping[str, float]) -> tuple[str, float]:
    """Give the narrowest place that has half of a head's weight, or else the best, and how much."""
    enough = (found for found in looks.items() if found[1] >= ENOUGH)
    return next(enough, max(looks.items(), key=lambda found: found[1]))


def lines(found: Mapping[str, Any]) -> list[str]:
    """Say what was found, for the screen."""
    return [
        f"{found['parameters']:,} parameters, {found['core_seconds']:.0f} seconds of a core; "
        f"{found['right']:.2f} of the gaps are filled with the token that stood there.",
        *(f"Head {h}: {name}, {share:.2f}." for h, (name, share) in enumerate(found["called"])),
    ]
