"""The positional encodings are their formulas, and do what they promise inside a layer."""

import math

import pytest
import torch

from utils.positions import (
    ALiBi,
    RotaryPositionalEncoding,
    SinusoidalPositionalEncoding,
    alibi_slopes,
)

BEFORE = {"sinusoidal": lambda: SinusoidalPositionalEncoding(8)}
INSIDE = {"rotary": lambda: RotaryPositionalEncoding(4), "ALiBi": lambda: ALiBi(2)}
EVERY_KIND = BEFORE | INSIDE


def apply(kind, x):
    """What an encoding makes of vectors: their sum, or queries and keys, and the mask."""
    module = EVERY_KIND[kind]().to(x.device, x.dtype)
    if kind in BEFORE:
        return [module(x)]
    q = x.unflatten(-1, (2, 4)).transpose(-3, -2)
    return [y for y in module(q, q, None) if y is not None]


def angles(T, width, base=10_000.0, start=0):
    """Position times frequency, (T, pairs), in double precision."""
    frequencies = [base ** (-2 * i / width) for i in range(math.ceil(width / 2))]
    rows = [[t * frequency for frequency in frequencies] for t in range(start, start + T)]
    return torch.tensor(rows, dtype=torch.float64)


@pytest.mark.parametrize("width", [1, 4, 7])
def test_sinusoidal_is_its_formula_with_its_scale_at_any_length(width):
    encoding, expected = SinusoidalPositionalEncoding(width, scale=0.5), angles(500, width)
    expected = torch.stack([expected.sin(), expected.cos()], -1).flatten(1)[:, :width]
    torch.testing.assert_close(encoding.table(500, torch.float64), expected)
    x = torch.randn(2, 7, width, dtype=torch.float64)
    torch.testing.assert_close(encoding(x), x + 0.5 * expected[:7])
    torch.testing.assert_close(encoding(x[0]), encoding(x)[0])  # without a batch
    usual = SinusoidalPositionalEncoding(width)
    torch.testing.assert_close(usual(x), x + expected[:7])


@pytest.mark.parametrize("kind", EVERY_KIND)
def test_dtype_and_device_are_those_of_the_input(kind):
    for dtype in (torch.float64, torch.bfloat16, torch.float16):
        assert all(y.dtype == dtype for y in apply(kind, torch.randn(2, 5, 8, dtype=dtype)))
    assert all(y.device.type == "meta" for y in apply(kind, torch.randn(2, 5, 8, device="meta")))
    # Nothing can be left behind on another device.
    assert not [*EVERY_KIND[kind]().parameters(), *EVERY_KIND[kind]().buffers()]


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
def test_half_precision_is_rounded_late(dtype):
    """2,049 is no float16, and 257 no bfloat16, so angles computed in these would be wrong."""
    encoding = SinusoidalPositionalEncoding(8)
    assert torch.equal(encoding.table(3000, dtype), encoding.table(3000).to(dtype))
    rotary, ones = RotaryPositionalEncoding(4), torch.ones(3000, 4)
    rounded = rotary.rotate(ones.to(dtype)).float()
    torch.testing.assert_close(rounded, rotary.rotate(ones), atol=0.02, rtol=0)


@pytest.mark.parametrize("width", [2, 6])
@pytest.mark.parametrize("start", [0, 5])
def test_rotary_multiplies_pairs_as_complex_numbers(width, start):
    """RoFormer: x times e^(i t theta); dimensions i and i + width / 2 are a pair, as in Llama."""
    q, k = torch.randn(2, 3, 2, 7, width, dtype=torch.float64)
    for base in (10_000.0, 500.0):
        turns = torch.polar(torch.ones(()).double(), angles(7, width, base, start))
        rotated = RotaryPositionalEncoding(width, base)(q, k, mask := object(), start)
        for x, y in zip((q, k), rotated, strict=False):
            turned = torch.complex(*x.chunk(2, -1)) * turns
            torch.testing.assert_close(y, torch.cat([turned.real, turned.imag], -1))
        assert rotated[2] is mask
    assert torch.equal(RotaryPositionalEncoding(width).rotate(q)[:, :, 0], q[:, :, 0])


def slopes_of_the_paper(n):
    """``get_slopes`` of ALiBi's code."""
    if math.log2(n).is_integer():
        start = 2 ** (-(2 ** -(math.log2(n) - 3)))
        return [start * start**i for i in range(n)]
    closest = 2 ** math.floor(math.log2(n))
    return slopes_of_the_paper(closest) + slopes_of_the_paper(2 * closest)[::2][: n - closest]


def test_alibi_has_the_slopes_of_the_paper_and_lowers_scores_by_the_distance():
    for num_heads in range(1, 41):
        assert alibi_slopes(num_heads) == pytest.approx(slopes_of_the_paper(num_heads))
    bias = ALiBi(2).bias(2, 4)
    distance = torch.tensor([[0.0, 1, 2, 3], [1, 0, 1, 2]])
    torch.testing.assert_close(bias, -torch.stack([distance / 16, distance / 256]))


@pytest.mark.parametrize("kind", ["none", "bool", "float"])
def test_alibi_keeps_the_mask_it_is_given(kind):
    alibi, q = ALiBi(2), torch.randn(3, 2, 4, 5)
    allowed = torch.tensor([True, False, True, True]).view(1, 1, 1, 4)
    floats = torch.zeros(1, 1, 1, 4).masked_fill(~allowed, -math.inf)
    given = {"none": None, "bool": allowed, "float": floats}[kind]
    same_q, same_k, mask = alibi(q, q, given)
    expected = alibi.bias(4, 4) + (0 if given is None else floats)
    assert same_q is same_k is q
    assert torch.equal(mask, expected.expand(1, 2, 4, 4))
    later = alibi(q[:, :, :1], q, None, 3)[2]  # the fourth query, and keys from the fourth on
    assert torch.equal(later[0], alibi.bias(4, 7)[:, 3:])
