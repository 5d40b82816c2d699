"""Docstrings of installed libraries: what stands in for the news, and what a model learns to write.

Every installation of the course has these libraries. Their source files are read, never imported,
so that nothing is run; which docstrings are taken, and their order, is settled by hashes, so that
two calls give the same. Other versions of the libraries have other texts.

In the stand-in, the task is to say which library a docstring comes from. A model that writes is
tested on other libraries than those that it is trained on.
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


TRAINED_ON = ("matplotlib", "networkx", "numpy", "pandas", "scipy", "sklearn")
VALIDATED_ON = ("plotnine", "seaborn")
LEAST_WORDS = 30
OTHERS = {*SKIPPED, "external"}  # folders with tests, or with what other libraries have written
DISTRIBUTIONS = {"sklearn": "scikit-learn"}  # where the package has another name


def documentation(package: str) -> list[str]:
    """Give the docstrings of an installed package, as written, each once; short ones are left out.

    Their order mixes the files, and is the same each time.

    Raises
    ------
    RuntimeError
        if the package is not installed, or has no such docstring
    """
    files = source_files(package, DISTRIBUTIONS.get(package, package), OTHERS)
    written = {text for file in files.values() for text in docstrings_of(file)}
    texts = {text for text in written if len(text.split()) >= LEAST_WORDS}
    if not texts:
        raise RuntimeError(f"{package} has no docstrings here: install it with its sources.")
    return sorted(texts, key=text_hash)


def writer_texts(
    train: tuple[str, ...] = TRAINED_ON, validation: tuple[str, ...] = VALIDATED_ON
) -> dict[str, list[str]]:
    """Give the texts that a writer is trained on, and those of other packages to test it with.

    A text that stands in both stays in the training alone; what is copied in parts, ``copied_runs``
    measures.

    Returns
    -------
    dict with ``train`` and ``validation``, lists of texts in an order that mixes the packages

    Raises
    ------
    RuntimeError
        see ``documentation``
    """
    known, other = (
        sorted({text for package in packages for text in documentation(package)}, key=text_hash)
        for packages in (train, validation)
    )
    read = set(known)
    return {"train": known, "validation": [text for text in other if text not in read]}
