"""Two commands that name the same file run one after the other, also if the first is killed."""

import subprocess
import sys

import pytest

from tools import alone


@pytest.mark.processes
def test_the_second_waits_for_the_first_and_says_so(tmp_path):
    file = tmp_path / "file"
    file.touch()

    def start(lines):
        command = [sys.executable, alone.__file__, str(file), sys.executable, "-c", lines]
        return subprocess.Popen(command, stdout=subprocess.PIPE, text=True)

    with start("print('first', flush=True); import time; time.sleep(60)") as first:
        assert first.stdout.readline() == "first\n"
        with start("print('second')") as second:
            assert "goes on after it" in second.stdout.readline()
            assert second.poll() is None
            first.kill()
            assert second.communicate(timeout=60) == ("second\n", None)
