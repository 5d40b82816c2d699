"""Which edits make which chapters stale: each is made in a copy of the package."""

import copy
import shutil

import nbformat
import pytest

from tools.notebooks import ROOT, chapters
from tools.stamp import cells_hash, kept_results, utils_hashes

NOTEBOOKS = {path.stem: nbformat.read(path, as_version=4) for path in chapters([])}


def state(root):
    """What each chapter reaches, and what made each file of kept results."""
    reached = {name: utils_hashes(nb, root) for name, nb in NOTEBOOKS.items()}
    kept: dict[str, str] = {}
    for nb in NOTEBOOKS.values():
        kept |= kept_results(nb, root)
    return reached, kept


@pytest.fixture(scope="module")
def before():
    return state(ROOT)


@pytest.fixture
def stale_after(before, tmp_path):
    """Give the chapters and the kept results that an edit of a module makes stale."""

    def edit(file, old, new):
        shutil.copytree(ROOT / "utils", tmp_path / "utils")
        path = tmp_path / "utils" / file
        text = path.read_text(encoding="utf-8") if path.is_file() else ""
        assert old in text
        path.write_text(text.replace(old, new, 1) if old else new, encoding="utf-8")
        pairs = zip(before, state(tmp_path), strict=True)
        return tuple({name for name in was if was[name] != now[name]} for was, now in pairs)

    return edit


@pytest.mark.slow
@pytest.mark.parametrize(
    ("file", "old", "new"),
    [
        pytest.param(
            "checks/mistakes.py", "the scale is missing", "there is no scale", id="answer"
        ),
        pytest.param("attention/masks.py", "they count keys, so", "that is why,", id="error"),
        pytest.param("attention/masks.py", "padding.", "filling.", id="docstring"),
        pytest.param("attention/masks.py", "import torch\n", "import torch  # it\n", id="comment"),
        pytest.param("new.py", "", "def new():\n    return 1\n", id="module"),
    ],
)
def test_what_nobody_runs_makes_no_chapter_stale(stale_after, file, old, new):
    assert stale_after(file, old, new) == (set(), set())


def test_a_markdown_cell_makes_no_chapter_stale(before):
    nb = copy.deepcopy(NOTEBOOKS["03-masks"])
    for cell in nb.cells:
        if cell.cell_type == "markdown":
            cell.source += " And more."
    assert cells_hash(nb) == cells_hash(NOTEBOOKS["03-masks"])
    assert utils_hashes(nb, ROOT) == before[0]["03-masks"]


@pytest.mark.slow
def test_the_body_of_causal_mask_makes_all_stale_that_reach_it(stale_after, before):
    stale, kept = stale_after("attention/masks.py", ".tril(start)", ".tril(start + 0)")
    name = "utils.attention.masks.causal_mask"
    assert stale == {chapter for chapter, reached in before[0].items() if name in reached}
    assert {"03-masks", "08-bbc-news-classifier", "17-encoder-decoder"} <= stale
    assert "A1-four-libraries" not in stale  # it has NumPy's own
    assert kept == set(before[1])  # they are all of the course's own layers
