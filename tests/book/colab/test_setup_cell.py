"""The set-up cell of each chapter works as it would in an empty Colab runtime.

As near as can be had without Colab: a new environment that holds torch, JAX, Keras and a kernel
and nothing else of ours, away from the checkout. The set-up cell must bring the course's package
and leave torch alone; the repository's address is replaced by the checkout, whose last commit is
installed, and from which the kept results of a chapter are fetched. Where COLAB_FULL names the
chapter ("07 10", or "all"), the rest of it is then run as well.
"""

import os
import subprocess
import venv
from pathlib import Path

import nbformat
import pytest
import yaml
from nbformat.v4 import new_code_cell, new_notebook

from tools.notebooks import ROOT, chapters

pytestmark = pytest.mark.colab
URL = yaml.safe_load((ROOT / "_config.yml").read_text(encoding="utf-8"))["repository"]["url"]
ADDRESS = f"git+{URL}.git"
FILES = f"{URL}/raw/main/"
REPORT = "import torch, utils; print(torch.__version__, utils.__file__)"


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


def execute(runtime: Path, folder: Path, cells: list) -> nbformat.NotebookNode:
    """Run these cells in the environment and give the notebook that comes out."""
    before, after = folder / "before.ipynb", folder / "after.ipynb"
    nbformat.write(new_notebook(cells=cells), before)
    jupyter = runtime / "bin" / "jupyter-execute"
    in_folder(folder, jupyter, "--timeout=900", "--output", after, before)
    return nbformat.read(after, as_version=4)


@pytest.mark.parametrize("path", chapters([]), ids=lambda path: path.stem)
def test_set_up_cell_brings_the_package_and_leaves_torch_alone(path, runtime, tmp_path):
    cells = nbformat.read(path, as_version=4).cells
    (number,) = [n for n, cell in enumerate(cells) if ADDRESS in cell.source]
    for address, here in ((ADDRESS, f"git+{ROOT.as_uri()}"), (FILES, f"{ROOT.as_uri()}/")):
        cells[number].source = cells[number].source.replace(address, here)
    before = torch_files(runtime)
    assert before

    nb = execute(runtime, tmp_path, [cells[number], new_code_cell(REPORT)])

    version, where = nb.cells[-1].outputs[-1].text.split(maxsplit=1)
    assert version.startswith("2.13.0")
    assert Path(where.strip()).is_relative_to(runtime)
    assert torch_files(runtime) == before

    if {path.stem[:2], "all"} & set(os.environ.get("COLAB_FULL", "").split()):
        execute(runtime, tmp_path, cells)
