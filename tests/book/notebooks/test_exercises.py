"""Every exercise: its check refuses the stub and accepts the solution.

What a chapter imports and its exercises do without is empty here: it may be missing, or be slow.
"""

import ast
import sys
from unittest.mock import MagicMock

import nbformat
import pytest

from tools.notebooks import chapters
from tools.stamp import cell_source

UNUSED = ["jax", "jax.numpy", "keras"]
STEPS = {"exercise": "Not yet", "solution": "Right"}  # what the check says after a cell of this tag


def run(cell, namespace):
    """Execute a cell; give the value of its last expression."""
    *body, last = ast.parse(cell_source(cell)).body
    exec(compile(ast.Module(body, []), "cell", "exec"), namespace)
    if isinstance(last, ast.Expr):
        return eval(compile(ast.Expression(last.value), "cell", "eval"), namespace)
    exec(compile(ast.Module([last], []), "cell", "exec"), namespace)
    return None


def tagged(nb):
    """Give tag and cell of the cells of the exercises, in their order.

    An experiment has no stub and no check, so its solution is not among them.
    """
    before = ""
    for cell in nb.cells:
        for tag in cell.metadata.get("tags", []):
            if tag in {"exercise", "check"} or (tag, before) == ("solution", "check"):
                yield tag, cell
            before = tag


@pytest.mark.parametrize("path", chapters([]), ids=lambda path: path.stem)
def test_checks_refuse_the_stub_and_accept_the_solution(path, monkeypatch):
    for name in UNUSED:
        monkeypatch.setitem(sys.modules, name, MagicMock())
    monkeypatch.setenv("KERAS_BACKEND", "jax")  # as appendix A1 does, but taken back
    monkeypatch.chdir(path.parent)  # where a chapter finds its kept results
    nb = nbformat.read(path, as_version=4)
    imports = [c for c in nb.cells if c.cell_type == "code" and "import torch" in c.source]
    namespace = {}
    run(imports[0], namespace)
    steps = list(tagged(nb))
    assert [tag for tag, _ in steps] == ["exercise", "check", "solution"] * (len(steps) // 3)
    assert steps, "a chapter has exercises"
    for tag, cell in steps:
        said = run(cell, namespace)
        if tag != "exercise":
            expected = STEPS["exercise"] if tag == "check" else STEPS["solution"]
            assert said.startswith(expected), f"{said}\n{cell.source}"
