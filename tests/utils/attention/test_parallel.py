"""Heads, and the tokens of a sequence, over processes: the same numbers as in one.

Four processes are started once; they also work in groups of two and of one.
"""

from pathlib import Path

import pytest
import torch

from utils.attention import MultiHeadAttention, ring_attention, ring_positions
from utils.measure import all_reduce_bytes
from utils.processes import run_processes

B, T, D, FLOAT = 2, 8, 16, 4
REFUSED = [
    "the heads (6) do not divide by 4 processes",
    "the heads of keys and values (2) do not divide",
    "no MultiHeadAttention here",
    "positions of the class Identity",
    "the hidden units (10) do not divide",
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
@pytest.mark.parametrize(("what", "cases"), [("heads", 9 + 3 + 1), ("ring", 3 * 4)])
def test_any_number_of_processes_gives_the_numbers_of_one(found, what, cases):
    for result in found:
        assert len(result[what]) == cases
        assert max(result[what].values()) < 1e-12, result[what]


@pytest.mark.slow
def test_a_block_has_two_all_reduces_forward_and_two_backward(found):
    tokens = ("all_reduce", B * T * D * FLOAT)
    for result in found:
        forward, backward, crossed, before, kept = result["messages"]
        assert forward == backward == [tokens] * 2  # the heads', and the feed-forward network's
        assert crossed == [tokens] * 3  # forward; for the gradient of the queries, of the keys
        assert kept == (before - D) / 4 + D  # of the weights; out_proj's bias is everywhere


@pytest.mark.slow
def test_what_does_not_divide_is_refused_before_anything_is_changed(found):
    for result in found:
        said, untouched = result["refused"]
        for sentence, part in zip(said, REFUSED, strict=True):
            assert part in sentence
        assert untouched


@pytest.mark.slow
def test_what_a_process_keeps_for_the_ring_falls_as_its_share(found):
    numbers = 4 * 512 * 2 * 8 + 512 * 2  # q, k, v, the output; a log-sum-exp for each query
    for result in found:
        for (P, is_causal), weights in result["weights"].items():
            assert weights["kept"] == FLOAT * numbers / P
            piece = 512 // P // (2 if is_causal else 1)
            slices = 512 // P * 2 * 16  # keys beside values
            assert weights["largest"] == FLOAT * max(2 * piece * min(piece, 256), slices)


@pytest.mark.slow
def test_the_ring_sends_keys_once_forward_and_with_their_gradients_back(found):
    for result in found:
        for (P, _), weights in result["weights"].items():
            kv = FLOAT * 512 // P * 2 * 16  # keys beside values, of two heads
            back = (P - 1) * kv + P * kv if P > 1 else 0  # the gradients have to come home
            assert weights["sent"] == ((P - 1) * kv, back)
            assert weights["names"] == (["send"] if P > 1 else [])


@pytest.mark.slow
def test_all_have_as_much_to_do(found):
    for case in found[0]["weights"]:
        P, is_causal = case
        forward, back = found[0]["weights"][case]["products"]
        assert all(result["weights"][case]["products"] == (forward, back) for result in found)
        pairs = (2 * P + 1) / (4 * P * P) if is_causal else 1 / P  # of T * T, a process
        assert forward == pairs * 512**2 * 2 * 2 * 2 * 8  # two heads, two products, two operations
        assert back == 2.5 * forward  # five products


@pytest.mark.slow
def test_pytorchs_context_parallelism_agrees_or_says_that_it_cannot(found):
    for result in found:
        said = result["PyTorch's"]
        assert "sharding strategy" in said if isinstance(said, str) else said < 1e-5


@pytest.mark.parametrize("processes", [1, 2, 4])
@pytest.mark.parametrize("is_causal", [False, True])
def test_every_token_has_one_place_in_the_ring(processes, is_causal):
    held = [ring_positions(16, rank, processes, is_causal) for rank in range(processes)]
    assert torch.cat(held).sort().values.tolist() == list(range(16))
    assert all(at.tolist() == sorted(at.tolist()) for at in held)
    seen = [int((at + 1).sum()) for at in held]  # causal: token t sees t + 1 keys
    assert not is_causal or len(set(seen)) == 1


def test_a_sequence_that_cannot_be_cut_is_refused():
    with pytest.raises(ValueError, match="12 tokens cannot be cut into 8 pieces"):
        ring_positions(12, 0, 4, is_causal=True)
    x = torch.randn(2, 5, 4)
    for wrong in [(x, x, x[:, :4]), (x, x[..., :3], x), (x[0, 0], x, x), (x, x, x[:1])]:
        with pytest.raises(ValueError, match="not slices of one sequence"):
            ring_attention(*wrong)
    with pytest.raises(ValueError, match="two pieces of one length"):
        ring_attention(x, x, x, is_causal=True)
    with pytest.raises(TypeError, match="one floating dtype"):
        ring_attention(x, x, x.double())
    with pytest.raises(RuntimeError, match="no process group"):
        ring_attention(x, x, x)


def test_an_all_reduce_sends_almost_twice_what_is_summed():
    assert [all_reduce_bytes(100, P) for P in (1, 2, 4)] == [0, 100, 150]


def test_the_layer_itself_knows_nothing_of_processes():
    layer = MultiHeadAttention(8, 2)
    assert not layer._forward_hooks
    assert not layer._forward_pre_hooks
