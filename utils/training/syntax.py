"""What a piece of Python source binds, what it reads, and what of it counts as code."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import Any

Chain = tuple[str, ...]  # a name and its attributes: ("checks", "one_head")
_Definition = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef
_Comprehension = ast.ListComp | ast.SetComp | ast.DictComp | ast.GeneratorExp
_SILENT = {"ctx", "kind", "type_comment", "type_ignores", "returns", "annotation"}


def bound_names(statement: ast.stmt) -> dict[str, bool]:
    """Name what a statement of the top level binds, and what it changes by an item or a method.

    Returns
    -------
    dict from each name to whether what it stood for before is gone for certain
    """
    if isinstance(statement, _Definition):
        return {statement.name: True}
    names: dict[str, bool] = {}
    certain = isinstance(statement, ast.Assign | ast.AnnAssign | ast.With)
    for node in _own_scope(statement):
        if isinstance(node, ast.Subscript | ast.Attribute) and not isinstance(node.ctx, ast.Load):
            names.setdefault(_root(node), False)
        elif isinstance(node, ast.Expr) and isinstance(node.value, ast.Call):
            if isinstance(node.value.func, ast.Attribute):
                names.setdefault(_root(node.value.func), False)
        elif isinstance(node, ast.Name) and not isinstance(node.ctx, ast.Load):
            names[node.id] = certain
        elif isinstance(node, _Definition):
            names[node.name] = False
    names.pop("", None)
    return names


def read_names(statement: ast.stmt) -> set[Chain]:
    """Give the names, with their attributes, that a statement reads and has not bound itself."""
    if isinstance(statement, _Definition):
        return _free(statement)
    first: dict[str, int] = {}  # line of the first binding
    for node in _own_scope(statement):
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            first[node.id] = min(node.lineno, first.get(node.id, node.lineno))
    early = {
        node.id
        for node in ast.walk(statement)
        if isinstance(node, ast.Name)
        and isinstance(node.ctx, ast.Load)
        and node.lineno <= first.get(node.id, node.lineno)
    }
    return {chain for chain in _free(statement) if chain[0] in early or chain[0] not in first}


def _root(node: ast.AST) -> str:
    """Name what an item, an attribute or a call belongs to: ``plan`` in ``plan[0].append``."""
    while isinstance(node, ast.Attribute | ast.Subscript | ast.Call):
        node = node.func if isinstance(node, ast.Call) else node.value
    return node.id if isinstance(node, ast.Name) else ""


def _own_scope(node: ast.AST) -> Iterator[ast.AST]:
    """Walk through a statement, but not into what has names of its own in it."""
    yield node
    for child in ast.iter_child_nodes(node):
        if isinstance(child, _Definition):
            yield child
        elif not isinstance(child, _Comprehension | ast.Lambda):
            yield from _own_scope(child)


def _free(node: ast.AST) -> set[Chain]:
    """Give the names, with their attributes, that a node reads and no scope in it binds."""
    if isinstance(node, ast.Attribute):
        chain: list[str] = []
        inner: ast.expr = node
        while isinstance(inner, ast.Attribute):
            chain.insert(0, inner.attr)
            inner = inner.value
        return {(inner.id, *chain)} if isinstance(inner, ast.Name) else _free(inner)
    if isinstance(node, ast.Name):
        return {(node.id,)} if isinstance(node.ctx, ast.Load) else set()
    found = {chain for child in _code_parts(node) for chain in _free(child)}
    if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda | _Comprehension):
        local = _local(node)
        found = {chain for chain in found if chain[0] not in local}
    return found


def _local(scope: ast.AST) -> set[str]:
    """Name what is local in a function or a comprehension."""
    if isinstance(scope, _Comprehension):
        nodes = [node for part in scope.generators for node in ast.walk(part.target)]
        return {node.id for node in nodes if isinstance(node, ast.Name)}
    assert isinstance(scope, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda)
    names = {node.arg for node in ast.walk(scope.args) if isinstance(node, ast.arg)}
    shared: set[str] = set()
    for statement in [] if isinstance(scope, ast.Lambda) else scope.body:
        for node in _own_scope(statement):
            if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
                names.add(node.id)
            elif isinstance(node, _Definition):
                names.add(node.name)
            elif isinstance(node, ast.Global | ast.Nonlocal):
                shared |= set(node.names)
    return names - shared


def _code_parts(node: ast.AST) -> Iterator[ast.AST]:
    """Give the parts of a node that run."""
    for _, value in _fields(node):
        items = value if isinstance(value, list) else [value]
        yield from (item for item in items if isinstance(item, ast.AST))


def _fields(node: ast.AST) -> Iterator[tuple[str, Any]]:
    """Give the fields of a node that count as code: neither annotations nor docstrings."""
    for field, value in ast.iter_fields(node):
        if field in _SILENT and not (field == "annotation" and isinstance(node, ast.AnnAssign)):
            continue
        if field == "body" and isinstance(value, list):
            value = without_docstring(value)
        if value is not None and value != []:
            yield field, value


def without_docstring(body: list[Any]) -> list[Any]:
    """Give the statements of a body after its docstring."""
    first = body[0] if body else None
    if isinstance(first, ast.Expr) and isinstance(first.value, ast.Constant):
        return body[1:] if isinstance(first.value.value, str) else body
    return body


def code_text(node: Any, shown: str, is_check: bool, is_message: bool = False) -> str:
    """Write a node down, the same in every version of Python, without what only readers see.

    Parameters
    ----------
    node : a node of ``ast``, or what stands in one of its fields
    shown : str, words that readers were shown: of these a message counts
    is_check : bool, whether it is a check of an exercise, whose sentences are messages
    """
    if isinstance(node, list):
        return "[" + ",".join(code_text(item, shown, is_check, is_message) for item in node) + "]"
    if not isinstance(node, ast.AST):
        return repr(node)
    is_message = is_message or _is_message(node, is_check)
    if isinstance(node, ast.Constant):
        silent = is_message and isinstance(node.value, str) and node.value.strip() not in shown
        return "''" if silent else repr(node.value)
    parts = [
        f"{field}={code_text(value, shown, is_check, is_message)}" for field, value in _fields(node)
    ]
    return f"{type(node).__name__}({', '.join(parts)})"


def _is_message(node: ast.AST, is_check: bool) -> bool:
    """Say whether the words in a node are for readers: of an error, or of a check's answer."""
    if isinstance(node, ast.Raise):
        return True
    if isinstance(node, ast.Call):
        return _root(node.func).endswith(("Error", "Exit"))
    if is_check and isinstance(node, ast.JoinedStr) and node.values:
        return _is_sentence(node.values[-1])
    return is_check and _is_sentence(node) and " " in str(getattr(node, "value", ""))


def _is_sentence(node: ast.AST) -> bool:
    return isinstance(node, ast.Constant) and str(node.value).endswith(".")
