"""What asserts the sentences of a chapter: ``tests/claims/chNN.py``, for chapter NN.

``make notebooks`` runs the script in the chapter's kernel, after its last cell, so it has all names
of the chapter; nothing of it is saved. A claim stands below the sentence that it asserts::

    with says("With the root, it is 0.34 to 0.36 at every size."):
        claim(with_root.min(), at_least=0.335)
        claim(with_root.max(), at_most=0.365)

The bounds mean the words of the sentence, and leave room for another build of torch. What was
timed is another number on another machine: ``says("…", timed=True)`` holds where the chapter is
executed to be written, and is only reported ``--elsewhere``. A test finds each sentence in its
chapter.
"""

from __future__ import annotations

import ast
import math
import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

# In the kernel: what each sentence says that does not hold, and what was found.
FAILED: list[str] = []
TIMED: list[str] = []  # likewise, of what was timed


def claim(
    found: Any, at_least: float | None = None, at_most: float | None = None, *, on: Any = None
) -> None:
    """Assert a number by its bounds, one of them or both; or, without bounds, that it is true.

    ``on`` is the corpus that the finding is about, such as ``NEWS``: where other texts stand in
    for it, the claim is passed over.

    Raises
    ------
    AssertionError
        if the claim does not hold; it says what was found
    """
    if on is not None and not on.is_loaded:
        return
    if at_least is None and at_most is None:
        assert bool(found), "in this run it is not so"
        return
    low = -math.inf if at_least is None else at_least
    high = math.inf if at_most is None else at_most
    number = found.item() if hasattr(found, "item") else float(found)
    outside = f"this run found {number:.4g}, outside of {low:g} to {high:g}"
    assert low <= number <= high, outside


@contextmanager
def says(sentence: str, *, timed: bool = False) -> Iterator[None]:
    """Name the sentence that the claims in the block assert; if one fails, note it.

    ``timed`` says that they compare times, which are others on another machine.
    """
    try:
        yield
    except Exception as error:
        kind = "" if isinstance(error, AssertionError) else f"{type(error).__name__}: "
        (TIMED if timed else FAILED).append(f"the text says “{sentence}”, but {kind}{error}.")


def claims_file(chapter: str, root: Path) -> Path:
    """Give the script with the claims of a chapter: ``ch05.py`` for ``05-name``, ``a1.py``."""
    number = chapter.partition("-")[0].lower()
    return root / "tests" / "claims" / f"{'ch' if number.isdigit() else ''}{number}.py"


def sentences(source: str) -> list[str]:
    """Give the sentences that a script of claims names.

    Raises
    ------
    ValueError
        if a claim stands outside of a block ``with says("…"):``
    """
    found: list[str] = []
    inside: set[ast.AST] = set()
    tree = ast.parse(source)
    for node in ast.walk(tree):
        match node:
            case ast.With(
                items=[
                    ast.withitem(ast.Call(ast.Name("says"), [ast.Constant(value=str(text))])),
                    *_,
                ]
            ):
                found.append(text)
                inside |= set(ast.walk(node))
    for node in ast.walk(tree):
        match node:
            case ast.Call(ast.Name("claim")) if node not in inside:
                raise ValueError(f"line {node.lineno}: this claim names no sentence.")
    return found


def plain(text: str) -> str:
    """Give a text as one line without the marks of bold, code and quotations."""
    return " ".join(re.sub(r"(?m)^>\s?|\*|`", "", text).split())
