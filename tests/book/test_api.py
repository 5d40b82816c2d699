"""The examples of the API reference: those of a page run one after the other, and hold."""

import re
import warnings
from pathlib import Path

import pytest

PAGES = sorted((Path(__file__).parents[2] / "book" / "api").glob("*.md"))
FENCE = re.compile(r"^```python\n(.*?)^```$", re.MULTILINE | re.DOTALL)


@pytest.mark.slow
@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_the_examples_of_a_page_hold(page, monkeypatch):
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    names = {"__name__": "__main__"}
    with warnings.catch_warnings():
        for code in FENCE.findall(page.read_text("utf-8")):
            exec(compile(code, str(page), "exec"), names)
