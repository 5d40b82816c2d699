"""Every test draws the same numbers in every run, unless another seed is asked for.

``TEST_SEED=7`` gives every test other numbers. With ``--hypothesis-profile=explore`` the tests that
Hypothesis feeds get other examples as well. The header of the run names both, so that a failure can
be repeated.
"""

import ast
import os
import random

import nbformat
import numpy as np
import pytest
import torch
from hypothesis import HealthCheck, register_random, settings

from tools.notebooks import ROOT
from tools.stamp import cell_source
from utils.minilm import load_minilm

SEED = int(os.environ.get("TEST_SEED", "0"))
THREADS = torch.get_num_threads()

# How long an example takes says something about the machine and nothing about the code.
UNTIMED = {"deadline": None, "suppress_health_check": [HealthCheck.too_slow]}
settings.register_profile("repeat", derandomize=True, **UNTIMED)
settings.register_profile("explore", database=None, max_examples=500, **UNTIMED)
settings.load_profile("repeat")


class TorchRandom:
    """PyTorch's generator, for Hypothesis: it seeds it before each example, so that one repeats."""

    def seed(self, number):
        torch.manual_seed(SEED + number)

    def getstate(self):
        return torch.get_rng_state()

    def setstate(self, state):
        torch.set_rng_state(state)


TORCH_RANDOM = TorchRandom()  # Hypothesis keeps no reference of its own
register_random(TORCH_RANDOM)


@pytest.hookimpl(tryfirst=True)  # before Hypothesis reads its options
def pytest_configure(config):
    if config.option.hypothesis_seed is None:
        config.option.hypothesis_seed = SEED  # the profile "repeat" does not look at it


def pytest_report_header(config):
    return f"TEST_SEED={SEED}, Hypothesis profile: {settings.get_current_profile_name()}"


def begin():
    """Seed every generator that a test may draw from, and take as many threads as at first."""
    random.seed(SEED)
    np.random.seed(SEED % 2**32)  # noqa: NPY002
    torch.manual_seed(SEED)
    torch.set_num_threads(THREADS)


@pytest.hookimpl(tryfirst=True)
def pytest_fixture_setup(fixturedef):
    if fixturedef.scope != "function":  # whichever test is the first to ask for it
        begin()


@pytest.fixture(autouse=True)
def seed():
    """Let every test begin at the seed of the run; it gives the number."""
    begin()
    return SEED


@pytest.fixture(scope="session")
def minilm():
    """The published model; no test changes it."""
    return load_minilm(dropout=0.0)


@pytest.fixture(scope="session")
def texts():
    """Texts of 2 to 96 tokens, whose order by length is not its own inverse."""
    return [
        "one",
        "The cat sleeps on the warm stove.",
        "A kitten is dozing beside the heater. " * 3,
        "",
        "Shares fell sharply after the bank raised its rates. " * 4,
        "The central bank's decision sent the markets down.",
    ]


@pytest.fixture(scope="session")
def Transformer():  # it gives a class
    """The class that chapter 17 writes in its cells."""
    nb = nbformat.read(ROOT / "notebooks" / "17-encoder-decoder.ipynb", as_version=4)
    cells = [ast.parse(cell_source(c)).body for c in nb.cells if c.cell_type == "code"]
    imports = [line for line in cells[0] if isinstance(line, ast.Import | ast.ImportFrom)]
    classes = [line for body in cells for line in body if isinstance(line, ast.ClassDef)]
    scope = {}
    exec(compile(ast.Module([*imports, *classes], []), nb.cells[0].id, "exec"), scope)
    return scope["Transformer"]
