"""A small training benchmark, and an empty folder for results and page."""

import pytest
import torch

from benchmarks import page, report
from benchmarks.epochs import Documents
from benchmarks.limits import Peak
from benchmarks.training import compare_variants

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
