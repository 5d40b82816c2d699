"""The stamp of a chapter: what its outputs were made from.

It stands in the notebook's metadata under ``course``: the word for the data that was used, and
hashes of the code cells, of the outputs, of each ``utils`` module that the chapter uses and of each
file of kept results that it names.
"""

from __future__ import annotations

import ast
import hashlib
import json
import re
from pathlib import Path
from typing import Any

from IPython.core.inputtransformer2 import TransformerManager
from nbformat import NotebookNode


def code_cells(nb: NotebookNode) -> list[NotebookNode]:
    """Give the code cells, in order."""
    return [cell for cell in nb.cells if cell.cell_type == "code"]


def make_stamp(nb: NotebookNode, data: str, root: Path) -> dict[str, Any]:
    """Say what the outputs of this notebook were made from; ``data`` names the corpus used."""
    return {
        "cells": cells_hash(nb),
        "data": data,
        "outputs": outputs_hash(nb),
        "results": results_hashes(nb, root),
        "utils": utils_hashes(nb, root),
    }


def cells_hash(nb: NotebookNode) -> str:
    """Hash the sources of the code cells."""
    return _sha256([cell.source for cell in code_cells(nb)])


def outputs_hash(nb: NotebookNode) -> str:
    """Hash the outputs of the code cells, with their metadata."""
    return _sha256([cell.outputs for cell in code_cells(nb)])


def results_hashes(nb: NotebookNode, root: Path) -> dict[str, str]:
    """Hash each file in ``notebooks/results`` that the code cells name."""
    sources = "\n".join(cell.source for cell in code_cells(nb))
    names = sorted(set(re.findall(r"\bresults/([\w-]+\.csv)", sources)))
    files = {name: root / "notebooks" / "results" / name for name in names}
    return {
        name: hashlib.sha256(file.read_bytes()).hexdigest()
        for name, file in files.items()
        if file.is_file()
    }


def utils_hashes(nb: NotebookNode, root: Path) -> dict[str, str]:
    """Hash each module of ``utils`` that the code cells import, directly or through another."""
    to_python = TransformerManager().transform_cell  # %pip and the like are no Python
    waiting = {name for cell in code_cells(nb) for name in _imported(to_python(cell.source), root)}
    hashes: dict[str, str] = {}
    while waiting:
        name = waiting.pop()
        source = _file(name, root).read_text(encoding="utf-8")
        hashes[name] = hashlib.sha256(source.encode()).hexdigest()
        waiting |= _imported(source, root) - hashes.keys()
    return dict(sorted(hashes.items()))


def _imported(source: str, root: Path) -> set[str]:
    """Name the modules of ``utils`` that this source imports, with the packages that hold them."""
    dotted = set()
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            dotted |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            package = "utils" if node.level else ""
            base = ".".join(part for part in (package, node.module) if part)
            dotted |= {base} | {f"{base}.{alias.name}" for alias in node.names}
    parts = [name.split(".") for name in dotted if name.split(".")[0] == "utils"]
    names = {".".join(p[1:end]) or "__init__" for p in parts for end in range(1, len(p) + 1)}
    return {name for name in names if _file(name, root).is_file()}


def _file(name: str, root: Path) -> Path:
    """Give the file of a module of ``utils``, or of a package in it: "masks", "checks.heads"."""
    path = root / "utils" / name.replace(".", "/")
    return path / "__init__.py" if path.is_dir() else path.with_suffix(".py")


def _sha256(value: Any) -> str:
    return hashlib.sha256(json.dumps(value, sort_keys=True).encode()).hexdigest()
