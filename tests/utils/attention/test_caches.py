"""What is written one token at a time is what is written at once."""

import pytest
import torch

from utils.attention import MultiHeadAttention, combine_masks
from utils.cache import KeyValueCache
from utils.positions import RotaryPositionalEncoding

B, T, D, H = 2, 9, 12, 3


class Near(torch.nn.Module):
    """Positions that change the mask: the farther a key, the lower its score."""

    def forward(self, q, k, mask, start=0):
        queries = torch.arange(start, start + q.shape[2]).unsqueeze(-1)
        bias = -0.1 * (queries - torch.arange(start + k.shape[2])).abs()[None, None].double()
        return q, k, combine_masks(mask, bias)


POSITIONS = {"none": None, "rotary": lambda: RotaryPositionalEncoding(4), "near": Near}


def tokens(length=T):
    return torch.randn(B, length, D, dtype=torch.float64)


def decode(layer, x, steps, cache=None):
    cache = KeyValueCache(T) if cache is None else cache
    return torch.cat([layer.decode(part, cache) for part in x.split(steps, dim=1)], dim=1)


@pytest.mark.parametrize("positions", POSITIONS)
@pytest.mark.parametrize("num_kv_heads", [None, 1])
@pytest.mark.parametrize("steps", [[1] * T, [4, 1, 3, 1], [T]])
def test_decoding_gives_the_causal_forward_pass_token_for_token(
    positions, num_kv_heads, steps, make
):
    made = POSITIONS[positions] and POSITIONS[positions]()
    layer, x = make(MultiHeadAttention, positions=made, num_kv_heads=num_kv_heads), tokens()
    cache = KeyValueCache(T)
    found = decode(layer, x, steps, cache)
    torch.testing.assert_close(found, layer(x, x, x, is_causal=True)[0])
    assert cache.length == T
    assert not found.requires_grad
    other = torch.cat([x[:, :5], tokens(T - 5)], dim=1)  # a later token changes nothing before it
    again = decode(layer, other, steps)
    torch.testing.assert_close(again[:, :5], found[:, :5], rtol=0, atol=1e-12)
    assert not torch.isclose(again[:, 5:], found[:, 5:]).all()


def test_a_prompt_needs_no_mask_of_all_pairs(largest):
    layer, x = (
        MultiHeadAttention(D, H, positions=RotaryPositionalEncoding(4)),
        torch.randn(1, 512, D),
    )
    with largest() as prompt:
        layer.decode(x, KeyValueCache(512))
    assert prompt.bytes < 512 * 512  # not even one byte for each pair


def test_what_does_not_fit_is_refused_and_leaves_the_cache_as_it_was(make):
    layer, cache = make(MultiHeadAttention), KeyValueCache(3)
    for x, message in [
        (tokens(4), "room for 3"),
        (tokens(3)[0], "shape"),
        (tokens(0), "shape"),
        (tokens(3)[..., 1:], "width|shape"),
    ]:
        with pytest.raises(ValueError, match=message):
            layer.decode(x, cache)
        assert cache.length == 0
    layer.decode(tokens(2)[:1], cache)
    for x, message in [(tokens(1), "batch"), (tokens(2)[:1], "room for 3")]:
        with pytest.raises(ValueError, match=message):
            layer.decode(x, cache)
        assert cache.length == 2
    layer.decode(tokens(1)[:1], cache)
    with pytest.raises(ValueError, match="at least one"):
        KeyValueCache(0)
    for k, v in [((1, 2, 3, 4), (1, 2, 1, 4)), ((2, 3, 4), (2, 3, 4))]:
        with pytest.raises(ValueError, match="do not fit"):
            KeyValueCache(9).append(torch.zeros(k), torch.zeros(v))
