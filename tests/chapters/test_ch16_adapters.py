"""Adapters: nothing changes at first, only they learn, and what cannot be adapted is refused."""

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from chapters.ch16_adapters import LowRank, add_adapters
from utils.attention import MultiHeadAttention
from utils.fast import FastMultiHeadAttention
from utils.minilm import TextEncoder


def make_model():
    torch.manual_seed(0)
    return TextEncoder(50, 16, 4, 32, 2, max_length=64)


def learn(model, parameters):
    """Take a few steps towards random numbers."""
    ids, aim = torch.randint(50, (3, 8)), torch.randn(3, 8, 16)
    optimizer = torch.optim.SGD(parameters, 1.0)
    for _ in range(3):
        optimizer.zero_grad()
        (model(ids) - aim).square().mean().backward()
        optimizer.step()


@settings(max_examples=8)
@given(
    out=st.integers(1, 9), width=st.integers(1, 9), seed=st.integers(0, 9), alpha=st.floats(0.1, 9)
)
def test_the_sum_is_the_formula(out, width, seed, alpha):
    torch.manual_seed(seed)
    weight = torch.randn(out, width, dtype=torch.double)
    rank = min(out, width)
    adapter = LowRank(weight, rank, alpha)
    with torch.no_grad():
        adapter.B.normal_()
    expected = weight + alpha / rank * (adapter.B @ adapter.A)
    torch.testing.assert_close(adapter(weight), expected)


def test_at_first_nothing_changes_and_only_the_adapters_learn():
    model = make_model()
    ids = torch.randint(50, (3, 8))
    before, weights = model(ids), {n: p.clone() for n, p in model.named_parameters()}
    parameters = add_adapters(model, ("q_proj", "v_proj"), rank=2)
    assert torch.equal(model(ids), before)
    assert [p.shape for p in parameters] == [(2, 16), (16, 2)] * 4
    assert [id(p) for p in model.parameters() if p.requires_grad] == [id(p) for p in parameters]
    learn(model, parameters)
    assert not torch.allclose(model(ids), before)
    named = dict(model.named_parameters())
    for name, weight in weights.items():
        other = name.replace("proj.weight", "proj.parametrizations.weight.original")
        assert torch.equal(named.get(name, named.get(other)), weight)
    assert all(p.grad.abs().max() > 0 for p in parameters)


@pytest.mark.parametrize("layer_class", [MultiHeadAttention, FastMultiHeadAttention])
def test_an_adapter_counts_for_one_query_as_for_all(layer_class):
    torch.manual_seed(2)
    layer = layer_class(16, 4).double()
    parameters = add_adapters(layer, ("k_proj", "v_proj"), rank=4)
    with torch.no_grad():
        for parameter in parameters:
            parameter.normal_()
    x = torch.randn(2, 50, 16, dtype=torch.double)
    one, _ = layer(x[:, :1], x, x)
    every, _ = layer(x, x, x)
    torch.testing.assert_close(one, every[:, :1])
    one.sum().backward()
    assert all(p.grad is not None for p in parameters)


def test_what_cannot_be_adapted_is_refused_and_stays_as_it_was():
    model = make_model()
    with pytest.raises(ValueError, match="found none"):
        add_adapters(model, ("query", "key"))
    for rank in (0, 17):
        with pytest.raises(ValueError, match=f"rank {rank}"):
            add_adapters(model, rank=rank)
    assert all(p.requires_grad for p in model.parameters())
    add_adapters(model, rank=2)
    with pytest.raises(ValueError, match="found 4"):
        add_adapters(model, rank=2)
