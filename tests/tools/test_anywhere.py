"""Each run gets one PyTorch and what belongs to it."""

import pytest

from tools import anywhere

PROJECT = """
[project]
dependencies = ["numpy", "torch>=2.7"]
name = "course"
optional-dependencies.dev = ["pytest"]
optional-dependencies.dates = ["babel"]
optional-dependencies.news = ["datasets"]
optional-dependencies.classifier = ["course[news]", "transformers"]
optional-dependencies.writer = ["transformers"]
optional-dependencies.models = ["course[classifier,writer]", "peft"]
"""
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
def test_an_environment_has_what_the_tests_need_and_one_pytorch(torch, exact, pins):
    found = anywhere.requirements(torch, PROJECT, "\n".join(["# made by a tool", *PINS]))
    extras = ["babel", "datasets", "transformers", "peft", "pytest"]
    assert found == (["numpy", "torch>=2.7", *extras, *exact], pins)
