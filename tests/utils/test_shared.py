"""``utils`` holds what is shared: two chapters use each public name, or a chapter and a benchmark.

They use it in their own words, in those of the files of ``chapters`` and ``exercises`` that they
import, or by another name of ``utils`` that is made of it.
"""

import ast
import re

import nbformat

from tools.notebooks import ROOT, chapters
from tools.stamp import cell_source, code_cells, imported

# Names of chapters that are not rewritten yet. A name leaves the list with its reason, and none
# is added: what one chapter alone uses stands in its cells, or in `chapters/chNN_idea.py`.
NOT_YET = {
    "utils.figures.STYLE",  # a benchmark
    # One idea in one file, beside the layer, for chapter 11.
    "utils.tiled.tiled_attention",
    # The colours of the page, card and e-book, which tools read: all colours stand in one file.
    "utils.palette.LOGO",
    "utils.palette.OTHERS",
    "utils.palette.PAGE",
}
SOURCES = {f"utils.{path.stem}": path.read_text("utf-8") for path in ROOT.glob("utils/*.py")}


def words(text):
    return set(re.findall(r"\w+", text))


def modules(text):
    """The modules of ``utils`` that a source imports."""
    own = {f"utils.{name}" for line in re.findall(r"from utils import (.+)", text)
           for name in words(line)}  # fmt: skip
    return own | set(re.findall(r"\butils\.\w+", text))


def names_of(target):
    return [node.id for node in ast.walk(target) if isinstance(node, ast.Name)]


def definitions():
    """The words of which each top-level name of ``utils`` is made, by module and name."""
    found = {}
    for module, text in SOURCES.items():
        for node in ast.parse(text).body:
            if isinstance(node, ast.FunctionDef | ast.ClassDef):
                names = [node.name]
            elif isinstance(node, ast.Assign | ast.AnnAssign):
                targets = node.targets if isinstance(node, ast.Assign) else [node.target]
                names = [name for target in targets for name in names_of(target)]
            else:
                continue
            found |= {(module, name): words(ast.unparse(node)) for name in names}
    return found


MADE_OF = definitions()


def used(texts):
    """The names that sources use, by an import of their module, and those that these use."""
    found, waiting = set(), []
    for text in texts:
        near, said = modules(text), words(text)
        waiting += [each for each in MADE_OF if each[0] in near and each[1] in said]
    while waiting:
        if (each := waiting.pop()) not in found:
            found.add(each)
            near = {each[0]} | modules(SOURCES[each[0]])
            waiting += [e for e in MADE_OF if e[0] in near and e[1] in MADE_OF[each]]
    return found


def users():
    """What each chapter uses, and what the benchmarks do."""
    for path in chapters([]):
        cells = code_cells(nbformat.read(path, as_version=4))
        program = "\n".join(map(cell_source, cells))
        own = (p for p in imported(program, ROOT) if ROOT / "utils" not in p.parents)
        yield used([program, *(p.read_text("utf-8") for p in own if p.suffix == ".py")])
    # Not through the files of a chapter: what these use, one chapter uses.
    yield used(path.read_text("utf-8") for path in ROOT.glob("benchmarks/*.py"))


def test_a_public_name_is_used_by_two_chapters_or_by_a_chapter_and_a_benchmark():
    every = list(users())
    alone = {
        ".".join(each)
        for each in MADE_OF
        if not each[1].startswith("_") and sum(each in found for found in every) < 2
    }
    assert sorted(alone - NOT_YET) == [], "move them to the chapter that uses them, or remove them"
    assert sorted(NOT_YET - alone) == [], "take them from the list: they are shared, or gone"


def test_utils_is_one_level_deep():
    assert list((ROOT / "utils").glob("*/__init__.py")) == []
