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
FINDINGS = (
    Finding(
        "efficient-multi-head",
        {
            "leaking": rf"WrongJoin +{NUMBER} ",
            "possible": rf"WrongJoin .*\(chance {NUMBER}\)",
        },
        lambda n: f"{n['leaking']:.2f} < {n['possible']:.2f}",
        lambda n: (
            "A loss below the best that is possible: forget one transpose, and a layer reads the "
            "future. No error is raised."
        ),
    ),
    Finding(
        "masks",
        {
            "alone": rf" 0 \[PAD\]: {NUMBER} to",  # of eight models, the worst
            "padded": rf"to {NUMBER} right, +[\d,]+ changed\n +masked",  # the best
        },
        lambda n: f"{n['alone']:.2f} → {n['padded']:.2f}",
        lambda n: (
            "The share of right answers, when one very long text joins the batch and nobody masks "
            "the padding."
        ),
    ),
    Finding(
        "bbc-news-classifier",
        {"found": rf"4 heads: {NUMBER} to"},
        lambda n: f"1/4 → {n['found']:.2f}",
        lambda n: (
            "Where on the page is the sport? Whoever counts words guesses one place in four; "
            "heads that know positions find it."
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
