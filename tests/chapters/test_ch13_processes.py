"""Several processes with one call: their results, their errors, and nothing left of them."""

import os
import time
from pathlib import Path

import pytest

from chapters.ch13_processes import run_processes


@pytest.fixture(autouse=True)
def workers(monkeypatch):
    """The module whose functions the processes import."""
    monkeypatch.syspath_prepend(Path(__file__).parent)
    import ch13_processes_workers

    return ch13_processes_workers


def alive(pid):
    try:
        os.kill(int(pid), 0)
    except ProcessLookupError:
        return False
    return True


@pytest.mark.slow
@pytest.mark.processes
def test_each_gives_its_result_and_the_first_prints(workers, capsys):
    results = run_processes(workers.add_ranks, 2, 10, timeout=200)
    pids, ranks, totals, threads = zip(*results, strict=True)
    assert ranks == (0, 1)
    assert [total.item() for total in totals] == [21.0, 21.0]
    assert threads == (1, 1)
    assert len({os.getpid(), *pids}) == 3
    assert not any(map(alive, pids))
    assert capsys.readouterr().out == "process 0 of 2: ñ\n"


@pytest.mark.slow
@pytest.mark.processes
@pytest.mark.parametrize(
    ("how", "kind", "says"),
    [
        ("raise", RuntimeError, "process 1 of 2 failed: KeyError: 'the news'"),
        ("kill", RuntimeError, "signal SIGKILL"),
        ("sleep", TimeoutError, "after 10 seconds 2 of 2 processes"),
    ],
)
def test_when_one_fails_or_is_late_all_end_and_its_error_is_told(
    workers, tmp_path, how, kind, says
):
    start = time.monotonic()
    with pytest.raises(kind, match=says):
        run_processes(workers.fail_in, 2, 1, how, tmp_path, timeout=10 if how == "sleep" else 200)
    assert time.monotonic() - start < 100  # not the sleep of 1000 seconds
    assert how == "sleep" or len(list(tmp_path.iterdir())) == 2  # or they came too late
    assert not any(alive(file.name) for file in tmp_path.iterdir())


def test_what_no_process_can_import_is_refused_at_once(workers):
    def inside():
        pass

    for function in (inside, lambda: None):
        with pytest.raises(ValueError, match="imported"):
            run_processes(function, 2)
    with pytest.raises(ValueError, match="one process"):
        run_processes(workers.add_ranks, 0)
