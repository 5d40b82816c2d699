"""Heads, and the tokens of a sequence, over processes: the same numbers as in one.

Four processes are started once; they also work in groups of two and of one.
"""

from pathlib import Path

import pytest
import torch

from chapters.ch13_processes import run_processes
from chapters.ch13_ring import ring_attention, ring_positions

B, T, D, FLOAT = 2, 8, 16, 4
REFUSED = [
    "the heads (6)",
    "keys and values (2)",
    "no MultiHeadAttention here",
    "Identity",
    "hidden units (10)",
    "a convolution",
    "already spread",
]


@pytest.fixture(scope="module")
def found():
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(Path(__file__).parent)
        import parallel_workers

        return run_processes(parallel_workers.everything, 4, timeout=400)


@pytest.mark.slow
@pytest.mark.processes
@pytest.mark.parametrize(("what", "cases"), [("heads", 3 * 6 + 1), ("ring", 3 * 2)])
def test_any_number_of_processes_gives_the_numbers_of_one(found, what, cases):
    for result in found:
        assert len(result[what]) == cases
        assert max(result[what].values()) < 1e-12, result[what]


@pytest.mark.slow
@pytest.mark.processes
def test_a_block_has_two_all_reduces_each_way_and_what_cannot_be_cut_is_refused(found):
    tokens = ("all_reduce", B * T * D * FLOAT)
    for result in found:
        forward, backward, crossed, before, kept = result["messages"]
        assert forward == backward == [tokens] * 2  # the heads', and the feed-forward network's
        assert crossed == [tokens] * 3  # forward; for the gradient of the queries, of the keys
        assert kept == (before - D) / 4 + D  # of the weights; out_proj's bias is everywhere
        said, untouched = result["refused"]
        for sentence, part in zip(said, REFUSED, strict=True):
            assert part in sentence
        assert untouched


@pytest.mark.slow
@pytest.mark.processes
def test_what_a_process_keeps_sends_and_computes_for_the_ring_is_its_share(found):
    for result in found:
        for (P, is_causal), weights in result["weights"].items():
            kv = FLOAT * 512 // P * 2 * 16  # the bytes of keys beside values, of two heads
            # q, k, v, the output; a log-sum-exp for each query
            assert weights["kept"] == FLOAT * (4 * 512 * 2 * 8 + 512 * 2) / P
            piece = 512 // P // (2 if is_causal else 1)
            assert weights["largest"] == max(FLOAT * 2 * piece * min(piece, 256), kv)
            back = (P - 1) * kv + P * kv if P > 1 else 0  # the gradients have to come home
            assert weights["sent"] == [(P - 1) * kv, back]
            assert weights["names"] == (["send"] if P > 1 else [])
            pairs = (2 * P + 1) / (4 * P * P) if is_causal else 1 / P  # of T * T, a process
            forward = pairs * 512**2 * 2 * 2 * 2 * 8  # two heads, two products, two operations
            assert weights["products"] == [forward, 2.5 * forward]  # back: five products


@pytest.mark.parametrize("processes", [1, 2, 4])
@pytest.mark.parametrize("is_causal", [False, True])
def test_every_token_has_one_place_in_the_ring(processes, is_causal):
    options = {"is_causal": True} if is_causal else {}
    held = [ring_positions(16, rank, processes, **options) for rank in range(processes)]
    assert torch.cat(held).sort().values.tolist() == list(range(16))
    assert all(at.tolist() == sorted(at.tolist()) for at in held)
    seen = [int((at + 1).sum()) for at in held]  # causal: token t sees t + 1 keys
    assert len(set(seen)) == (1 if is_causal else processes)


def test_a_sequence_that_cannot_be_cut_is_refused():
    with pytest.raises(ValueError, match="12 tokens"):
        ring_positions(12, 0, 4, is_causal=True)
    x = torch.randn(2, 5, 4)
    for wrong in [(x, x, x[:, :4]), (x, x[..., :3], x), (x[0, 0], x, x), (x, x, x[:1])]:
        with pytest.raises(ValueError, match=r"slices|do not fit|two dimensions"):
            ring_attention(*wrong)
    with pytest.raises(ValueError, match="one length"):
        ring_attention(x, x, x, is_causal=True)
    with pytest.raises(TypeError, match="dtype"):
        ring_attention(x, x, x.double())
    with pytest.raises(RuntimeError, match="no process group"):
        ring_attention(x, x, x)
