"""The findings of the landing page. Their numbers are read in the chapters' committed outputs."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Finding:
    """A number that one did not expect, where it is printed, and what it says.

    Parameters
    ----------
    chapter : str, the file's name without its number
    patterns : for each number, what is printed around it
    figure, sentence : make text of the numbers
    """

    chapter: str
    patterns: Mapping[str, str]
    figure: Callable[[Mapping[str, float]], str]
    sentence: Callable[[Mapping[str, float]], str]


NUMBER = r"([\d,]*\d(?:\.\d+)?)"
STEP = rf" +[\d.]+ +[\d,]+ +\d+ +{NUMBER} "  # a row of chapter 10: work, bytes, calls, ms
SPOILT = r"with a long text: [\d.]+ right,"  # a line of chapter 5
FINDINGS = (
    Finding(
        "masks",
        {
            "one class": rf"{SPOILT} {NUMBER} of",
            "texts": rf"{SPOILT} [\d,]+ of {NUMBER} are",
        },
        lambda n: f"{n['one class']:.0f} of {n['texts']:.0f}",
        lambda n: (
            "news texts fall into one class when a long one joins their batch and nobody masks "
            "the padding. No error is raised."
        ),
    ),
    Finding(
        "fast-attention",
        {
            "called": f"as called{STEP}",
            "fused": f"without weights{STEP}",
            "one row": f"one row{STEP}",
            "ours": f"our layer{STEP}",
        },
        lambda n: f"{n['called']:,.0f} → {n['ours']:.1f} ms",
        lambda n: (
            "for one training step with the same result. The largest factor, "
            f"{n['fused'] / n['one row']:.0f}, is leaving out rows that nobody reads."
        ),
    ),
    Finding(
        "bbc-news-classifier",
        {
            "counted": rf"\nall words: {NUMBER} \(",
            "equal": rf"\nwords rebuilt: {NUMBER} \(",
            "attention": rf"\nlast model: {NUMBER} \(",
        },
        lambda n: f"{n['counted']:.3f} : {n['attention']:.3f}",
        lambda n: (
            "Counted words against attention: at sorting the news the baseline wins. Given "
            f"the model's own pieces and told which belong together, it gets {n['equal']:.3f}."
        ),
    ),
)


def printed(notebook: Path) -> str:
    """Give what the committed outputs of a notebook say, in order."""
    cells = json.loads(notebook.read_text(encoding="utf-8"))["cells"]
    outputs = [output for cell in cells for output in cell.get("outputs", [])]
    texts = [o.get("text") or o.get("data", {}).get("text/plain", "") for o in outputs]
    return "\n".join("".join(text) for text in texts)


def numbers(finding: Finding, text: str) -> dict[str, float]:
    """Find a finding's numbers in what its chapter prints.

    Raises
    ------
    ValueError
        if one is not there
    """
    found = {}
    for name, pattern in finding.patterns.items():
        if (match := re.search(pattern, text)) is None:
            raise ValueError(
                f"the landing page's finding of the chapter {finding.chapter!r} looks for "
                f"{pattern!r}, which its outputs no longer say: see tools/page/findings.py."
            )
        found[name] = float(match[1].replace(",", ""))
    return found
