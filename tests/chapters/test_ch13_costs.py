"""The model of what a block costs on many devices, against counts and published measurements."""

import math

import pytest
import torch
import torch.distributed as dist
from torch.utils.flop_counter import FlopCounterMode

from chapters.ch13_costs import Cluster, all_reduce_bytes, block_seconds, count_messages
from utils.blocks import EncoderBlock

SLOW_LINKS = Cluster(flops=1e9, link=1e6, network=1e5, latency=0.0)


def test_its_products_are_those_that_a_block_multiplies():
    B, T, D = 2, 5, 8
    block = EncoderBlock(D, 2, 4 * D)
    x = torch.randn(B, T, D, requires_grad=True)
    with FlopCounterMode(display=False) as counter:
        block(x, need_weights=True)[0].sum().backward()
    assert block_seconds(B, T, D, SLOW_LINKS).products == counter.get_total_flops() / 1e9


def test_its_messages_are_those_of_the_formula():
    seconds = block_seconds(4, 8, 16, SLOW_LINKS, processes=4, copies=2, itemsize=4)
    assert seconds.heads == 4 * all_reduce_bytes(2 * 8 * 16 * 4, 4) / 1e6
    assert seconds.batches == all_reduce_bytes(12 * 16**2 / 4 * 4, 2) / 1e5
    assert seconds.efficiency == seconds.products / sum(seconds)
    again = block_seconds(4, 8, 16, SLOW_LINKS, 4, 2, itemsize=4, recompute=True)
    assert (again.products, again.heads) == pytest.approx(
        (seconds.products * 4 / 3, seconds.heads * 1.5)
    )
    alone = block_seconds(4, 8, 16, SLOW_LINKS)
    assert (alone.heads, alone.batches, alone.efficiency) == (0.0, 0.0, 1.0)
    late = block_seconds(4, 8, 16, Cluster(1e9, math.inf, math.inf, 1.0), 4, 1024)
    assert (late.heads, late.batches) == (4 * 4, 20)


def test_it_is_near_the_efficiency_that_was_published_for_shared_heads():
    """Shoeybi and others 2019: GPT-2 of 1.2 to 8.3 billion weights, on the GPUs of a DGX-2H."""
    v100 = Cluster(flops=62.4e12, link=150e9, network=12.5e9)
    for processes, width, published in ((2, 1920, 0.95), (4, 2304, 0.82), (8, 3072, 0.77)):
        seconds = block_seconds(8, 1024, width, v100, processes, recompute=True)
        assert abs(seconds.efficiency - published) < 0.07


def test_of_what_is_gathered_or_scattered_only_what_is_handed_over_counts():
    dist.init_process_group("gloo", store=dist.HashStore(), rank=0, world_size=1)
    try:
        piece, whole = torch.ones(3), torch.zeros(3)
        assert count_messages(lambda: piece.sum()) == []
        gathered = count_messages(lambda: dist.all_gather_into_tensor(whole, piece))
        scattered = count_messages(lambda: dist.reduce_scatter_tensor(piece, whole))
    finally:
        dist.destroy_process_group()
    assert [(message.bytes, message.name[:10]) for message in gathered] == [(12, "all_gather")]
    assert [tuple(message) for message in scattered] == [("reduce_scatter", 12)]
