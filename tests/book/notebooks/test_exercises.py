"""Every exercise: its check refuses the stub and accepts the solution.

An appendix (its file's name starts with A and a number) has no exercises.
"""

import ast
import re

import nbformat
import pytest

from tools.notebooks import chapters

LESSONS = [path for path in chapters([]) if not re.match(r"A\d", path.stem)]
STEPS = {"exercise": "Not yet", "solution": "Right"}  # what the check says after a cell of this tag


def run(source, namespace):
    """Execute a cell; give the value of its last expression."""
    *body, last = ast.parse(source).body
    exec(compile(ast.Module(body, []), "cell", "exec"), namespace)
    if isinstance(last, ast.Expr):
        return eval(compile(ast.Expression(last.value), "cell", "eval"), namespace)
    exec(compile(ast.Module([last], []), "cell", "exec"), namespace)
    return None


def tagged(nb):
    """Give tag and source of the cells of the exercises, in their order."""
    for cell in nb.cells:
        for tag in cell.metadata.get("tags", []):
            if tag in {*STEPS, "check"}:
                yield tag, cell.source


@pytest.mark.parametrize("path", LESSONS, ids=lambda path: path.stem)
def test_checks_refuse_the_stub_and_accept_the_solution(path):
    nb = nbformat.read(path, as_version=4)
    imports = [c.source for c in nb.cells if c.cell_type == "code" and "import torch" in c.source]
    namespace = {}
    run(imports[0], namespace)
    steps = list(tagged(nb))
    assert [tag for tag, _ in steps] == ["exercise", "check", "solution"] * (len(steps) // 3)
    assert steps, "a chapter has exercises"
    for tag, source in steps:
        said = run(source, namespace)
        if tag != "exercise":
            expected = STEPS["exercise"] if tag == "check" else STEPS["solution"]
            assert said.startswith(expected), f"{said}\n{source}"
