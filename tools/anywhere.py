"""Run the fast tests in other surroundings, one after the other, and say how each run ended.

python -m tools.anywhere [NUMBER ...]
    All runs of the table below, or those with these numbers, counted from 1. What they need is
    installed into _build/anywhere, once. A run is not made, and has not failed, where the machine
    lacks its Python or pip finds no such PyTorch; where none was made, that is a failure.

Between them the runs have every Python, number of threads, set of instructions and build of PyTorch
that the table names, the oldest PyTorch that pyproject.toml allows, the newest release of every
package, and five seeds under which the tests explore: not every combination of these.
"""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

RUNS = [  # Python, build of PyTorch, instructions for its kernels, threads, seed to explore from
    ("3.11", "cpu", "default", 1, None),
    ("3.11", "cpu", "avx2", 4, None),
    ("3.11", "cpu", "", 2, 1),  # no name: the best that the processor has
    ("3.11", "cpu", "avx2", 1, 2),
    ("3.12", "oldest", "", 2, None),
    ("3.12", "oldest", "default", 1, 3),
    ("3.13", "as pinned", "", 4, 4),
    ("3.13", "as pinned", "avx2", 1, 5),
    ("3.13", "newest", "", 2, None),  # no pins: finds the package that answers differently now
    ("3.14", "as pinned", "", 2, None),
]
ROOT = Path(__file__).resolve().parents[1]
FOLDER = ROOT / "_build" / "anywhere"
FAST = "not slow and not processes and not browser and not colab and not ebook"
# Releases that belong to one release of PyTorch: another brings its own.
OF_TORCH = re.compile(r"(torch|triton|nvidia-[\w-]+|cuda-[\w-]+)\s*==")


def requirements(torch: str, project: str, constraints: str) -> tuple[list[str], list[str]]:
    """Give which PyTorch to install, and constraints, from the texts of the files that say so."""
    pins = [line for line in constraints.splitlines() if line and not line.startswith("#")]
    if torch == "newest":
        return [], []
    if torch == "oldest":
        (bound,) = re.findall(r'"torch>=(.+)"', project)
        return [f"torch=={bound}"], [pin for pin in pins if not OF_TORCH.match(pin)]
    (pinned,) = (pin for pin in pins if pin.startswith("torch=="))
    return [pinned + ("+cpu" if torch == "cpu" else "")], pins


def environment(python: str, torch: str) -> Path | None:
    """Give the interpreter of an environment for the tests; None where there can be none."""
    folder = FOLDER / f"{python}-{torch.replace(' ', '-')}"
    interpreter, made_of = folder / "bin" / "python", folder / "made-of"
    project, *files = ((ROOT / n).read_text("utf-8") for n in ("pyproject.toml", "constraints.txt"))
    wanted, pins = requirements(torch, project, *files)
    recipe = "\n".join([project, *wanted, *pins])
    if made_of.is_file() and made_of.read_text("utf-8") == recipe:
        return interpreter
    pyenv = Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv")) / "versions"
    installed = [f"python{python}", *map(str, pyenv.glob(f"{python}.*/bin/python"))]
    found = next(filter(None, map(shutil.which, installed)), None)
    if found is None:
        return None
    subprocess.run([found, "-m", "venv", "--clear", str(folder)], check=True)
    (folder / "pins.txt").write_text("\n".join(pins))
    pip = [str(interpreter), "-m", "pip", "install", "-qq", "-c", str(folder / "pins.txt")]
    if subprocess.run([*pip, *wanted, "-e", ".[dates,models,dev]"], cwd=ROOT).returncode:
        return None
    made_of.write_text(recipe, "utf-8")
    return interpreter


def main(numbers: list[int]) -> None:
    """Make the runs with these numbers; end with an error if one failed."""
    said = []
    for number in numbers or range(1, len(RUNS) + 1):
        python, torch, instructions, threads, seed = RUNS[number - 1]
        surroundings = {"OMP_NUM_THREADS": str(threads), "TEST_SEED": str(seed or 0)}
        surroundings |= {"ATEN_CPU_CAPABILITY": instructions} if instructions else {}
        explore = ["--hypothesis-profile=explore"] if seed else []
        if interpreter := environment(python, torch):
            command = [str(interpreter), "-m", "pytest", "-q", "-m", FAST, *explore]
            env = os.environ | surroundings
            code = subprocess.run(command, cwd=ROOT, env=env, check=False).returncode
            end = f"failed with {code}" if code else "passed"
        else:
            end = "not made"
        said.append(f"Run {number}, Python {python}, PyTorch {torch}, {surroundings}: {end}")
    print(*said, sep="\n")
    ends = [line.rpartition(": ")[2] for line in said]
    sys.exit(any("failed" in end for end in ends) or "passed" not in ends)


if __name__ == "__main__":
    main([int(argument) for argument in sys.argv[1:]])
