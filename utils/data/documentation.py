"""What the model that writes reads: the documentation inside installed libraries.

Every installation of the course has these libraries. Their source files are read, never imported,
so that nothing is run. What a model is tested on comes from other libraries than what it is trained
on. Other versions of the libraries have other texts.
"""

from __future__ import annotations

from importlib.metadata import PackageNotFoundError, version

from utils.data.docstrings import SKIPPED, docstrings_of, source_files, text_hash

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
    files = source_files(package, DISTRIBUTIONS.get(package, package), OTHERS)
    written = {text for file in files.values() for text in docstrings_of(file)}
    texts = {text for text in written if len(text.split()) >= least_words}
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


def package_versions(packages: tuple[str, ...] = TRAINED_ON + VALIDATED_ON) -> dict[str, str]:
    """Give the version of each package that is installed."""
    found = {}
    for package in packages:
        try:
            found[package] = version(DISTRIBUTIONS.get(package, package))
        except PackageNotFoundError:
            continue
    return found
