"""The stamp of a chapter: what its outputs were made from.

It stands in the notebook's metadata under ``course``: the word for the data that was used, and
hashes of the code cells, of the outputs, of the claims, of each file of kept results, and of each
file of ours that the cells import, directly or through others. A hash leaves out what does not
run: comments, docstrings, annotations, the words of an error. An import counts wherever it stands,
in a string too. A package only hands names on: of
``from utils.attention import causal_mask`` the file that has ``causal_mask`` counts. A script or a
style beside a module that it names counts with the module, and a drawing with the cell that shows
it.
"""

from __future__ import annotations

import ast
import hashlib
import json
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

from nbformat import NotebookNode

from tools.claims import claims_file

PACKAGES = ("utils", "chapters", "exercises", "benchmarks")
SILENT = {"ctx", "kind", "returns", "annotation"}  # fields of a syntax tree that do not run
KEPT = re.compile(r"\bresults/[\w-]+\.(?:csv|json)")


def hashes(nb: NotebookNode, chapter: str, root: Path) -> dict[str, Any]:
    """Hash what a chapter is made from, and what came out."""
    return {
        "cells": cells_hash(nb),
        "claims": claims_hash(chapter, root),
        "files": file_hashes(nb, root),
        "outputs": digest([cell.outputs for cell in code_cells(nb)]),
    }


def cells_hash(nb: NotebookNode) -> str:
    """Hash a chapter's code."""
    return digest([cell.source for cell in code_cells(nb)])


def claims_hash(chapter: str, root: Path) -> str:
    """Hash the script that asserts a chapter's sentences; "" where there is none."""
    claims = claims_file(chapter, root)
    return file_hash(claims) if claims.is_file() else ""


def file_hashes(nb: NotebookNode, root: Path) -> dict[str, str]:
    """Hash each file that a chapter imports, and each file of kept results that it names."""
    program = _program(nb)
    results = (root / "notebooks" / name for name in sorted(set(KEPT.findall(program))))
    files = [file for file in (*imported(program, root), *results) if file.is_file()]
    return {str(file.relative_to(root)): file_hash(file) for file in files}


def code_cells(nb: NotebookNode) -> list[NotebookNode]:
    """Give the code cells, in order."""
    return [cell for cell in nb.cells if cell.cell_type == "code"]


def _program(nb: NotebookNode) -> str:
    return "\n".join(map(cell_source, code_cells(nb)))


def cell_source(cell: NotebookNode) -> str:
    """Write a code cell as Python, without IPython's lines."""
    return re.sub(r"(?m)^(\s*)[%!].*", r"\1pass", cell.source)


def digest(value: Any) -> str:
    """Hash a value of lists, dicts and words."""
    text = value if isinstance(value, str) else json.dumps(value, sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def file_hash(file: Path) -> str:
    """Hash a file; of a Python file, what of it runs."""
    text = file.read_bytes().decode(errors="replace")
    return _source_hash(text) if file.suffix == ".py" else digest(text)


@cache
def _source_hash(source: str) -> str:
    return digest(code(ast.parse(source)))


def code(node: Any, is_message: bool = False) -> str:
    """Write down what runs of a syntax tree, the same in every version of Python."""
    if isinstance(node, list):
        return ",".join(code(item, is_message) for item in node)
    if not isinstance(node, ast.AST):
        return repr(node)
    if isinstance(node, ast.Constant) and is_message and isinstance(node.value, str):
        return ""
    if isinstance(node, ast.Expr) and isinstance(getattr(node.value, "value", None), str):
        return ""  # a docstring
    if isinstance(node, ast.Call):
        called = getattr(node.func, "attr", getattr(node.func, "id", ""))
        is_message = is_message or called.endswith(("Error", "Exit"))
    is_message = is_message or isinstance(node, ast.Raise)
    parts = [
        f"{name}={code(value, is_message)}"
        for name, value in ast.iter_fields(node)
        if value not in (None, []) and (name not in SILENT or isinstance(node, ast.AnnAssign))
    ]
    return f"{type(node).__name__}({' '.join(parts)})"


def imported(source: str, root: Path) -> list[Path]:
    """Give the files of ours that a source imports, directly or through others."""
    found: set[Path] = set()
    waiting = [*_imports(source, root, root)]
    while waiting:
        if (file := waiting.pop()) not in found:
            found.add(file)
            if file.suffix == ".py":
                waiting += _imports(file.read_text(encoding="utf-8"), root, file.parent)
    return sorted(found)


@cache
def _imports(source: str, root: Path, folder: Path) -> tuple[Path, ...]:
    """Give the files that a source in a folder names itself."""
    found: list[Path] = []
    for node in ast.walk(_tree(source)):
        match node:
            case ast.Import(names):
                found += [file for alias in names for file in _files(alias.name, root)]
            case ast.ImportFrom(module=str(package), names=names):
                found += [f for alias in names for f in _files(f"{package}.{alias.name}", root)]
            case ast.Constant(value=str(text)) if "import " in text and "\n" in text:
                found += _imports(text, root, folder)
            case ast.Constant(value=str(text)) if re.fullmatch(r"[\w.-]+\.\w+", text):
                if text.endswith((".js", ".css", ".json")) and (folder / text).is_file():
                    found.append(folder / text)
            case ast.Call(func=ast.Name("show_drawing"), args=[ast.Constant(value=str(name)), *_]):
                found.append(root / "book" / "_static" / "drawings" / f"{name}.svg")
    return tuple(found)


def _files(path: str, root: Path) -> Iterator[Path]:
    """Follow a dotted path to the file that has what it names."""
    package, _, name = path.rpartition(".")
    if path.partition(".")[0] not in PACKAGES:
        return
    for dotted in (path, package):
        file = root.joinpath(*dotted.split(".")).with_suffix(".py")
        if file.is_file():
            yield file
            return
    whole, around = (root.joinpath(*d.split("."), "__init__.py") for d in (path, package or "."))
    if whole.is_file():
        yield whole
    elif around.is_file():
        handed = [
            f"{node.module}.{alias.name}"
            for node in ast.walk(_tree(around.read_text(encoding="utf-8")))
            if isinstance(node, ast.ImportFrom)
            for alias in node.names
            if (alias.asname or alias.name) == name
        ]
        for target in handed:
            yield from _files(target, root)
        if not handed:
            yield around


@cache
def _tree(source: str) -> ast.Module:
    """Parse a source; a text that is no Python imports nothing."""
    try:
        return ast.parse(source)
    except SyntaxError:
        return ast.Module([], [])


def kept_code(nb: NotebookNode, root: Path) -> dict[str, str]:
    """Hash what each function of a chapter runs, for the results that ``run_all`` keeps.

    That is each statement of the cells that binds a name in it, or a name in one of these, and the
    files that they import.
    """
    statements = _statements(_program(nb))
    found = {}
    for name in {name for *_, name in statements if name}:
        names, reached = {name}, set[int]()
        while more := {n for n, (bound, *_) in enumerate(statements) if bound & names} - reached:
            reached |= more
            names = names.union(*(statements[n][1] for n in more))
        parts = [statements[n] for n in sorted(reached)]
        files = imported("\n".join(imports for *_, imports, _ in parts), root)
        found[name] = digest([*(ran for _, _, ran, *_ in parts), *map(file_hash, files)])
    return found


@cache
def _statements(program: str) -> list[tuple[set[str], set[str], str, str, str]]:
    """Give what each statement binds, what it reads, its code, its imports, its function's name."""
    return [
        (
            _bound(s),
            _read(s),
            code(s),
            text if "import " in (text := ast.unparse(s)) else "",
            s.name if isinstance(s, ast.FunctionDef) else "",
        )
        for s in _tree(program).body
    ]


def _bound(statement: ast.stmt) -> set[str]:
    """Name what a statement of the top level binds, or changes by an item or an attribute."""
    if isinstance(statement, ast.FunctionDef | ast.ClassDef):
        return {statement.name}
    bound = _names(statement, ast.Store)
    for node in ast.walk(statement):
        if isinstance(node, ast.alias):
            bound.add((node.asname or node.name).partition(".")[0])
        elif isinstance(node, ast.Subscript | ast.Attribute) and isinstance(node.ctx, ast.Store):
            bound |= _names(node.value, ast.Load)
    return bound


def _read(statement: ast.stmt) -> set[str]:
    """Name what a statement reads; what is local to a function it binds itself."""
    read = _names(statement, ast.Load)
    if isinstance(statement, ast.FunctionDef):
        read -= _names(statement, ast.Store)
        read -= {node.arg for node in ast.walk(statement) if isinstance(node, ast.arg)}
    return read


def _names(node: ast.AST, context: type[ast.expr_context]) -> set[str]:
    names = (n for n in ast.walk(node) if isinstance(n, ast.Name))
    return {name.id for name in names if isinstance(name.ctx, context)}
