"""``utils`` holds what is shared: two chapters use each public name, or a chapter and a benchmark.

They use it by an import, or by another name that they import: one of ``utils``, or of the files
that belong to a chapter, in ``chapters`` and ``exercises``.
"""

import ast
from collections import defaultdict

import nbformat
import pytest

from tools.notebooks import ROOT, chapters
from tools.stamp import cell_source, code_cells

# Names of chapters that are not rewritten yet. A name leaves the list with its reason, and none
# is added: what one chapter alone uses stands in its cells, or in `chapters/chNN_idea.py`.
NOT_YET = {
    "utils.figures.STYLE",  # a benchmark
    "utils.figures.plot_attention",  # chapter 3, since chapter 1 has arrows instead
    # One idea in one file, beside the layer: chapter 11 uses it as a whole, chapter 13 its parts.
    "utils.tiled.merge_attention",
    "utils.tiled.partial_attention",
    "utils.tiled.tiled_attention",
    # The colours of the page, card and e-book, which tools read: all colours stand in one file.
    "utils.palette.LOGO",
    "utils.palette.OTHERS",
    "utils.palette.PAGE",
}

PACKAGES = ("utils", "chapters", "exercises", "benchmarks")
Name = tuple[str, str]  # of a module, and of a thing in it; "" is all of the module


def imports(tree):
    """What each name stands for that a source imports from us, also in strings."""
    bound = {}
    for node in ast.walk(tree):
        match node:
            case ast.ImportFrom(module=str(module)) if module.split(".")[0] in PACKAGES:
                for alias in node.names:
                    bound[alias.asname or alias.name] = whole(module, alias.name)
            case ast.Constant(value=str(text)) if "import " in text and "\n" in text:
                try:
                    inside = imports(ast.parse(text))
                except SyntaxError:
                    continue
                bound |= {f"{name} in a string": thing for name, thing in inside.items()}
    return bound


def whole(module, name):
    return (f"{module}.{name}", "") if f"{module}.{name}" in TREES else (module, name)


def module_name(path):
    return ".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__")


def defined(tree):
    """What each top-level name of a module is made of."""
    for node in tree.body:
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            yield node.name, node
        elif isinstance(node, ast.Assign | ast.AnnAssign):
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            for name in (n for target in targets for n in ast.walk(target)):
                if isinstance(name, ast.Name):
                    yield name.id, node


TREES = {
    module_name(path): ast.parse(path.read_text(encoding="utf-8"))
    for package in PACKAGES
    for path in (ROOT / package).rglob("*.py")
}


def used_by_each() -> dict[Name, set[Name]]:
    """The things of ours that each thing of ours names; a whole module names all that it has."""
    uses: dict[Name, set[Name]] = defaultdict(set)
    for module, tree in TREES.items():
        bound, own = imports(tree), dict(defined(tree))
        uses[module, ""] = {(module, name) for name in own} | set(bound.values())
        for name, made in own.items():
            for node in ast.walk(made):
                if isinstance(node, ast.Name) and node.id in bound:
                    uses[module, name].add(bound[node.id])
                elif isinstance(node, ast.Name) and node.id in own:
                    uses[module, name].add((module, node.id))
    return uses


def reached(found: set[Name], uses: dict[Name, set[Name]], through: tuple[str, ...]) -> set[Name]:
    """What is used by these things, or by what they use."""
    seen, waiting = set(), list(found)
    while waiting:
        if (thing := waiting.pop()) not in seen:
            seen.add(thing)
            waiting += uses[thing] if thing[0].split(".")[0] in through else ()
    return seen


@pytest.fixture(scope="module")
def users():
    """The chapters that use each thing, and "a benchmark"."""
    uses, found = used_by_each(), defaultdict(set)
    for path in chapters([]):
        nb = nbformat.read(path, as_version=4)
        program = ast.parse("\n".join(map(cell_source, code_cells(nb))))
        asked = set(imports(program).values())
        for thing in reached(asked, uses, ("utils", "chapters", "exercises")):
            found[thing].add(path.stem[:2])
    for module, tree in TREES.items():
        if module.startswith("benchmarks"):
            # Not through the files of a chapter: what these use, one chapter uses.
            for thing in reached(set(imports(tree).values()), uses, ("utils",)):
                found[thing].add("a benchmark")
    return found


def public_names():
    for module, tree in TREES.items():
        if module.startswith("utils."):
            yield from {(module, n) for n, _ in defined(tree) if not n.startswith("_")}


def test_a_public_name_is_used_by_two_chapters_or_by_a_chapter_and_a_benchmark(users):
    alone = {f"{module}.{name}" for module, name in public_names() if len(users[module, name]) < 2}
    assert sorted(alone - NOT_YET) == [], "move them to the chapter that uses them, or remove them"
    assert sorted(NOT_YET - alone) == [], "take them from the list: they are shared, or gone"


def test_utils_is_one_level_deep():
    assert list((ROOT / "utils").glob("*/__init__.py")) == []
