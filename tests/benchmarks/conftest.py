"""A small training benchmark, a few sentences, and an empty folder for results and page."""

import json
from itertools import product

import pandas as pd
import pytest
import torch

from benchmarks import multi30k, page, report, translation
from benchmarks.epochs import Documents
from benchmarks.multi30k import Pairs
from benchmarks.subwords import Subwords
from benchmarks.training import compare_variants
from utils.costs import Peak

SIZES = (("small", "kleiner"), ("large", "großer"), ("quiet", "leiser"))
COLOURS = (("red", "roter"), ("green", "grüner"), ("grey", "grauer"))
THINGS = (("dog", "Hund"), ("boat", "Kahn"), ("tree", "Baum"), ("hat", "Hut"))
ENDS = (("", ""), (" in the sun", " in der Sonne"), (" by the sea at night", " nachts am Meer"))
VOCAB, CLASSES, EPOCHS, SLOW, STEPS = 50, 3, 4, 2, 3


@pytest.fixture(scope="session")
def documents():
    generator = torch.Generator().manual_seed(0)

    def batch(B, T):
        ids = torch.randint(1, VOCAB, (B, T), generator=generator)
        ids[:, 0] = 0  # every document begins with [CLS]
        return ids, ids[:, 1] % CLASSES  # something to learn

    epochs = [[batch(4, 8 + step) for step in range(STEPS)] for _ in range(EPOCHS)]
    return Documents(epochs, [batch(6, 9), batch(2, 5)], VOCAB, CLASSES, seconds=0.5)


@pytest.fixture(scope="session")
def tables(documents):
    """What the benchmark gives; it is read only."""
    cpu, peak = torch.device("cpu"), Peak(flops=1e9, bytes=1e9)
    return compare_variants(documents, SLOW, cpu, peak, budget=0.0, memory=False)


@pytest.fixture
def results(monkeypatch, tmp_path):
    """The folder that the results are written to, and the page beside it."""
    monkeypatch.setattr(report, "RESULTS", tmp_path / "results")
    monkeypatch.setattr(page, "PAGE", tmp_path / "book" / "measurements.md")
    monkeypatch.setattr(page, "PICTURES", tmp_path / "book" / "pictures")
    return tmp_path / "results"


@pytest.fixture
def translation_result():
    """The file of a translation, with its tables as frames as well; made up."""
    runs = list(product(range(3), ("ours", "torch.nn")))
    epochs = [
        {"seed": seed, "model": name, "epoch": e, "step": 100 * e, "train_loss": 4.0 / e,
         "loss": 3.0 / e + 0.01 * seed, "bleu": 7.5 * e + seed, "seconds": 120.0 * e,
         "core_seconds": 60.0 * e}
        for seed, name in runs for e in (1, 2, 3)
    ]  # fmt: skip
    bleu = (23.0, 22.5, 24.0, 23.0, 25.0, 25.5)  # means 24.0 and 23.67; differences 0.5, 1.0, -0.5
    tests = [
        {"seed": seed, "model": name, "weights": "the best epoch", "validation_loss": 1.0,
         "validation_bleu": 22.5, "bleu": score, "bleu_lowercase": score + 1, "chrf": 2 * score,
         "seconds": 3.0, "train_seconds": 360.0, "train_core_seconds": 180.0 + 30 * seed,
         "train_resumed": seed}
        for (seed, name), score in zip(runs, bleu, strict=True)
    ]  # fmt: skip
    steps = [
        {"model": name, "ms": ms, "ms_low": ms - 1, "ms_high": ms + 1, "to_torch": ms / 20,
         "to_torch_low": ms / 20, "to_torch_high": ms / 20}
        for name, ms in (("ours", 18.0), ("torch.nn", 20.0))
    ]  # fmt: skip
    signatures = {"bleu": "case:mixed|version:9", "bleu_lowercase": "case:lc", "chrf": "nc:6"}
    settings = translation.translation_settings(torch.device("cpu")) | {
        "dtype": "float32", "pairs": {"train": 29000, "validation": 1014, "test": 1000},
        "parameters": 1234567, "signatures": signatures, "seeds": 3, "epochs": 3,
    }  # fmt: skip
    machine = {"processor": "A processor", "cores": 2, "threads": 1, "instructions": "AVX512",
               "gpu": None}  # fmt: skip
    tables = {"epochs": epochs, "test": tests, "steps": steps}
    return {
        "benchmark": "translation", "date": "2026-01-02", "machine": machine,
        "versions": {"torch": "9.9"}, "peak": {"flops": 1e12, "bytes": 1e9}, "settings": settings,
        "tables": tables, "frames": {name: pd.DataFrame(rows) for name, rows in tables.items()},
    }  # fmt: skip


@pytest.fixture
def sentences():
    """Three splits of 108 pairs of our own."""
    found = [
        (f"A {a} {b} {c}{d}.", f"Ein {e} {f} {g}{h}.")
        for (a, e), (b, f), (c, g), (d, h) in product(SIZES, COLOURS, THINGS, ENDS)
    ]
    order = torch.randperm(len(found), generator=torch.Generator().manual_seed(0)).tolist()
    pairs = [found[i] for i in order]
    parts = {"train": pairs[:80], "validation": pairs[80:94], "test": pairs[94:]}
    return {split: Pairs(*map(list, zip(*part, strict=True))) for split, part in parts.items()}


@pytest.fixture
def multi30k_folder(sentences, tmp_path, monkeypatch):
    """The sentences as files, in the folder that MULTI30K names."""
    folder = tmp_path / "multi30k"
    folder.mkdir()
    for split, pairs in sentences.items():
        rows = [{"en": en, "de": de} for en, de in zip(*pairs, strict=True)]
        lines = "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)
        (folder / f"{split}.jsonl").write_text(lines, encoding="utf-8")
    monkeypatch.setenv("MULTI30K", str(folder))
    return folder


@pytest.fixture
def subwords(sentences):
    return Subwords.train([*sentences["train"].source, *sentences["train"].target], 300)


@pytest.fixture
def counted(monkeypatch):
    """In the place of sacrebleu: the share of sentences that are exact."""

    def score(translations, references):
        assert len(translations) == len(references)
        right = sum(a == b for a, b in zip(translations, references, strict=True))
        share = 100 * right / len(references)
        how = {"bleu": "exact", "bleu_lowercase": "exact, lower", "chrf": "exact, too"}
        return multi30k.Score(share, share, share, how)

    monkeypatch.setattr(multi30k, "load_sacrebleu", lambda: None)
    monkeypatch.setattr(translation, "score", score)
