"""A release writes its version everywhere or nowhere, and tags what it has written."""

import subprocess

import nbformat
import pytest
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook

from tools.release import FILES, ROOT, release

COURSE = "https://github.com/a/course"


def git(root, *command):
    done = subprocess.run(["git", *command], cwd=root, capture_output=True, text=True, check=True)
    return done.stdout.strip()


@pytest.fixture
def root(tmp_path, monkeypatch):
    """A clone with the files of the course that name a version, and one notebook."""
    for name in ("AUTHOR", "COMMITTER"):
        monkeypatch.setenv(f"GIT_{name}_NAME", "A")
        monkeypatch.setenv(f"GIT_{name}_EMAIL", "a@example.org")
    for name in FILES:
        (tmp_path / name).write_text((ROOT / name).read_text())
    cells = [
        new_markdown_cell("[Open](https://colab.example/github/a/course/blob/main/notebooks/1)"),
        new_code_cell(
            f'%pip install "git+{COURSE}.git"\nget("{COURSE}/raw/main/notebooks/results")'
        ),
    ]
    (tmp_path / "notebooks").mkdir()
    nb = new_notebook(cells=cells, metadata={"course": {"cells": "old", "outputs": "kept"}})
    nbformat.write(nb, tmp_path / "notebooks" / "01.ipynb")
    git(tmp_path, "init", "--quiet", "--initial-branch=main")
    git(tmp_path, "add", "--all")
    git(tmp_path, "commit", "--quiet", "--message=all")
    return tmp_path


def test_a_release_and_the_next_stand_everywhere_and_are_tagged(root):
    release("7.0.0", root, ask=True)
    assert not git(root, "status", "--porcelain")
    release("7.0.0", root)
    release("7.0.1", root)
    assert git(root, "tag").split() == ["v7.0.0", "v7.0.1"]
    assert git(root, "log", "-1", "--format=%s") == "release: 7.0.1"
    assert not git(root, "status", "--porcelain")
    assert 'version = "7.0.1"' in (root / "pyproject.toml").read_text()
    assert "\nversion: 7.0.1\n" in (root / "CITATION.cff").read_text()
    changes = (root / "CHANGELOG.md").read_text()
    assert changes.index("## Unreleased") < changes.index("## 7.0.1, 2") < changes.index("## 7.0.0")
    nb = nbformat.read(root / "notebooks" / "01.ipynb", as_version=4)
    assert "blob/v7.0.1/notebooks" in nb.cells[0].source
    assert nb.cells[1].source == (
        f'%pip install "git+{COURSE}.git@v7.0.1"\nget("{COURSE}/raw/v7.0.1/notebooks/results")'
    )
    assert nb.metadata.course.cells != "old", "the set-up is other code now, its outputs are not"
    assert nb.metadata.course.outputs == "kept"


def test_what_is_in_the_way_is_said_and_nothing_is_changed(root):
    for version, message in [("1", "three numbers"), ("0.0.1", "does not come after")]:
        with pytest.raises(SystemExit, match=message):
            release(version, root)
    (root / "CHANGELOG.md").write_text("# Changes\n")
    with pytest.raises(SystemExit, match="not clean"):
        release("7.0.0", root)
    git(root, "commit", "--all", "--quiet", "--message=changes")
    with pytest.raises(SystemExit, match=r"CHANGELOG\.md has no place"):
        release("7.0.0", root)
    git(root, "checkout", "--quiet", "-b", "other")
    with pytest.raises(SystemExit, match="on main"):
        release("7.0.0", root)
    assert not git(root, "status", "--porcelain")
    assert not git(root, "tag")
