"""The address of the course is the same everywhere, and one command moves all of it."""

import shutil

import nbformat
import pytest

from tools.address import PLACES, ROOT, addresses, move, slug
from tools.stamp import cells_hash

NEW = "https://github.com/ann-o/attention"


@pytest.fixture
def copy(tmp_path):
    """A copy of all files of the course that may name its address."""
    for pattern in PLACES:
        for path in filter(lambda p: p.is_file(), ROOT.glob(pattern)):
            target = tmp_path / path.relative_to(ROOT)
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(path, target)
    return tmp_path


def contents(root):
    return {path: path.read_bytes() for path in sorted(root.rglob("*")) if path.is_file()}


def test_every_place_names_the_address_of_the_configuration():
    assert {name: found for name, found in addresses() if found != slug()} == {}


def test_the_places_that_must_name_it_do():
    naming = {name for name, _ in addresses()}
    chapters = {f"notebooks/{path.name}" for path in (ROOT / "notebooks").glob("*.ipynb")}
    assert naming >= {"_config.yml", "README.md", "CITATION.cff", "pyproject.toml"} | chapters


def test_an_address_that_differs_is_seen(copy):
    readme = copy / "README.md"
    readme.write_text(readme.read_text().replace(slug(), "somebody/else"))
    assert ("README.md", "somebody/else") in set(addresses(copy))


@pytest.mark.slow
def test_moving_there_and_back_changes_everything_and_then_nothing(copy):
    before, old = contents(copy), slug(copy)
    assert move(NEW, copy)
    assert {found for _, found in addresses(copy)} == {"ann-o/attention"}
    left = [path for path, data in contents(copy).items() if old.encode() in data]
    assert left == []
    move(f"https://github.com/{old}.git", copy)
    assert contents(copy) == before


def test_a_moved_chapter_keeps_its_stamp_valid_or_stale(copy):
    (copy / "notebooks").mkdir(exist_ok=True)
    for name, honest in (("90-valid", True), ("91-stale", False)):
        source = f'%pip install "git+https://github.com/{slug(copy)}.git"'
        nb = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(source)])
        nb.metadata["course"] = {"cells": cells_hash(nb) if honest else "0" * 64}
        nbformat.write(nb, copy / "notebooks" / f"{name}.ipynb")
    move(NEW, copy)
    for name, honest in (("90-valid", True), ("91-stale", False)):
        nb = nbformat.read(copy / "notebooks" / f"{name}.ipynb", as_version=4)
        assert "git+https://github.com/ann-o/attention.git" in nb.cells[0].source
        assert (nb.metadata["course"]["cells"] == cells_hash(nb)) is honest


@pytest.mark.parametrize(
    "url",
    [
        "",
        "ann/attention",
        "http://github.com/ann/attention",
        "https://github.com/ann",
        "https://github.com/ann/attention/tree/main",
        "https://github.com/ann/ann.github.io",
    ],
)
def test_what_is_no_address_is_refused_and_changes_nothing(copy, url):
    before = contents(copy)
    with pytest.raises(SystemExit, match="is not the address of a repository"):
        move(url, copy)
    assert contents(copy) == before
