"""The stamp of a chapter: what its outputs were made from.

It stands in the notebook's metadata under ``course``: the word for the data that was used, and
hashes of the code cells, of the outputs, of each definition in ``utils`` that the cells reach and
of each file of kept results that they name.
"""

from __future__ import annotations

import ast
import hashlib
import html
import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from nbformat import NotebookNode

from tools.leaks import output_texts
from utils.training.reach import cells_source, digest, reached


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
    names = sorted(set(re.findall(r"\bresults/([\w-]+\.(?:csv|json))", sources)))
    files = {name: root / "notebooks" / "results" / name for name in names}
    return {
        name: hashlib.sha256(file.read_bytes()).hexdigest()
        for name, file in files.items()
        if file.is_file()
    }


def utils_hashes(nb: NotebookNode, root: Path) -> dict[str, str]:
    """Hash each function, class and value of ``utils`` that the code cells reach."""
    cells = code_cells(nb)
    shown = "\n".join(html.unescape(text) for cell in cells for text in output_texts(cell))
    found = reached(cells_source(cell.source for cell in cells), root, shown=shown)
    return {name: value for name, value in found.items() if name.startswith("utils.")}


def kept_results(nb: NotebookNode, root: Path) -> dict[str, str]:
    """Hash what each file of kept results was made by: the function given to ``run_all``.

    As ``run_all`` does where it runs, it takes the cells up to the call that names the file.
    """
    cells = [cells_source([cell.source]) for cell in code_cells(nb)]
    found: dict[str, str] = {}
    for number, cell in enumerate(cells):
        if "run_all(" in cell:
            program = "\n".join(cells[: number + 1])
            for file, run in _runs(ast.parse(cell), ast.parse(program)):
                if file not in found:
                    found[file] = digest(reached(program, root, [run]))
    return found


def _runs(cell: ast.Module, program: ast.Module) -> Iterator[tuple[str, str]]:
    """Give the files that the calls of ``run_all`` in a cell keep, each with the run's name."""
    for call in ast.walk(cell):
        if isinstance(call, ast.Call) and ast.unparse(call.func) == "run_all":
            for keyword in call.keywords:
                value = keyword.value
                if keyword.arg is None and isinstance(value, ast.Name):  # **KEPT
                    value = _entry(program, value.id, "file")
                elif keyword.arg != "file":
                    continue
                if isinstance(value, ast.Constant):
                    yield str(value.value), ast.unparse(call.args[0])


def _entry(program: ast.Module, name: str, key: str) -> ast.expr:
    """Give what a dict of this name, written out in the program, holds under a key."""
    for statement in program.body:
        match statement:
            case ast.Assign([ast.Name(target)], ast.Dict(keys, values)) if target == name:
                for at, value in zip(keys, values, strict=True):
                    if isinstance(at, ast.Constant) and at.value == key:
                        return value
    return ast.Name(name)


def _sha256(value: Any) -> str:
    return hashlib.sha256(json.dumps(value, sort_keys=True).encode()).hexdigest()
