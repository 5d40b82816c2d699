"""The offline corpus: docstrings of five libraries that every installation of this course has.

The task is to say which library a docstring comes from. The source files are read, never imported,
so that nothing is run; which docstrings are taken is settled by hashes, so that two calls give the
same corpus. Other versions of the libraries give another corpus.
"""

from __future__ import annotations

import ast
import hashlib
import inspect
import re
import warnings
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path

LIBRARIES = {  # class name -> package; the position is the label
    "matplotlib": "matplotlib",
    "networkx": "networkx",
    "numpy": "numpy",
    "pandas": "pandas",
    "scikit-learn": "sklearn",
}
TRAIN, TEST = 245, 100  # documents of each class: 1,225 and 500 in all
MIN_WORDS = 60
SKIPPED = {"tests", "testing", "_vendor", "externals", "extern"}  # folders

# A library's name would give the label away, in its own docstrings and in the others'.
_NAMES = re.compile(
    r"matplotlib|pyplot|pylab|networkx|numpy|pandas|sklearn|scikit(?:[-_ ]learn)?"
    r"|(?<![a-z])(?:mpl|plt|nx|np|pd)(?![a-z])"
)


def docstring_rows() -> dict[str, list[dict[str, str | int]]]:
    """Build the corpus.

    Returns
    -------
    dict with "train" and "test", each a list of rows with ``text`` (lower case), ``label`` (0 to 4)
    and ``label_text`` (the library), in an order that mixes the classes

    Raises
    ------
    RuntimeError
        if a library is not installed, or comes without enough docstrings in source files
    """
    rows: dict[str, list[dict[str, str | int]]] = {"train": [], "test": []}
    for label, (name, package) in enumerate(LIBRARIES.items()):
        texts = _documents(name, package)
        for split, part in {"train": texts[:TRAIN], "test": texts[TRAIN:]}.items():
            rows[split] += [{"text": text, "label": label, "label_text": name} for text in part]
    return {split: sorted(part, key=lambda row: _hash(row["text"])) for split, part in rows.items()}


def _documents(name: str, package: str) -> list[str]:
    """Take one library's docstrings, all different, from its files in the order of hashes."""
    spec = find_spec(package)
    if spec is None or spec.origin is None:
        raise RuntimeError(f"The offline corpus needs {name}: pip install {name}")
    root = Path(spec.origin).parent
    files = {path.relative_to(root).as_posix(): path for path in root.rglob("*.py")}
    texts: dict[str, None] = {}  # a set that keeps its order
    for relative in sorted(files, key=_hash):
        if SKIPPED.isdisjoint(relative.split("/")):
            texts.update(dict.fromkeys(_docstrings(files[relative])))
        if len(texts) >= TRAIN + TEST:
            return sorted(list(texts)[: TRAIN + TEST], key=_hash)
    raise RuntimeError(
        f"{name} has {len(texts)} docstrings of {MIN_WORDS} words or more in its source files; the "
        f"offline corpus needs {TRAIN + TEST}: install it with its sources."
    )


def _docstrings(path: Path) -> Iterator[str]:
    """Give the long docstrings of one file, cleaned."""
    with warnings.catch_warnings(action="ignore"):  # of escapes in other people's strings
        try:
            tree = ast.parse(path.read_bytes())
        except (SyntaxError, ValueError):
            return  # not for this version of Python, such as a template
    for node in ast.walk(tree):
        if isinstance(node, (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)):
            text = _NAMES.sub(" ", inspect.cleandoc(ast.get_docstring(node) or "").lower())
            text = " ".join(text.split())
            if len(text.split()) >= MIN_WORDS:
                yield text


def _hash(text: object) -> str:
    return hashlib.sha256(str(text).encode()).hexdigest()
