"""Run the tests without the slow ones in a dozen surroundings, and print one table.

python -m tools.anywhere [NUMBER ...]
    All runs of the table below, or those with these numbers, counted from 1. What they need is
    installed into _build/anywhere, once. What the machine lacks, a Python, an instruction set or a
    build of PyTorch, is said, and is no failure.

Between them the runs have every Python, instruction set, number of threads and build of PyTorch
that the table names, the oldest PyTorch that pyproject.toml allows, other programs that keep the
processor busy, and five seeds under which the tests explore: not every combination of these.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import time
import tomllib
import xml.etree.ElementTree as ET
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path


@dataclass(frozen=True)
class Run:
    """A surrounding for the tests."""

    python: str
    torch: str  # "cpu"; "default", the build that pip takes by itself; or "oldest"
    instructions: str  # for PyTorch's own kernels
    threads: int
    seed: int | None = None  # explore, beginning at this number
    busy: bool = False  # other programs want the processor too


RUNS = (
    Run("3.11", "cpu", "default", 1),
    Run("3.11", "cpu", "avx2", 2),
    Run("3.11", "cpu", "avx512", 4),
    Run("3.12", "oldest", "avx512", 1),
    Run("3.12", "oldest", "avx2", 2),
    Run("3.13", "default", "avx512", 2),
    Run("3.11", "cpu", "avx512", 2, busy=True),
    Run("3.11", "cpu", "avx512", 1, seed=1),
    Run("3.11", "cpu", "avx2", 1, seed=2),
    Run("3.12", "oldest", "default", 1, seed=3),
    Run("3.13", "default", "avx2", 1, seed=4),
    Run("3.13", "default", "avx512", 1, seed=5),
)

ROOT = Path(__file__).resolve().parents[1]
FOLDER = ROOT / "_build" / "anywhere"
TESTS = "not slow and not colab"
AT_ONCE, BUSY = 2, 2  # runs side by side; programs beside a run
MINUTES = 20  # the most that a run may take
HEAD = ("Python", "instructions", "threads", "seed", "beside")
INSTRUCTIONS = ("default", "avx2", "avx512")  # who has one has those before it
# Releases that belong to one release of PyTorch: another brings its own.
OF_TORCH = re.compile(r"(torch|triton|nvidia-[\w-]+|cuda-[\w-]+)\s*==")


@dataclass(frozen=True)
class Result:
    """What came of a run."""

    versions: str = ""
    passed: int = 0
    failed: int = 0
    skipped: int = 0
    seconds: float = 0.0
    failures: tuple[str, ...] = ()
    missing: str = ""  # why it was not made


class Missing(Exception):
    """The machine lacks what a run needs."""


def find_python(version: str) -> str:
    """Give an interpreter of this version that can make environments: on PATH, or pyenv's."""
    pyenv = Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv")) / "versions"
    candidates = [f"python{version}", *sorted(map(str, pyenv.glob(f"{version}.*/bin/python")))]
    ask = "import ensurepip, sys, venv; print('{}.{}'.format(*sys.version_info))"
    for candidate in filter(None, map(shutil.which, candidates)):
        asked = subprocess.run([candidate, "-c", ask], capture_output=True, text=True, check=False)
        if asked.stdout.strip() == version:
            return candidate
    raise Missing(f"no Python {version} was found")


def requirements(torch: str, project: str, constraints: str) -> tuple[list[str], list[str]]:
    """Give what to install and its constraints, from the texts of the two files that say so."""
    table = tomllib.loads(project)["project"]
    wanted = [*table["dependencies"], *table["optional-dependencies"]["dev"]]
    pins = [line for line in constraints.splitlines() if line and not line.startswith("#")]
    if torch == "oldest":
        (bound,) = (found[1] for line in wanted if (found := re.fullmatch(r"torch>=(.+)", line)))
        return [*wanted, f"torch=={bound}"], [pin for pin in pins if not OF_TORCH.match(pin)]
    (pinned,) = (pin for pin in pins if pin.startswith("torch=="))
    return [*wanted, pinned + ("+cpu" if torch == "cpu" else "")], pins


def make_environment(python: str, torch: str) -> Path:
    """Give the interpreter of an environment that has what the tests need."""
    folder = FOLDER / f"{python}-{torch}"
    interpreter, stamp, pinned = (folder / name for name in ("bin/python", "made-of", "pins.txt"))
    files = ("pyproject.toml", "constraints.txt")
    wanted, pins = requirements(torch, *((ROOT / name).read_text("utf-8") for name in files))
    made_of = "\n".join([*wanted, *pins])
    if stamp.is_file() and stamp.read_text() == made_of:
        return interpreter
    found = find_python(python)
    shutil.rmtree(folder, ignore_errors=True)
    subprocess.run([found, "-m", "venv", str(folder)], check=True)
    pinned.write_text("\n".join(pins))
    pip = [str(interpreter), "-m", "pip", "install", "-qq", "--disable-pip-version-check"]
    installed = subprocess.run(
        [*pip, "-c", str(pinned), *wanted], capture_output=True, text=True, check=False
    )
    if "No matching distribution found for torch==" in installed.stderr:
        raise Missing(f"pip finds no {wanted[-1]} for Python {python}")
    if installed.returncode:
        sys.exit(f"What {folder.name} needs could not be installed:\n{installed.stderr}")
    stamp.write_text(made_of)
    return interpreter


def prepare(python: str, torch: str) -> Path | Missing:
    """Give the interpreter of an environment, or say what the machine lacks for it."""
    start = time.monotonic()
    try:
        interpreter = make_environment(python, torch)
    except Missing as lack:
        return lack
    took = time.monotonic() - start
    print(f"Python {python}, torch: {torch}: {took:.0f} s for the environment.", flush=True)
    return interpreter


def versions(interpreter: Path, instructions: str) -> str:
    """Give the versions of Python and PyTorch, if the processor has the instructions."""
    ask = (
        "import platform, torch; print(torch.backends.cpu.get_cpu_capability().lower(), "
        "platform.python_version(), torch.__version__)"
    )
    plain = {name: value for name, value in os.environ.items() if name != "ATEN_CPU_CAPABILITY"}
    asked = subprocess.run(
        [str(interpreter), "-c", ask], env=plain, capture_output=True, text=True, check=True
    )
    best, python, torch = asked.stdout.rsplit(maxsplit=2)
    most = INSTRUCTIONS.index(best) if best in INSTRUCTIONS else 0
    if INSTRUCTIONS.index(instructions) > most:
        raise Missing(f"the processor has no {instructions}")
    return f"{python}, torch {torch}"


def surroundings(run: Run) -> dict[str, str]:
    """Give the variables that the run adds to those of this process."""
    return {
        "ATEN_CPU_CAPABILITY": run.instructions,
        "OMP_NUM_THREADS": str(run.threads),
        "OMP_WAIT_POLICY": "passive",  # a thread that waits leaves the processor to other runs
        "TEST_SEED": str(run.seed or 0),
    }


def pytest_arguments(run: Run, report: Path) -> list[str]:
    """Give the arguments with which pytest runs the tests and writes a report of them."""
    explore = ["--hypothesis-profile=explore"] if run.seed is not None else []
    return ["-m", TESTS, "-p", "no:cacheprovider", *explore, f"--junit-xml={report}"]


@contextmanager
def other_programs(count: int) -> Iterator[None]:
    """Keep the processor busy with programs that end with this one."""
    code = "import os\nparent = os.getppid()\nwhile os.getppid() == parent: pass"
    programs = [subprocess.Popen([sys.executable, "-c", code]) for _ in range(count)]
    try:
        yield
    finally:
        for program in programs:
            program.kill()
            program.wait()


def counted(report: str) -> Result:
    """Give how many tests passed, failed and were skipped, and the names of those that failed."""
    failures, skipped, passed = [], 0, 0
    for case in ET.fromstring(report).iter("testcase"):
        kinds = {child.tag for child in case}
        if kinds & {"failure", "error"}:
            failures.append(f"{case.get('classname')}::{case.get('name')}")
        elif "skipped" in kinds:
            skipped += 1
        else:
            passed += 1
    failures = list(dict.fromkeys(failures))  # one that failed twice, at its end too, is one
    return Result("", passed, len(failures), skipped, failures=tuple(failures))


def run_tests(number: int, run: Run, interpreter: Path | Missing) -> Result:
    """Run the tests once; what they say is kept in a file."""
    report, log = FOLDER / f"run-{number}.xml", FOLDER / f"run-{number}.log"
    try:
        if isinstance(interpreter, Missing):
            raise interpreter
        found = versions(interpreter, run.instructions)
    except Missing as lack:
        return Result(missing=str(lack))
    report.unlink(missing_ok=True)
    command = [str(interpreter), "-m", "pytest", *pytest_arguments(run, report)]
    start, code = time.monotonic(), None
    with log.open("w") as said, other_programs(BUSY if run.busy else 0):
        try:
            code = subprocess.run(
                command, cwd=ROOT, env=os.environ | surroundings(run), stdout=said, stderr=said,
                check=False, timeout=60 * MINUTES,
            ).returncode  # fmt: skip
        except subprocess.TimeoutExpired:
            said.write(f"\nStopped after {MINUTES} minutes.\n")
    seconds = time.monotonic() - start
    result = counted(report.read_text("utf-8") if report.is_file() else "<nothing/>")
    if code != 0 and not result.failed:  # it broke off, and no test says why
        why = f"pytest ended with {code}; see {log.relative_to(ROOT)}"
        result = replace(result, failed=1, failures=(why,))
    return replace(result, versions=found, seconds=seconds)


def table(results: dict[int, Result]) -> str:
    """Give a row for each run, what was missing, what failed, and the sums."""
    rows = [["run", *HEAD, "passed", "failed", "skipped", "seconds"]]
    for number, result in results.items():
        run, counts = RUNS[number - 1], [result.passed, result.failed, result.skipped]
        counts.append(round(result.seconds))
        rows.append(
            [
                str(number),
                result.versions or f"{run.python}, torch: {run.torch}",
                run.instructions,
                str(run.threads),
                "" if run.seed is None else str(run.seed),
                f"{BUSY} busy" if run.busy else "",
                *(["missing", "", "", ""] if result.missing else map(str, counts)),
            ]
        )
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    lines = ["  ".join(map(str.ljust, row, widths)).rstrip() for row in rows]
    lines += [f"Not covered, run {n}: {r.missing}." for n, r in results.items() if r.missing]
    lines += [f"Failed, run {n}: {name}" for n, r in results.items() for name in r.failures]
    return "\n".join([*lines, "{} passed, {} failed".format(*sums(results))])


def sums(results: dict[int, Result]) -> tuple[int, int]:
    """Give how many passed and how many failed in all runs."""
    return (
        sum(result.passed for result in results.values()),
        sum(result.failed for result in results.values()),
    )


def main(arguments: Sequence[str]) -> None:
    """Read the command line; end with an error if a test failed, or none passed."""
    numbers = [int(argument) for argument in arguments] or list(range(1, len(RUNS) + 1))
    chosen = {number: RUNS[number - 1] for number in numbers}
    FOLDER.mkdir(parents=True, exist_ok=True)
    with ThreadPoolExecutor(AT_ONCE) as pool:
        needed = sorted({(run.python, run.torch) for run in chosen.values()})
        ready = dict(zip(needed, pool.map(prepare, *zip(*needed, strict=True)), strict=True))

        def attempt(number: int) -> Result:
            run = chosen[number]
            result = run_tests(number, run, ready[run.python, run.torch])
            said = result.missing or f"{result.passed} passed, {result.failed} failed"
            print(f"Run {number}: {said}, {result.seconds:.0f} s.", flush=True)
            return result

        quiet = [number for number, run in chosen.items() if not run.busy]
        results = dict(zip(quiet, pool.map(attempt, quiet), strict=True))
    results |= {number: attempt(number) for number in chosen if number not in results}  # alone
    results = {number: results[number] for number in numbers}
    print(table(results))
    passed, failed = sums(results)
    sys.exit(failed > 0 or passed == 0)


if __name__ == "__main__":
    main(sys.argv[1:])
