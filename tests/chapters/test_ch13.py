"""Each cut of a block gives what one process gives; a training that was killed goes on."""

import math
import re
import subprocess
import sys

import pytest
import torch
import torch.distributed as dist

from chapters.ch13_heads import B, D
from tools.notebooks import ROOT

pytestmark = [
    pytest.mark.slow,
    pytest.mark.processes,
    pytest.mark.skipif(not dist.is_available(), reason="PyTorch without torch.distributed"),
]


def torchrun(N, module, *arguments):
    """Start a module in N processes; give what they print, and how it ended."""
    command = [sys.executable, "-m", "torch.distributed.run", "--standalone"]
    command += [f"--nproc-per-node={N}", "-m", f"chapters.{module}", *map(str, arguments)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=300)
    return done.stdout, done.returncode


def test_each_cut_gives_what_one_process_gives_and_sends_what_the_chapter_says():
    T, part = 32, 1 / 2
    printed, failed = torchrun(2, "ch13_step", T)
    assert not failed
    rows = re.findall(r"by_(\w+) +off by (\S+), sends ([\d,]+|nan) numbers", printed)
    assert max(float(far) for _, far, _ in rows) < 1e-12
    sent = {cut: float(numbers.replace(",", "")) for cut, _, numbers in rows}
    weights, tokens = 24 * D**2 * part, B * T * D * part
    said = {"heads": 8 * tokens, "texts": weights, "tokens": weights + 6 * tokens}
    said["shards"] = 2 * weights  # gloo does an all-reduce where a reduce-scatter is asked for
    assert sent.keys() == said.keys()
    for cut, numbers in sent.items():  # measured where Linux counts, and heads of messages with it
        assert math.isnan(numbers) or said[cut] <= numbers <= 1.06 * said[cut]


def test_killed_and_started_again_it_has_the_same_bits(tmp_path):
    killed, whole = tmp_path / "killed", tmp_path / "whole"
    printed, failed = torchrun(2, "ch13_training", killed, 15)
    assert failed
    assert not list(killed.glob("20-*"))
    assert "step 10" in printed
    again, failed = torchrun(2, "ch13_training", killed)
    assert not failed
    assert "step 10" not in again
    torchrun(2, "ch13_training", whole)
    for name in ("40-0of2.pt", "40-1of2.pt"):
        found, wanted = (torch.load(folder / name)["model"] for folder in (killed, whole))
        assert all(torch.equal(found[key], wanted[key]) for key in wanted)


def test_another_number_of_processes_is_refused(tmp_path):
    torch.save({}, tmp_path / "20-0of2.pt")
    printed, failed = torchrun(1, "ch13_training", tmp_path)
    assert failed
    assert [file.name for file in tmp_path.iterdir()] == ["20-0of2.pt"]
    assert "another number of processes" in printed
