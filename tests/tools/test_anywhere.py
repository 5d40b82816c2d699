"""The runs cover what is asked for, what fails is counted and said, and what is missing as well."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tools import anywhere
from tools.anywhere import RUNS, Missing, Result, Run, counted, requirements, surroundings, table

PROJECT = """
[project]
dependencies = ["numpy", "torch>=2.7"]
optional-dependencies.dev = ["pytest"]
"""
CONSTRAINTS = """
# made by a tool
numpy==2.4.6
nvidia-cublas==13.1.1.3 ; sys_platform == 'linux'
cuda-toolkit==13.0.3.0 ; sys_platform == 'linux'
torch==2.13.0
torch-einops-utils==0.2.0
triton==3.7.1 ; sys_platform == 'linux'
"""
REPORT = """<testsuites><testsuite>
<testcase classname="tests.test_a" name="test_one"/>
<testcase classname="tests.test_a" name="test_two"><skipped message="no GPU"/></testcase>
<testcase classname="tests.test_a" name="test_three"><failure>1 is not 2</failure></testcase>
<testcase classname="tests.test_a" name="test_three"><error>nor at its end</error></testcase>
<testcase classname="tests.test_b" name="test_four"><system-out>said</system-out></testcase>
</testsuite></testsuites>"""


@pytest.mark.parametrize(
    ("name", "values"),
    [
        ("python", {"3.11", "3.12", "3.13"}),
        ("torch", {"cpu", "default", "oldest"}),
        ("instructions", {"default", "avx2", "avx512"}),
        ("threads", {1, 2, 4}),
        ("busy", {False, True}),
        ("seed", {None, 1, 2, 3, 4, 5}),
    ],
)
def test_a_dozen_runs_have_every_value_between_them(name, values):
    assert len(RUNS) == 12
    assert {getattr(run, name) for run in RUNS} == values


def test_an_environment_has_what_the_tests_need_and_one_pytorch():
    wanted, pins = requirements("default", PROJECT, CONSTRAINTS)
    assert wanted == ["numpy", "torch>=2.7", "pytest", "torch==2.13.0"]
    assert len(pins) == 6
    assert requirements("cpu", PROJECT, CONSTRAINTS)[0][-1] == "torch==2.13.0+cpu"


def test_the_oldest_pytorch_brings_what_belongs_to_it():
    wanted, pins = requirements("oldest", PROJECT, CONSTRAINTS)
    assert wanted[-1] == "torch==2.7"
    assert pins == ["numpy==2.4.6", "torch-einops-utils==0.2.0"]


def test_the_files_of_this_project_can_be_read():
    for torch in ("cpu", "default", "oldest"):
        files = ("pyproject.toml", "constraints.txt")
        wanted, _ = requirements(torch, *((anywhere.ROOT / name).read_text() for name in files))
        assert "pytest" in wanted
        assert wanted[-1].startswith("torch==")


def test_a_python_that_is_not_there_is_missing():
    with pytest.raises(Missing, match=r"no Python 2\.0"):
        anywhere.find_python("2.0")


def test_a_python_that_does_not_run_is_passed_over(tmp_path, monkeypatch):
    version = "{}.{}".format(*sys.version_info)
    for folder, code in (("bin", "exit 127"), (f"versions/{version}.0/bin", "echo " + version)):
        (tmp_path / folder).mkdir(parents=True)
        name = tmp_path / folder / (f"python{version}" if folder == "bin" else "python")
        name.write_text(f"#!/bin/sh\n{code}\n")
        name.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path / "bin") + os.pathsep + "/bin")
    monkeypatch.setenv("PYENV_ROOT", str(tmp_path))
    assert anywhere.find_python(version) == str(name)


def test_instructions_that_the_processor_lacks_are_missing(tmp_path):
    python = tmp_path / "python"
    python.write_text("#!/bin/sh\necho avx2 3.11.7 2.13.0+cpu\n")
    python.chmod(0o755)
    assert anywhere.versions(python, "default") == "3.11.7, torch 2.13.0+cpu"
    assert anywhere.versions(python, "avx2") == "3.11.7, torch 2.13.0+cpu"
    with pytest.raises(Missing, match="no avx512"):
        anywhere.versions(python, "avx512")


def test_a_run_has_its_threads_instructions_and_seed():
    found = surroundings(Run("3.11", "cpu", "avx2", 4, seed=3))
    assert found["ATEN_CPU_CAPABILITY"] == "avx2"
    assert found["OMP_NUM_THREADS"] == "4"
    assert found["TEST_SEED"] == "3"
    explore = "--hypothesis-profile=explore"
    assert explore in anywhere.pytest_arguments(Run("3.11", "cpu", "avx2", 4, seed=3), Path("x"))
    assert explore not in anywhere.pytest_arguments(Run("3.11", "cpu", "avx2", 4), Path("x"))


def test_tests_are_counted_and_those_that_failed_named_once():
    assert counted(REPORT) == Result("", 2, 1, 1, failures=("tests.test_a::test_three",))


def test_the_table_ends_with_the_sums_after_what_failed_and_what_was_missing():
    results = {
        1: Result("3.11.7, torch 2.13.0+cpu", 100, 1, 2, 61.6, failures=("tests.test_a::test_x",)),
        4: Result(missing="no Python 3.12 was found"),
        7: Result("3.11.7, torch 2.13.0+cpu", 101, 0, 2, 99.0),
    }
    lines = table(results).splitlines()
    head, first, second, third = (re.split(" {2,}", line) for line in lines[:4])
    build = "3.11.7, torch 2.13.0+cpu"
    assert head[:2] == ["run", "Python"]
    assert first == ["1", build, "default", "1", "100", "1", "2", "62"]
    assert second == ["4", "3.12, torch: oldest", "avx512", "1", "missing"]
    assert third == ["7", build, "avx512", "2", "2 busy", "101", "0", "2", "99"]
    assert lines[4:] == [
        "Not covered, run 4: no Python 3.12 was found.",
        "Failed, run 1: tests.test_a::test_x",
        "201 passed, 1 failed",
    ]


@pytest.mark.parametrize(
    ("result", "code"),
    [
        (Result("3.11.7", 5, 0, 0), 0),
        (Result("3.11.7", 5, 1, 0, failures=("x",)), 1),
        (Result("3.11.7", 0, 0, 5), 1),
        (Result(missing="no Python 3.11 was found"), 1),
    ],
)
def test_it_ends_with_an_error_if_a_test_failed_or_none_passed(
    monkeypatch, tmp_path, capsys, result, code
):
    monkeypatch.setattr(anywhere, "FOLDER", tmp_path)
    monkeypatch.setattr(anywhere, "prepare", lambda python, torch: Path(python))
    monkeypatch.setattr(anywhere, "run_tests", lambda *_: result)
    with pytest.raises(SystemExit) as end:
        anywhere.main(["1", "7"])
    assert end.value.code == code
    said = capsys.readouterr().out.splitlines()
    assert said[-1] == f"{2 * result.passed} passed, {2 * result.failed} failed"


@pytest.mark.parametrize(
    ("pytest_does", "passed", "failures"),
    [
        ("pathlib.Path(report).write_text('<x><testcase/></x>')", 1, ()),
        ("pathlib.Path(report).write_text('<x><testcase/></x>'); sys.exit(3)", 1, ("3",)),
        ("sys.exit(4)", 0, ("4",)),
    ],
)
def test_a_run_that_breaks_off_has_failed(monkeypatch, tmp_path, pytest_does, passed, failures):
    (tmp_path / "pytest.py").write_text(
        f"import pathlib, sys; report = sys.argv[-1].split('=')[1]; {pytest_does}"
    )
    monkeypatch.setattr(anywhere, "FOLDER", tmp_path)
    monkeypatch.setattr(anywhere, "ROOT", tmp_path)  # its pytest is the file above
    monkeypatch.setattr(anywhere, "versions", lambda *_: "3.11.7")
    result = anywhere.run_tests(1, RUNS[0], Path(sys.executable))
    assert (result.passed, result.failed) == (passed, len(failures))
    for code, said in zip(failures, result.failures, strict=True):
        assert f"pytest ended with {code}" in said


def test_programs_that_keep_the_processor_busy_end_with_the_run(monkeypatch):
    started, popen = [], subprocess.Popen
    monkeypatch.setattr(
        anywhere.subprocess, "Popen", lambda *a, **k: started.append(popen(*a, **k)) or started[-1]
    )
    with anywhere.other_programs(2):
        assert [program.poll() for program in started] == [None, None]
    assert all(program.poll() is not None for program in started)
