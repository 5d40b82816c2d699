"""Batches over processes: the losses and weights of one process, and the memory of each."""

import socket
from functools import partial
from pathlib import Path

import pytest
import torch

from benchmarks.group import from_all, from_first, own_share, process_group
from chapters.ch13_batches import place
from chapters.ch13_processes import run_processes


@pytest.fixture
def workers(monkeypatch):
    """The module whose functions the processes import."""
    monkeypatch.syspath_prepend(Path(__file__).parent)
    import ch13_batches_workers

    return ch13_batches_workers


@pytest.mark.slow
@pytest.mark.processes
def test_two_processes_have_the_losses_of_one(workers):
    (found, told, place), (other, *others) = run_processes(workers.train_all, 2, timeout=300)
    assert ([told, place], others) == ([(0, "no checkpoint"), (0, 2)], [told, (1, 2)])
    makers = {"news": workers.news, "translator": workers.translator}
    alone = {name: workers.train(make) for name, make in makers.items()}
    for name in ("news", "translator"):
        losses, weights, held, _ = alone[name]
        for mine in (found[name], other[name]):
            assert mine[0] == pytest.approx(losses, rel=1e-10)
            assert mine[3] == found[name][3], "all go on with the same random state"
            assert mine[2] == held
            for key, value in weights.items():
                torch.testing.assert_close(mine[1][key], value, rtol=1e-6, atol=1e-6)
    # With dropout each draws other numbers: not the losses of one process, and all learn the same.
    assert found["dropout"][0] == other["dropout"][0]
    assert found["dropout"][0] != found["translator"][0]
    for key, value in found["dropout"][1].items():
        assert torch.equal(value, other["dropout"][1][key])


def test_without_torchrun_there_is_one_process(workers, monkeypatch):
    monkeypatch.delenv("RANK", raising=False)
    with process_group() as here:
        assert here == place() == (0, 1)
    assert from_all("it") == ["it"]
    assert from_first(lambda: "this") == "this"
    assert own_share([1, 2]) == [1, 2]
    loss = partial(workers.tokens_of)
    assert workers.share_batches(torch.nn.Linear(1, 1), loss) is loss


@pytest.mark.slow
@pytest.mark.parametrize(("rank", "taken"), [(0, False), (1, True)])
def test_others_that_cannot_be_met_are_an_error(monkeypatch, rank, taken):
    with socket.create_server(("127.0.0.1", 0)) as server:  # another program, that never answers
        port = server.getsockname()[1]
        if not taken:
            server.close()
        known = {"RANK": rank, "WORLD_SIZE": 2, "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": port}
        for name, value in known.items():
            monkeypatch.setenv(name, str(value))
        says = f"process {rank} of 2 did not meet all others at 127.0.0.1:{port} within 1 seconds"
        with pytest.raises(RuntimeError, match=says), process_group(joining=1):
            pass
