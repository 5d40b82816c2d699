"""Of two commands that name the same file, the second waits, and a killed one holds nothing."""

import subprocess
import sys

import pytest

from tools import alone


@pytest.mark.processes
def test_the_second_waits_for_the_first_and_says_so(tmp_path):
    def start(lines):  # it holds the folder
        command = [sys.executable, alone.__file__, str(tmp_path), sys.executable, "-c", lines]
        return subprocess.Popen(command, stdout=subprocess.PIPE, text=True)

    with start("print('first', flush=True); import time; time.sleep(60)") as first:
        assert first.stdout.readline() == "first\n"
        with start("print('second')") as second:
            assert "goes on after it" in second.stdout.readline()
            first.kill()
            assert second.communicate(timeout=60) == ("second\n", None)


def test_a_folder_that_cannot_be_written_to_is_named(monkeypatch):
    monkeypatch.setattr(alone.os, "access", lambda *_: False)  # as on a read-only disk
    with pytest.raises(SystemExit, match="cannot be written to: copy it"):
        alone.main("Makefile", "true")
