"""What a piece of code reaches: the functions, classes and values that it may run, each hashed.

The sources are read, never run. From the names in the code it goes to what they stand for, in the
code itself and in this package, from there to the names in those, and so on. A hash leaves out what
is said to readers alone: comments, docstrings, annotations of functions, the layout, and the words
of error messages and of checks' answers, unless they are among the words that were ``shown``.

A class is taken whole, and so is a module that is used as a value. A name stands for what the
statements before made of it: the last that binds it, and those after that change it by an item, an
attribute or a method. Two things are not seen: what a string names, as ``getattr`` does, and what a
function does to a value that it is given.
"""

from __future__ import annotations

import ast
import hashlib
import inspect
import sys
from collections.abc import Iterable, Iterator
from functools import cache, cached_property
from pathlib import Path
from typing import Any

from utils.training.syntax import Chain, bound_names, code_text, read_names, without_docstring

PACKAGES = ("utils", "benchmarks")
MAIN = "__main__"
IMPORTED = "(on import)"  # stands for the statements of a module that bind no name

Place = tuple[str, str, int]  # a module, a name in it, and the statement before which it is read


def reached(
    main: str, root: Path, names: Iterable[str] | None = None, shown: str = ""
) -> dict[str, str]:
    """Hash everything that a program reaches.

    Parameters
    ----------
    main : str, the source of the program, such as the code cells of a chapter
    root : Path, the folder that holds the packages
    names : the names in ``main`` to start from; None means all of ``main``
    shown : str, words that readers were shown, so that a message among them counts

    Returns
    -------
    dict from the dotted name of each definition, those of ``main`` under ``__main__``, to its hash

    Raises
    ------
    SyntaxError
        if a source is no Python
    """
    program = _Program(main, root)
    end = len(program.module(MAIN).statements)
    waiting: list[Place] = [(MAIN, name, end) for name in names or ()]
    if names is None:
        waiting = [(MAIN, "", place) for place in range(end)]
    seen: set[tuple[str, int, int]] = set()
    texts: dict[str, set[str]] = {}
    while waiting:
        module, name, before = waiting.pop()
        source = program.module(module)
        for number in source.bindings(name, before) if name else [before]:
            # A function's names mean what they mean where it is called, a value's where it is made.
            at = before if source.is_definition(number) else number
            texts.setdefault(f"{module}.{name}", set()).add(source.text(number, shown))
            if (module, number, at) not in seen:
                seen.add((module, number, at))
                for chain in source.reads(number):
                    waiting += program.resolve(module, chain, at)
    return {
        name: hashlib.sha256("\n".join(sorted(found)).encode()).hexdigest()[:16]
        for name, found in sorted(texts.items())
    }


def code_hash(*things: Any) -> str:
    """Hash functions or classes and everything that they reach (see ``reached``).

    Raises
    ------
    ValueError
        if one was not defined at the top level of a module or of a notebook, or its source is
        not at hand
    """
    parts = [_reached_from(thing, Path(__file__).resolve().parents[2]) for thing in things]
    return digest({name: value for part in parts for name, value in part.items()})


def digest(hashes: dict[str, str]) -> str:
    """Give one hash of many."""
    return hashlib.sha256(repr(sorted(hashes.items())).encode()).hexdigest()[:16]


def _reached_from(thing: Any, root: Path) -> dict[str, str]:
    name, module = thing.__qualname__, thing.__module__
    if module == MAIN and (shell := _shell()):
        source = cells_source(shell.user_ns["In"])
    else:
        source = inspect.getsource(sys.modules[module])
    found = reached(source, root, [name])
    if f"{MAIN}.{name}" not in found:
        raise ValueError(
            f"{name} is not defined at the top level of {module}, so what it reaches cannot be "
            "followed; define it there, with `def` or `class`."
        )
    return found


def _shell() -> Any:
    """Give the running IPython, if there is one."""
    return sys.modules["IPython"].get_ipython() if "IPython" in sys.modules else None


def cells_source(cells: Iterable[str]) -> str:
    """Write the code cells of a notebook as one Python program; ``%pip`` and the like are calls."""
    return "\n".join(map(_cell_source, cells))


@cache
def _cell_source(cell: str) -> str:
    from IPython.core.inputtransformer2 import TransformerManager

    source = TransformerManager().transform_cell(cell)
    try:
        ast.parse(source)
    except SyntaxError:  # a cell that is no Python ran nothing
        return ""
    return source


class _Module:
    """The statements of a source, in order: what each binds, reads and imports."""

    def __init__(self, name: str, source: str, is_package: bool) -> None:
        self.name, self.is_package = name, is_package
        self.tree = ast.parse(source)
        body = without_docstring(self.tree.body)
        self.statements = [s for s in body if not isinstance(s, ast.Import | ast.ImportFrom)]
        self._reads: dict[int, set[Chain]] = {}
        self._texts: dict[tuple[int, str], str] = {}

    @cached_property
    def bound(self) -> dict[str, list[tuple[int, bool]]]:
        """Where each name is bound or changed, and whether what it was before is gone then.

        The statements that bind nothing, which run when the module is imported, are under
        IMPORTED.
        """
        found: dict[str, list[tuple[int, bool]]] = {}
        for number, statement in enumerate(self.statements):
            for name, is_new in bound_names(statement).items() or [(IMPORTED, False)]:
                if is_new or name not in self.imports:  # calling an import does not change it
                    found.setdefault(name, []).append((number, is_new))
        return found

    def bindings(self, name: str, before: int) -> Iterator[int]:
        """Number the statements that made what a name stands for before a statement."""
        for number, is_new in reversed(self.bound.get(name, ())):
            if number < before:
                yield number
                if is_new:
                    return

    def is_definition(self, number: int) -> bool:
        return isinstance(self.statements[number], ast.FunctionDef | ast.ClassDef)

    def reads(self, number: int) -> set[Chain]:
        if number not in self._reads:
            self._reads[number] = read_names(self.statements[number])
        return self._reads[number]

    def text(self, number: int, shown: str) -> str:
        if (number, shown) not in self._texts:
            is_check = self.name.startswith("utils.checks")
            self._texts[number, shown] = code_text(self.statements[number], shown, is_check)
        return self._texts[number, shown]

    @cached_property
    def imports(self) -> dict[str, set[Chain]]:
        """What the imported names stand for, wherever in the source they are imported."""
        found: dict[str, set[Chain]] = {}
        for node in ast.walk(self.tree):
            if isinstance(node, ast.Import):
                for alias in node.names:
                    path = tuple(alias.name.split("."))
                    name, target = (alias.asname, path) if alias.asname else (path[0], path[:1])
                    found.setdefault(name, set()).add(target)
            elif isinstance(node, ast.ImportFrom):
                base = tuple(node.module.split(".")) if node.module else ()
                if node.level:
                    above = self.name.split(".")[: None if self.is_package else -1]
                    base = (*above[: len(above) - node.level + 1], *base)
                for alias in node.names:
                    target = base if alias.name == "*" else (*base, alias.name)
                    found.setdefault(alias.asname or alias.name, set()).add(target)
        return found


_module = cache(_Module)  # the chapters of a book reach the same modules


class _Program:
    """A main program and the packages that it may import."""

    def __init__(self, main: str, root: Path) -> None:
        self.root = root
        self.modules = {MAIN: _Module(MAIN, main, False)}

    def module(self, name: str) -> _Module:
        if name not in self.modules:
            file = self._file(name)
            assert file is not None  # only names of files that are there are followed
            is_package = file.name == "__init__.py"
            self.modules[name] = _module(name, file.read_text(encoding="utf-8"), is_package)
        return self.modules[name]

    def resolve(self, module: str, chain: Chain, before: int | None = None) -> Iterator[Place]:
        """Say what a chain of names stands for that is read in a module before a statement."""
        name, attributes = chain[0], chain[1:]
        here = self.module(module)
        if name in here.bound:
            yield module, name, len(here.statements) if before is None else before
        stars = {(*base, name) for base in here.imports.get("*", ())}
        for target in here.imports.get(name, stars):
            yield from self._follow((*target, *attributes))

    def _follow(self, path: Chain) -> Iterator[Place]:
        """Follow a dotted path from a package down to a definition."""
        if path[0] not in PACKAGES or self._file(path[0]) is None:
            return
        end = 1
        while end < len(path) and self._file(".".join(path[: end + 1])):
            end += 1
        for part in range(1, end + 1):  # importing it runs what stands in it and around it
            module = self.module(".".join(path[:part]))
            yield module.name, IMPORTED, len(module.statements)
        names = path[end : end + 1] or (*module.bound, *module.imports)  # or all, for a value
        for name in names:
            yield from self.resolve(module.name, (name, *path[end + 1 :]))

    def _file(self, module: str) -> Path | None:
        path = self.root.joinpath(*module.split("."))
        for file in (path / "__init__.py", path.with_name(f"{path.name}.py")):
            if file.is_file():
                return file
        return None
