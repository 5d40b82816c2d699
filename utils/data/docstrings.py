"""The offline corpus: docstrings of five libraries that every installation of this course has.

The task is to say which library a docstring comes from. The source files are read, never imported,
so that nothing is run; which docstrings are taken is settled by hashes, so that two calls give the
same corpus. Other versions of the libraries give another corpus.
"""

from __future__ import annotations

import ast
import hashlib
import re
import warnings
from collections.abc import Iterator, Set
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
    return {
        split: sorted(part, key=lambda row: text_hash(row["text"])) for split, part in rows.items()
    }


def _documents(name: str, package: str) -> list[str]:
    """Take one library's docstrings, all different, from its files in the order of hashes."""
    files = source_files(package, name, SKIPPED)
    texts: dict[str, None] = {}  # a set that keeps its order
    for place in sorted(files, key=text_hash):
        for written in docstrings_of(files[place]):
            text = " ".join(_NAMES.sub(" ", written.lower()).split())
            if len(text.split()) >= MIN_WORDS:
                texts[text] = None
        if len(texts) >= TRAIN + TEST:
            return sorted(list(texts)[: TRAIN + TEST], key=text_hash)
    raise RuntimeError(
        f"{name} has {len(texts)} docstrings of {MIN_WORDS} words or more in its source files; the "
        f"offline corpus needs {TRAIN + TEST}: install it with its sources."
    )


def source_files(package: str, name: str, skipped: Set[str]) -> dict[str, Path]:
    """Give the source files of an installed package, each by its place in the package.

    Parameters
    ----------
    package, name : str, what it is called in an import, and when it is installed
    skipped : folders whose files are left out

    Raises
    ------
    RuntimeError
        if the package is not installed
    """
    spec = find_spec(package)
    if spec is None or spec.origin is None:
        raise RuntimeError(f"The texts need {name}: pip install {name}")
    root = Path(spec.origin).parent
    files = {path.relative_to(root): path for path in root.rglob("*.py")}
    return {p.as_posix(): file for p, file in files.items() if skipped.isdisjoint(p.parts)}


def docstrings_of(path: Path) -> Iterator[str]:
    """Give the docstrings of one file as they are written, without their indentation."""
    with warnings.catch_warnings(action="ignore"):  # of escapes in other people's strings
        try:
            tree = ast.parse(path.read_bytes())
        except (SyntaxError, ValueError):
            return  # not for this version of Python, such as a template
    for node in ast.walk(tree):
        if isinstance(node, (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)):
            # Half a surrogate pair, as an escape may make it, is no character.
            text = ast.get_docstring(node) or ""
            yield text.encode(errors="ignore").decode()


def text_hash(text: object) -> str:
    """Give what texts and files are put in order by, so that kinds and libraries are mixed."""
    return hashlib.sha256(str(text).encode()).hexdigest()
