"""The set-up cell of each chapter works as it would in an empty Colab runtime.

As near as can be had without Colab: a new environment that holds torch, JAX, Keras and a kernel
and nothing else of ours, away from the checkout. One kernel runs the set-up cells of all chapters,
each in a folder of its own and without the names of the one before; each way of installing is run
once, with the package away. It must bring the course's package and leave torch alone. The
repository's address is replaced by a clone of the checkout's last commit, and the kept results of a
chapter are fetched from the checkout. Where COLAB_FULL names a chapter ("07 10", or "all"),
all of it is then run, in a kernel of its own.
"""

import os
import re
import subprocess
import tomllib
import venv
from pathlib import Path

import nbformat
import pytest
import yaml
from nbformat.v4 import new_code_cell, new_notebook

from tools.notebooks import ROOT, chapters

pytestmark = [pytest.mark.colab, pytest.mark.xdist_group("colab")]
URL = yaml.safe_load((ROOT / "_config.yml").read_text(encoding="utf-8"))["repository"]["url"]
PACKAGE = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["name"]
ADDRESS = f"git+{URL}.git"
TAG = r"(?:main|v[\d.]+)"
# What is fetched: the package, of a tag too and with an extra, and the kept results.
INSTALLED = rf'"(?:{PACKAGE}(\[[\w,]+\]) @ )?{re.escape(ADDRESS)}(?:@{TAG})?"'
RESULTS = rf"{re.escape(URL)}/raw/{TAG}/"
FULL = os.environ.get("COLAB_FULL", "").split()
OURS = ("utils", "chapters", "exercises")
AWAY = f"""%pip uninstall --quiet --yes {PACKAGE}
import sys
for name in [name for name in sys.modules if name.partition(".")[0] in {OURS}]:
    del sys.modules[name]"""
BEGIN = """%reset -f
import os
os.makedirs({0!r})
os.chdir({0!r})"""
REPORT = "import utils; print(utils.__file__)"


def in_folder(folder: Path, *command: object) -> str:
    """Run a command that knows nothing of the checkout or of this environment."""
    clean = {k: v for k, v in os.environ.items() if k not in ("PYTHONPATH", "VIRTUAL_ENV")}
    done = subprocess.run(
        [str(part) for part in command],
        cwd=folder,
        env=clean,
        text=True,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
    )
    assert done.returncode == 0, done.stdout[-3000:]
    return done.stdout


def torch_files(environment: Path) -> dict[str, int]:
    """When each file of the installed torch was last written."""
    found = environment.rglob("site-packages/torch*/*")
    return {str(path): path.stat().st_mtime_ns for path in found if path.is_file()}


@pytest.fixture(scope="module")
def runtime(tmp_path_factory):
    """An environment with a kernel, torch, JAX and Keras; what Colab has besides is not needed."""
    environment = tmp_path_factory.mktemp("colab") / "runtime"
    venv.create(environment, with_pip=True)
    packages = ("ipykernel", "nbclient", "torch", "jax", "keras")
    pins = ("-c", ROOT / "constraints.txt")
    in_folder(environment, environment / "bin" / "pip", "install", "-qq", *pins, *packages)
    return environment


@pytest.fixture(scope="module")
def course(tmp_path_factory):
    """The last commit, in a folder of its own, from which the package is installed."""
    folder = tmp_path_factory.mktemp("clone") / "course"
    subprocess.run(["git", "clone", "--quiet", ROOT, folder], check=True)
    return folder


def cells_of(path: Path, course: Path) -> tuple[list, int]:
    """The cells of a chapter and the place of its set-up cell, which asks the checkout."""
    cells = nbformat.read(path, as_version=4).cells
    (number,) = [n for n, cell in enumerate(cells) if ADDRESS in cell.source]
    source = re.sub(INSTALLED, rf'"{course}\1"', cells[number].source)
    cells[number].source = re.sub(RESULTS, f"{ROOT.as_uri()}/", source)
    return cells, number


def execute(runtime: Path, folder: Path, cells: list) -> nbformat.NotebookNode:
    """Run these cells in the environment and give the notebook that comes out."""
    before, after = folder / "before.ipynb", folder / "after.ipynb"
    nbformat.write(new_notebook(cells=cells), before)
    jupyter = runtime / "bin" / "jupyter-execute"
    in_folder(folder, jupyter, "--timeout=900", "--output", after, before)
    return nbformat.read(after, as_version=4)


def test_set_up_cells_bring_the_package_and_leave_torch_alone(runtime, course, tmp_path):
    installed, cells = set(), []
    for path in chapters([]):
        source, number = cells_of(path, course)
        set_up = source[number].source
        code = re.sub(r"^#.*\n", "", set_up, flags=re.MULTILINE)
        way = re.match(r".*%pip[^\n]*", code, flags=re.DOTALL)[0]
        if way not in installed:
            cells.append(new_code_cell(AWAY))
        installed.add(way)
        cells.append(new_code_cell(BEGIN.format(str(tmp_path / path.stem))))
        cells.append(new_code_cell(f"# {path.stem}\n{set_up}"))
    before = torch_files(runtime)
    assert before

    nb = execute(runtime, tmp_path, [*cells, new_code_cell(REPORT)])

    assert Path(nb.cells[-1].outputs[-1].text.strip()).is_relative_to(runtime)
    assert torch_files(runtime) == before


@pytest.mark.parametrize(
    "path", [p for p in chapters([]) if {p.stem[:2], "all"} & {*FULL}], ids=lambda path: path.stem
)
def test_a_chapter_runs_from_its_first_cell_to_its_last(path, runtime, course, tmp_path):
    execute(runtime, tmp_path, cells_of(path, course)[0])
