"""The checks of chapter 7 accept what is right, however written, and name what is wrong."""

import math

import torch

from utils.attention import ALiBi, RotaryPositionalEncoding, SinusoidalPositionalEncoding
from utils.checks import ch07

# The table.


def table(length, D, first=0, power=1.0, swap=False):
    t = torch.arange(first, first + length).unsqueeze(-1)
    waves = torch.zeros(length, D)
    for d in range(D):
        angle = t[:, 0] / 10_000 ** (power * 2 * (d // 2) / D)
        waves[:, d] = angle.cos() if (d % 2 == 1) != swap else angle.sin()
    return waves


def table_of_the_package(length, D):
    return SinusoidalPositionalEncoding(D).table(length)


def table_with_numbers(length, D):
    rows = [
        [(math.cos if d % 2 else math.sin)(t / 10_000 ** ((d - d % 2) / D)) for d in range(D)]
        for t in range(length)
    ]
    return torch.tensor(rows, dtype=torch.float64)


def one_frequency_each(length, D):
    angles = torch.arange(length).unsqueeze(-1) / 10_000 ** (torch.arange(D) / D)
    return torch.where(torch.arange(D) % 2 == 1, angles.cos(), angles.sin())


def in_halves(length, D):
    rows = table(length, D)
    return torch.cat([rows[:, 0::2], rows[:, 1::2]], dim=1)


# The shift.


def shift(k, D, turn=lambda i, D: 10_000 ** (-2 * i / D)):
    R = torch.zeros(D, D)
    for i in range(D // 2):
        c, s = math.cos(k * turn(i, D)), math.sin(k * turn(i, D))
        R[2 * i : 2 * i + 2, 2 * i : 2 * i + 2] = torch.tensor([[c, s], [-s, c]])
    return R


def shift_by_complex_numbers(k, D):
    turns = torch.polar(torch.ones(D // 2), k * 10_000 ** -(torch.arange(0, D, 2) / D))
    columns = torch.view_as_complex(torch.eye(D).view(D, D // 2, 2)) * turns.conj()
    return torch.view_as_real(columns).flatten(1).T


def shift_by_powers(k, D):
    return torch.linalg.matrix_power(shift(1, D).double(), k)


# The rotation.


def rotate(x, positions, way=1):
    half = x.shape[-1] // 2
    angles = positions.unsqueeze(-1) * 10_000 ** -(torch.arange(half) / half)
    cos, sin = angles.cos(), way * angles.sin()
    first, second = x[..., :half], x[..., half:]
    return torch.cat([first * cos - second * sin, first * sin + second * cos], dim=-1)


def rotate_by_complex_numbers(x, positions):
    pairs = torch.complex(*x.chunk(2, dim=-1))
    angles = positions.unsqueeze(-1) / 10_000 ** (torch.arange(4) / 4)
    turned = pairs * torch.polar(torch.ones_like(angles), angles)
    return torch.cat([turned.real, turned.imag], dim=-1)


def rotate_a_long_sequence(x, positions):
    long = torch.zeros(*x.shape[:-2], 100, 8)
    long[..., positions, :] = x
    return RotaryPositionalEncoding(8).rotate(long)[..., positions, :]


def rotate_neighbours(x, positions):
    pairs = torch.view_as_complex(x.unflatten(-1, (4, 2)).contiguous())
    angles = positions.unsqueeze(-1) / 10_000 ** (torch.arange(4) / 4)
    return torch.view_as_real(pairs * torch.polar(torch.ones_like(angles), angles)).flatten(-2)


# The bias.


def bias(H, T, S, slope=lambda h, H: 2 ** (-8 * (h + 1) / H), distance=lambda t, s: abs(t - s)):
    rows = [[[-slope(h, H) * distance(t, s) for s in range(S)] for t in range(T)] for h in range(H)]
    return torch.tensor(rows)


def bias_by_broadcasting(H, T, S):
    slopes = torch.logspace(-8 / H, -8, H, base=2)
    gap = torch.arange(S)[None, :] - torch.arange(T)[:, None]
    return torch.einsum("h,ts->hts", -slopes, gap.abs().float())


def bias_of_the_package(H, T, S):
    return ALiBi(H).bias(T, S, torch.float64)


RIGHT = {
    ch07.sinusoidal_table: [table, table_of_the_package, table_with_numbers],
    ch07.shift_matrix: [shift, shift_by_complex_numbers, shift_by_powers],
    ch07.rotate_at: [rotate, rotate_by_complex_numbers, rotate_a_long_sequence],
    ch07.alibi_bias: [bias, bias_by_broadcasting, bias_of_the_package],
}

WRONG = {
    ch07.sinusoidal_table: [
        (lambda length, D: table(length, D, first=1), "count positions from 0"),
        (lambda length, D: table(length, D, power=0.5), "you have i/D"),
        (lambda length, D: table(length, D, swap=True), "changed places"),
        (one_frequency_each, "sine and cosine share one"),
        (in_halves, "they alternate with the cosines"),
    ],
    ch07.shift_matrix: [
        (lambda k, D: shift(-k, D), "this moves by -k"),
        (lambda k, D: shift(k, D).T, "is it transposed"),
        (lambda k, D: shift(1, D), "by one position, whatever k is"),
        (lambda k, D: shift(k, D, lambda i, D: 1), "turn by the same angle"),
        (lambda k, D: shift(k, D) * torch.eye(D), "no sines were found"),
    ],
    ch07.rotate_at: [
        (lambda x, positions: x, "nothing is rotated"),
        (lambda x, positions: rotate(x, torch.arange(3)), "the positions are not used"),
        (lambda x, positions: rotate(x, positions, way=-1), "turned the wrong way"),
        (rotate_neighbours, "not (2i, 2i + 1)"),
    ],
    ch07.alibi_bias: [
        (lambda *sizes: -bias(*sizes), "far keys should lose"),
        (lambda *sizes: bias(*sizes, distance=lambda t, s: t - s), "never negative"),
        (lambda *sizes: bias(*sizes, distance=lambda t, s: max(t - s, 0)), "count as near"),
        (lambda *sizes: bias(*sizes, lambda h, H: 2 ** (-8 * h / H)), "not 1"),
        (lambda *sizes: bias(*sizes, lambda h, H: 0.5 ** (h + 1)), "only for 8 heads"),
        (lambda *sizes: bias(*sizes).flip(0), "head 0 has the largest"),
        (lambda *sizes: bias(*sizes).permute(1, 2, 0), "should come first"),
        (lambda *sizes: bias(*sizes, lambda h, H: 1.0), "multiply it by each head's slope"),
    ],
}
