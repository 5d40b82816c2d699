"""Which edits make which chapters and kept results stale: each is made in a copy of the sources."""

import copy
import shutil

import nbformat
import pytest

from tools.notebooks import ROOT, chapters
from tools.stamp import code_cells, file_hashes, hashes, kept_code

NOTEBOOKS = {path.stem: nbformat.read(path, as_version=4) for path in chapters([])}


def state(root):
    """What each chapter was made of, and each function whose results a chapter keeps."""
    made = {name: file_hashes(nb, root) for name, nb in NOTEBOOKS.items()}
    kept = {}
    for name, nb in NOTEBOOKS.items():
        if any("run_all(" in cell.source for cell in code_cells(nb)):
            kept |= {(name, run): code for run, code in kept_code(nb, root).items()}
    return made, kept


@pytest.fixture(scope="module")
def copied(tmp_path_factory):
    """A copy of the sources, and its state."""
    root = tmp_path_factory.mktemp("course")
    for folder in ("utils", "chapters", "exercises", "benchmarks"):
        shutil.copytree(ROOT / folder, root / folder)
    for folder in ("notebooks/results", "book/_static/drawings"):
        shutil.copytree(ROOT / folder, root / folder)
    return root, state(root)


@pytest.fixture
def stale_after(copied):
    """Give the chapters and the functions of kept results that an edit makes stale."""
    root, before = copied
    undo = []

    def edit(file, old, new):
        path = root / file
        text = path.read_text(encoding="utf-8") if path.is_file() else None
        undo.append((path, text))
        assert old in (text or "")
        path.write_text((text or "").replace(old, new, 1) if old else new, encoding="utf-8")
        chapters, kept = (
            {name for name in was if was[name] != now[name]}
            for was, now in zip(before, state(root), strict=True)
        )
        return {name[:2] for name in chapters}, {(name[:2], run) for name, run in kept}

    yield edit
    for path, text in undo:
        path.unlink() if text is None else path.write_text(text, encoding="utf-8")


MASKS, SHOWN = "utils/attention.py", "chapters/live/mask.py"
LOOP = "book/_static/drawings/loop.svg"


@pytest.mark.parametrize(
    ("file", "old", "new", "stale"),
    [
        pytest.param("utils/refusals.py", "must be a positive number", "thus", set(), id="error"),
        pytest.param(MASKS, "Allow what both", "Permit what both", set(), id="docstring"),
        pytest.param(MASKS, "import torch\n", "import torch  # it\n", set(), id="comment"),
        pytest.param("utils/new.py", "", "def new():\n    return 1\n", set(), id="module"),
        pytest.param("chapters/live/mask.js", "1", "2", {"05"}, id="script"),
        pytest.param(
            SHOWN, "arange(T) >= length", "arange(T) >= 1 * length", {"05"}, id="live figure"
        ),
        pytest.param(LOOP, "head 0", "head 1", {"03"}, id="drawing"),
        pytest.param("exercises/ch04.py", "split(x, H)", "split(x, 1 * H)", {"04"}, id="exercise"),
        pytest.param(
            "chapters/ch05_grids.py", "return", "return None or", {"05"}, id="module of one"
        ),
        pytest.param("chapters/ch13_talk.py", "return", "return 0,", {"13"}, id="worker"),
    ],
)
def test_an_edit_makes_stale_what_it_is_part_of(stale_after, file, old, new, stale):
    chapters, kept = stale_after(file, old, new)
    assert chapters == stale
    assert {name for name, _ in kept} <= stale


def test_the_body_of_causal_mask_makes_all_stale_that_import_it(stale_after):
    chapters, kept = stale_after(MASKS, ".tril(start)", ".tril(start + 0)")
    assert {"05", "07", "13", "17"} <= chapters
    assert not {"01", "02", "A1"} & chapters  # the last makes its own
    assert {("09", "run_recall"), ("A3", "run_heads")} <= kept


def test_prose_makes_nothing_stale_and_a_cell_its_chapter(copied):
    root, (made, _) = copied
    name = next(iter(NOTEBOOKS))
    nb = copy.deepcopy(NOTEBOOKS[name])
    for cell in nb.cells:
        cell.source += " And more." if cell.cell_type == "markdown" else ""
    assert hashes(nb, name, root) | {"files": made[name]} == hashes(NOTEBOOKS[name], name, root)
    code_cells(nb)[0].source += "\n1"
    assert hashes(nb, name, root)["cells"] != hashes(NOTEBOOKS[name], name, root)["cells"]


def test_kept_results_depend_on_what_leads_to_their_function():
    def code(cell):
        nb = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(cell)])
        return kept_code(nb, ROOT)["run"]

    program = "x = 1\ny = [x]\ny[0] = 2\nz = 3\ndef run(seed):\n    z = seed\n    return y, z"
    assert code(program) == code(program.replace("z = 3", "z = 4"))  # its own z is another
    for old, new in (("x = 1", "x = 5"), ("y[0] = 2", "y[0] = 5"), ("z = seed", "z = -seed")):
        assert code(program) != code(program.replace(old, new))
