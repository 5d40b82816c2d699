"""The positional encodings are their formulas, and do what they promise inside a layer."""

import math

import pytest
import torch

from utils.positions import RotaryPositionalEncoding, SinusoidalPositionalEncoding

EVERY_KIND = {"sinusoidal": SinusoidalPositionalEncoding, "rotary": RotaryPositionalEncoding}


def apply(kind, x):
    """What an encoding makes of vectors: their sum, or rotated queries and keys."""
    module = EVERY_KIND[kind](8).to(x.device, x.dtype)
    return [module(x)] if kind == "sinusoidal" else list(module(x, x, None)[:2])


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
    assert not EVERY_KIND[kind](8).state_dict()


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
