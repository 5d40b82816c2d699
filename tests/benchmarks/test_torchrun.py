"""Several processes under torchrun: they are killed and start again, and all is as undisturbed."""

import os
import re
import shutil
import socket
import subprocess
import sys
from itertools import product
from pathlib import Path

import pytest
import torch
import torch.distributed as dist

ROOT = Path(__file__).resolve().parents[2]
HERE = Path(__file__).parent
pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not dist.is_available(), reason="PyTorch without torch.distributed"),
]


TORCHRUN = [sys.executable, "-m", "torch.distributed.run", "--monitor-interval", "0.1"]


LOOPBACK = next(name for _, name in socket.if_nameindex() if name.startswith("lo"))


def environment(network=LOOPBACK):
    known = {"PYTHONPATH": str(ROOT), "OMP_NUM_THREADS": "1", "GLOO_SOCKET_IFNAME": network}
    return os.environ | known


def torchrun(*arguments):
    """Start two processes, and wait for them."""
    command = [*TORCHRUN, "--nproc-per-node", "2", *map(str, arguments)]
    return subprocess.run(
        command, cwd=ROOT, capture_output=True, text=True, timeout=400, env=environment()
    )


def checkpoint(folder):
    return torch.load(folder / "checkpoint.pt", weights_only=True)


def test_killed_twice_it_ends_with_the_weights_of_an_undisturbed_run(tmp_path):
    folders = [tmp_path / name for name in ("whole", "killed")]
    for folder in folders:
        folder.mkdir()
    done = torchrun("--standalone", "--max-restarts", 2, HERE / "torchrun_worker.py", *folders)
    assert done.returncode == 0, done.stderr
    whole, killed = map(checkpoint, folders)
    assert (whole["resumed"], killed["resumed"]) == (0, 2)
    for key in ("model", "best"):
        for name, weights in whole[key].items():
            assert torch.equal(weights, killed[key][name]), name
    losses = [[row["train_loss"] for row in found["history"]] for found in (whole, killed)]
    assert losses[0] == losses[1]
    begins = re.findall(r"attempt (\d) begins at step (\d+)", done.stdout)
    assert [attempt for attempt, _ in sorted(begins)] == [*"001122"], done.stdout
    steps = [int(step) for _, step in sorted(begins)]
    assert steps[:2] == [0, 0]
    assert 0 < steps[2] == steps[3] < steps[4] == steps[5]
    assert [file.name for file in (tmp_path / "killed").iterdir()] == ["checkpoint.pt"]
    # A checkpoint that is cut short: both say so, and it is left as it is.
    for rank in (0, 1):
        error = (tmp_path / "whole" / f"error {rank}").read_text(encoding="utf-8")
        assert "half.pt is no checkpoint of this benchmark" in error
    assert (tmp_path / "whole" / "half.pt").stat().st_size == 1000


def test_a_port_that_another_run_has_is_an_error():
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        done = torchrun("--master-port", port, "-m", "benchmarks", "page")
    assert done.returncode != 0
    assert f"port: {port}" in done.stderr
    assert "address already in use" in done.stderr


@pytest.fixture
def machines():
    """Two networks of their own with a cable between them, as two machines have."""
    if not shutil.which("ip"):
        pytest.skip("there is no `ip`, which makes networks")
    names = [f"course-{os.getpid()}-{which}" for which in "ab"]
    try:
        for name in names:
            made = ip("netns", "add", name)
            if made.returncode:
                pytest.skip(f"networks cannot be made here: {made.stderr.strip()}")
        there = ("peer", "name", "cable", "netns", names[1])
        steps = [("link", "add", "cable", "netns", names[0], "type", "veth", *there)]
        for number, name in enumerate(names, 1):
            steps += [
                ("-n", name, "addr", "add", f"10.77.20.{number}/24", "dev", "cable"),
                ("-n", name, "link", "set", "lo", "up"),
                ("-n", name, "link", "set", "cable", "up"),
            ]
        for step in steps:
            made = ip(*step)
            if made.returncode:
                pytest.skip(f"networks cannot be joined here: {made.stderr.strip()}")
        yield names
    finally:
        for name in names:
            ip("netns", "del", name)


def ip(*arguments):
    return subprocess.run(["ip", *arguments], capture_output=True, text=True)


def test_two_machines_translate_together(machines, multi30k_folder, tmp_path):
    """The whole command; each machine has a folder of its own, and the first alone has a file."""
    pytest.importorskip("sacrebleu")
    port, running = "29500", []
    try:
        for node, name in enumerate(machines):
            start = [
                *TORCHRUN, "--nnodes", "2", "--node-rank", str(node), "--nproc-per-node", "1",
                "--master-addr", "10.77.20.1", "--master-port", port, "--rdzv-conf", "timeout=120",
                "-m", "benchmarks", "translation", "--quick", "--device", "cpu", "--seeds", "2",
                "--folder", str(tmp_path / str(node)),
            ]  # fmt: skip
            running.append(
                subprocess.Popen(
                    ["ip", "netns", "exec", name, *start], cwd=ROOT, env=environment("cable"),
                    stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                )
            )  # fmt: skip
        said = [process.communicate(timeout=400) for process in running]
    finally:
        for process in running:
            process.kill()
    assert [process.returncode for process in running] == [0, 0], said
    assert "nothing is written" in said[0][0]
    assert said[1][0] == ""
    assert "training:" in said[0][1]
    assert "training:" not in said[1][1]
    for seed, name in product(range(2), ("ours", "torch.nn")):
        found = checkpoint(tmp_path / "0" / f"seed-{seed}-{name}")
        assert found["settings"]["processes"] == 2
        assert found["test"]["chrf"] >= 0
    assert not (tmp_path / "1").exists()
