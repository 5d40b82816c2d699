"""Several processes under torchrun: they are killed and start again, and all is as undisturbed.

As a script, this file is what ``torchrun`` starts.
"""

import os
import re
import socket
import subprocess
import sys
from itertools import product
from pathlib import Path

import pytest
import torch
import torch.distributed as dist

ROOT = Path(__file__).resolve().parents[2]
pytestmark = [
    pytest.mark.slow,
    pytest.mark.processes,
    pytest.mark.skipif(not dist.is_available(), reason="PyTorch without torch.distributed"),
]


def torchrun(*arguments, **environment):
    """Start two processes, and wait for them."""
    loopback = next(name for _, name in socket.if_nameindex() if name.startswith("lo"))
    known = {"PYTHONPATH": str(ROOT), "OMP_NUM_THREADS": "1", "GLOO_SOCKET_IFNAME": loopback}
    command = [sys.executable, "-m", "torch.distributed.run", "--monitor-interval", "0.1"]
    return subprocess.run(
        [*command, "--nproc-per-node", "2", *map(str, arguments)], cwd=ROOT, capture_output=True,
        text=True, timeout=400, env=os.environ | known | environment,
    )  # fmt: skip


def checkpoint(folder):
    return torch.load(folder / "checkpoint.pt", weights_only=True)


def test_killed_twice_it_ends_with_the_weights_of_an_undisturbed_run(tmp_path):
    for name in ("whole", "killed"):
        (tmp_path / name).mkdir()
    done = torchrun("--standalone", "--max-restarts", 2, __file__, "train", tmp_path)
    assert done.returncode == 0, done.stderr
    whole, killed = (checkpoint(tmp_path / name) for name in ("whole", "killed"))
    assert (whole["resumed"], killed["resumed"]) == (0, 2)
    for key in ("model", "best"):
        for name, weights in whole[key].items():
            assert torch.equal(weights, killed[key][name]), name
    losses = [[row["train_loss"] for row in found["history"]] for found in (whole, killed)]
    assert losses[0] == losses[1]
    begins = sorted(re.findall(r"attempt (\d) begins at step (\d+)", done.stdout))
    assert [attempt for attempt, _ in begins] == [*"001122"], done.stdout
    steps = [int(step) for _, step in begins]
    assert 0 == steps[0] == steps[1] < steps[2] == steps[3] < steps[4] == steps[5]
    assert [file.name for file in (tmp_path / "killed").iterdir()] == ["checkpoint.pt"]
    for rank in (0, 1):  # a checkpoint that is cut short: both say so, and it is left as it is
        error = (tmp_path / f"error {rank}").read_text(encoding="utf-8")
        assert "half.pt is no checkpoint of this benchmark" in error
    assert (tmp_path / "half.pt").stat().st_size == 1000


def train_and_be_killed(folder):
    """At first a process is killed in a step, then the other in a write; then nothing happens."""
    import test_resumable as made

    from benchmarks.group import process_group

    attempt = int(os.environ["TORCHELASTIC_RESTART_COUNT"])
    with process_group():
        if attempt == 0:  # a start of the processes costs more than a training
            file, half = folder / "whole" / "checkpoint.pt", folder / "half.pt"
            made.make_training(file).run(made.no_worse)
            if dist.get_rank() == 0:
                half.write_bytes(file.read_bytes()[:1000])
            try:
                made.make_training(half)
            except ValueError as error:
                (folder / f"error {dist.get_rank()}").write_text(str(error), encoding="utf-8")
        training = made.make_training(folder / "killed" / "checkpoint.pt")
        line = f"attempt {attempt} begins at step {training.state['step']}\n"
        os.write(1, line.encode())  # at once, so that two processes do not mix their lines
        if attempt == 0 and dist.get_rank() == 1:
            made.kill_in_a_step(training, training.steps // 3 + 5)
        if attempt == 1:
            made.kill_while_writing(2 * training.steps // 3)
        training.run(made.no_worse)


def test_a_port_that_another_run_has_is_an_error():
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        done = torchrun("--master-port", port, "-m", "benchmarks", "page")
    assert done.returncode != 0
    assert f"port: {port}" in done.stderr
    assert "address already in use" in done.stderr


def test_two_processes_translate_together(multi30k_folder, tmp_path):
    """The whole command, each with a folder of its own, as on two machines: one has the files."""
    pytest.importorskip("sacrebleu")
    done = torchrun("--standalone", __file__, "translate", tmp_path)
    assert done.returncode == 0, done.stderr
    assert done.stdout.count("nothing is written") == 1
    for seed, name in product(range(2), ("ours", "torch.nn")):
        found = checkpoint(tmp_path / "0" / f"seed-{seed}-{name}")
        assert found["settings"]["processes"] == 2
        assert found["test"]["chrf"] >= 0
    assert not (tmp_path / "1").exists()


def translate(folder):
    from benchmarks.__main__ import main

    asked = ["translation", "--quick", "--device", "cpu", "--seeds", "2", "--epochs", "1"]
    main([*asked, "--folder", str(folder / os.environ["RANK"])])


if __name__ == "__main__":
    {"train": train_and_be_killed, "translate": translate}[sys.argv[1]](Path(sys.argv[2]))
