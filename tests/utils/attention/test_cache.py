"""What is written one token at a time is what is written at once."""

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import nn

from utils.attention import (
    ALiBi,
    ConvMultiHeadAttention,
    KeyValueCache,
    MultiHeadAttention,
    RotaryPositionalEncoding,
)

B, T, D, H = 2, 9, 16, 4
POSITIONS = {
    "none": lambda: None,
    "rotary": lambda: RotaryPositionalEncoding(D // H),
    "alibi": lambda: ALiBi(H),
}


def make_layer(positions="none", num_kv_heads=None):
    torch.manual_seed(0)
    layer = MultiHeadAttention(D, H, positions=POSITIONS[positions](), num_kv_heads=num_kv_heads)
    for parameter in layer.parameters():
        nn.init.normal_(parameter, std=0.5)
    return layer.double()


def tokens(length=T):
    return torch.randn(
        B, length, D, dtype=torch.float64, generator=torch.Generator().manual_seed(1)
    )


@pytest.mark.parametrize("positions", POSITIONS)
@pytest.mark.parametrize("num_kv_heads", [None, 2, 1])
@pytest.mark.parametrize("steps", [[1] * T, [4, 1, 3, 1], [T]])
def test_decoding_gives_the_causal_forward_pass_token_for_token(positions, num_kv_heads, steps):
    layer, x = make_layer(positions, num_kv_heads), tokens()
    cache = KeyValueCache(T)
    found = torch.cat([layer.decode(part, cache) for part in x.split(steps, dim=1)], dim=1)
    expected, _ = layer(x, x, x, is_causal=True)
    torch.testing.assert_close(found, expected)
    assert cache.length == T


@given(first=st.integers(1, T - 1), seed=st.integers(0, 99))
@settings(max_examples=20)
def test_a_later_token_changes_nothing_before_it(first, seed):
    layer, x = make_layer("rotary"), tokens()
    other = x.clone()
    other[:, first:] = torch.randn(B, T - first, D, generator=torch.Generator().manual_seed(seed))
    outputs = []
    for given_tokens in (x, other):
        cache = KeyValueCache(T)
        parts = given_tokens.split(1, dim=1)
        outputs.append(torch.cat([layer.decode(part, cache) for part in parts], dim=1))
    assert torch.equal(outputs[0][:, :first], outputs[1][:, :first])
    assert not torch.equal(outputs[0][:, first:], outputs[1][:, first:])


@pytest.mark.parametrize("num_kv_heads", [4, 2, 1])
def test_the_cache_takes_the_bytes_of_the_key_heads(num_kv_heads):
    layer, cache = make_layer(num_kv_heads=num_kv_heads).float(), KeyValueCache(50)
    assert cache.bytes_per_token == 0
    layer.decode(tokens().float(), cache)
    assert cache.bytes_per_token == 2 * num_kv_heads * (D // H) * 4


def test_selected_sequences_go_on_as_if_they_had_been_alone():
    layer, x = make_layer(), tokens()
    cache = KeyValueCache(T)
    layer.decode(x[:, : T - 1], cache)
    rows = torch.tensor([1, 1, 0])
    cache.select(rows)
    found = layer.decode(x[rows, T - 1 :], cache)
    expected, _ = layer(x, x, x, is_causal=True)
    torch.testing.assert_close(found, expected[rows, T - 1 :])


@pytest.mark.parametrize("positions", ["none", "rotary"])
def test_a_prompt_needs_no_mask_of_all_pairs(positions, monkeypatch):
    def refuse(*_):
        raise AssertionError("a mask was made")

    monkeypatch.setattr("utils.attention.multi_head.causal_mask", refuse)
    layer, cache = make_layer(positions), KeyValueCache(T + 2)
    layer.decode(tokens(), cache)
    x = tokens()
    layer(x, x, x, need_weights=False, is_causal=True)
    with pytest.raises(AssertionError, match="a mask was made"):
        layer.decode(tokens(2), cache)  # two tokens after others: the first may not see the second


def test_decoding_keeps_no_gradient():
    assert not make_layer().decode(tokens(), KeyValueCache(T)).requires_grad


def test_a_full_cache_says_so_and_stays_as_it_was():
    layer, cache = make_layer(), KeyValueCache(T)
    layer.decode(tokens(), cache)
    with pytest.raises(ValueError, match="room for 9"):
        layer.decode(tokens(1), cache)
    assert cache.length == T


def test_a_refused_prompt_leaves_the_cache_empty():
    layer, cache = make_layer(), KeyValueCache(3)
    with pytest.raises(ValueError, match="room for 3"):
        layer.decode(tokens(), cache)
    layer.decode(tokens(3)[:1], cache)  # another batch
    assert cache.length == 3


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: KeyValueCache(0), "at least one"),
        (lambda: KeyValueCache(3).select(torch.tensor([0])), "empty"),
        (lambda: make_layer().decode(tokens()[0], KeyValueCache(9)), "has shape"),
        (lambda: make_layer().decode(tokens(0), KeyValueCache(9)), "at least one"),
        (
            lambda: KeyValueCache(9).append(torch.zeros(1, 2, 3, 4), torch.zeros(1, 2, 1, 4)),
            "do not fit",
        ),
        (lambda: make_layer().decode(tokens()[..., 1:], KeyValueCache(9)), "query"),
    ],
)
def test_what_does_not_fit_is_refused(call, message):
    with pytest.raises(ValueError, match=message):
        call()


def test_a_cache_of_another_batch_is_refused():
    layer, cache = make_layer(), KeyValueCache(9)
    layer.decode(tokens(2), cache)
    with pytest.raises(ValueError, match="new cache"):
        layer.decode(tokens(1)[:1], cache)
    assert cache.length == 2


def test_a_layer_with_a_convolution_says_that_it_cannot_decode():
    with pytest.raises(NotImplementedError, match="cannot decode"):
        ConvMultiHeadAttention(D, H).decode(tokens().float(), KeyValueCache(T))
