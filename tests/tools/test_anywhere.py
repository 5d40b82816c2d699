"""Each run gets one PyTorch and what belongs to it."""

import pytest

from tools import anywhere

PROJECT = """dependencies = [
    "numpy",
    "torch>=2.7",
]"""
OWN = ["numpy==2.4.6", "torch-einops-utils==0.2.0"]
PINS = [*OWN, "torch==2.13.0", "nvidia-cublas==13.1.1.3 ; sys_platform == 'linux'"]


@pytest.mark.parametrize(
    ("torch", "exact", "pins"),
    [
        ("as pinned", ["torch==2.13.0"], PINS),
        ("cpu", ["torch==2.13.0+cpu"], PINS),
        ("oldest", ["torch==2.7"], OWN),
        ("newest", [], []),
    ],
)
def test_an_environment_has_one_pytorch_and_what_belongs_to_it(torch, exact, pins):
    found = anywhere.requirements(torch, PROJECT, "\n".join(["# made by a tool", *PINS]))
    assert found == (exact, pins)
