"""What the model that writes reads: the documentation inside installed libraries.

Every installation of the course has these libraries. Their source files are read, never imported,
so that nothing is run. What a model is tested on comes from other libraries than what it is trained
on. Other versions of the libraries have other texts.
"""

from __future__ import annotations

import ast
import inspect
import warnings
from collections.abc import Iterator
from importlib.metadata import PackageNotFoundError, version
from importlib.util import find_spec
from pathlib import Path

from utils.data.docstrings import SKIPPED, _hash

TRAINED_ON = ("matplotlib", "networkx", "numpy", "pandas", "scipy", "sklearn")
VALIDATED_ON = ("plotnine", "seaborn")
LEAST_WORDS = 30
OTHERS = {*SKIPPED, "external"}  # folders with tests, or with what other libraries have written
DISTRIBUTIONS = {"sklearn": "scikit-learn"}  # where the package has another name


def documentation(package: str, least_words: int = LEAST_WORDS) -> list[str]:
    """Give the docstrings of an installed package, as they are written, each once.

    Parameters
    ----------
    package : str, its name in an import
    least_words : int; shorter ones are left out

    Returns
    -------
    list of texts, in an order that mixes the files, the same each time

    Raises
    ------
    RuntimeError
        if the package is not installed, or has no such docstring
    """
    spec = find_spec(package)
    if spec is None or spec.origin is None:
        raise RuntimeError(f"The texts need {package}: pip install {package}")
    root = Path(spec.origin).parent
    texts: set[str] = set()
    for path in root.rglob("*.py"):
        if OTHERS.isdisjoint(path.relative_to(root).parts):
            texts.update(t for t in _docstrings(path) if len(t.split()) >= least_words)
    if not texts:
        raise RuntimeError(f"{package} has no docstrings here: install it with its sources.")
    return sorted(texts, key=_hash)


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
        sorted({text for package in packages for text in documentation(package)}, key=_hash)
        for packages in (train, validation)
    )
    read = set(known)
    return {"train": known, "validation": [text for text in other if text not in read]}


def package_versions(packages: tuple[str, ...] = TRAINED_ON + VALIDATED_ON) -> dict[str, str]:
    """Give the version of each package that is installed."""
    found = {}
    for package in packages:
        try:
            found[package] = version(DISTRIBUTIONS.get(package, package))
        except PackageNotFoundError:
            continue
    return found


def _docstrings(path: Path) -> Iterator[str]:
    """Give the docstrings of one file, without their indentation."""
    with warnings.catch_warnings(action="ignore"):  # of escapes in other people's strings
        try:
            tree = ast.parse(path.read_bytes())
        except (SyntaxError, ValueError):
            return  # not for this version of Python, such as a template
    for node in ast.walk(tree):
        if isinstance(node, (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)):
            text = inspect.cleandoc(ast.get_docstring(node, clean=False) or "")
            # Half a surrogate pair, as an escape may make it, is no character.
            yield text.encode(errors="ignore").decode()
