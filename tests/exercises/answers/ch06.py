"""The checks of chapter 6 accept what is right, however written, and name what is wrong."""

import math

import numpy as np
import torch

from exercises import ch06
from utils.positions import SinusoidalPositionalEncoding


def by_shuffles(function, orders=None, tolerance=1e-4, moved=True):
    for _ in range(10):
        x = torch.randn(6, 4)
        order = torch.randperm(6) if orders is None else torch.tensor(orders)
        expected = function(x)[order] if moved else function(x)
        if (function(x[order]) - expected).abs().max() > tolerance:
            return False
    return True


def by_exchanges(function):
    x = torch.randn(5, 4)
    for i in range(4):
        order = torch.arange(5)
        order[[i, i + 1]] = order[[i + 1, i]]
        if not np.allclose(function(x[order]).numpy(), function(x)[order].numpy(), atol=1e-5):
            return np.bool_(False)
    return np.bool_(True)


def table(length, D, first=0, power=1.0, swap=False):
    t = torch.arange(first, first + length).unsqueeze(-1)
    waves = torch.zeros(length, D)
    for d in range(D):
        angle = t[:, 0] / 10_000 ** (power * 2 * (d // 2) / D)
        waves[:, d] = angle.cos() if (d % 2 == 1) != swap else angle.sin()
    return waves


def one_frequency_each(length, D):
    angles = torch.arange(length).unsqueeze(-1) / 10_000 ** (torch.arange(D) / D)
    return torch.where(torch.arange(D) % 2 == 1, angles.cos(), angles.sin())


def in_halves(length, D):
    rows = table(length, D)
    return torch.cat([rows[:, 0::2], rows[:, 1::2]], dim=1)


def shift(n, D, turn=lambda i, D: 10_000 ** (-2 * i / D), swap=False, sign=-1):
    R = torch.zeros(D, D)
    for i in range(D // 2):
        c, s = math.cos(n * turn(i, D)), math.sin(n * turn(i, D))
        if swap:
            c, s = s, c
        R[2 * i : 2 * i + 2, 2 * i : 2 * i + 2] = torch.tensor([[c, s], [sign * s, -sign * c]])
    return R


def shift_by_fitting(n, D, dtype=torch.float64, rows=2000):
    start = max(0, -n)
    table = SinusoidalPositionalEncoding(D).table(start + abs(n) + rows, dtype)
    before, after = table[start : start + rows], table[start + n : start + n + rows]
    return torch.linalg.lstsq(before, after).solution.T


def shift_with_sines_first(n, D):
    in_halves = [*range(0, D, 2), *range(1, D, 2)]
    return torch.tensor([[shift(n, D)[row, column] for column in in_halves] for row in in_halves])


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


def rotate_neighbours(x, positions):
    pairs = torch.view_as_complex(x.unflatten(-1, (4, 2)).contiguous())
    angles = positions.unsqueeze(-1) / 10_000 ** (torch.arange(4) / 4)
    return torch.view_as_real(pairs * torch.polar(torch.ones_like(angles), angles)).flatten(-2)


def rotate_slices(x, positions):
    return rotate(torch.cat([x[..., 0::2], x[..., 1::2]], dim=-1), positions)


def turned(x, positions, power=1.0, sign=1, swap=False):
    angles = positions.unsqueeze(-1) * 10_000 ** -(power * torch.arange(4) / 4)
    cos, sin = (angles.sin(), angles.cos()) if swap else (angles.cos(), angles.sin())
    first, second = x[..., :4], x[..., 4:]
    return torch.cat([first * cos - second * sin, first * sin + sign * second * cos], dim=-1)


RIGHT = {
    ch06.is_equivariant: [by_shuffles, by_exchanges],
    ch06.sinusoidal_table: [table, lambda length, D: SinusoidalPositionalEncoding(D).table(length)],
    ch06.shift_matrix: [shift, shift_by_fitting],
    ch06.rotate_at: [rotate, rotate_by_complex_numbers],
}

WRONG = {
    ch06.is_equivariant: [
        (lambda f: None, "return True or False"),
        (lambda f: by_shuffles(f, moved=False), "in the new order"),
        (lambda f: by_shuffles(f, tolerance=0.0), "room for rounding"),
        (lambda f: by_shuffles(f, [5, 4, 3, 2, 1, 0]), "only read backwards"),
        (lambda f: by_shuffles(f, [1, 2, 3, 4, 5, 0]), "in a circle"),
        (lambda f: by_shuffles(f, [1, 0, 2, 3, 4, 5]), "doubling the last token"),
        (lambda f: by_shuffles(f, [0, 2, 1, 5, 3, 4]), "doubling the first token"),
        (lambda f: by_shuffles(f, [1, 0, 2, 3, 5, 4], 1000000000.0), "positions added"),
    ],
    ch06.sinusoidal_table: [
        (lambda length, D: table(length, D, first=1), "count positions from 0"),
        (lambda length, D: table(length, D, power=0.5), "you have i/D"),
        (lambda length, D: table(length, D, swap=True), "changed places"),
        (one_frequency_each, "sine and cosine share one"),
        (in_halves, "they alternate with the cosines"),
        (lambda length, D: table(length, D, power=-1.0), "exponent is negative"),
        (lambda length, D: table(length, D, power=0.0), "frequency is missing"),
    ],
    ch06.shift_matrix: [
        (lambda n, D: shift(-n, D), "this moves by -n"),
        (lambda n, D: shift(1, D), "by one position, whatever n is"),
        (lambda n, D: shift(n, D, lambda i, D: 1), "turn by the same angle"),
        (lambda n, D: shift(n, D, lambda i, D: 10_000 ** (-i / D)), "you have i/D"),
        (lambda n, D: shift(n, D, swap=True), "changed places."),
        (lambda n, D: shift(n, D, swap=True, sign=1), "and a sign is wrong"),
        (lambda n, D: shift(n, D) * torch.eye(D), "no sines were found"),
        (shift_with_sines_first, "all sines first"),
        (lambda n, D: shift_by_fitting(n, D, torch.float32, 100), "only nearly"),
    ],
    ch06.rotate_at: [
        (lambda x, positions: x, "nothing is rotated"),
        (lambda x, positions: rotate(x, torch.arange(3)), "the positions are not used"),
        (lambda x, positions: rotate(x, positions, way=-1), "turned the wrong way"),
        (rotate_neighbours, "not (2i, 2i + 1)"),
        (rotate_slices, "in another order"),
        (lambda x, p: turned(x, p, power=0.5), "you have i/D_head"),
        (lambda x, p: turned(x, p, power=-1.0), "exponent is negative"),
        (lambda x, p: turned(x, p, power=0.0), "at one speed"),
        (lambda x, p: turned(x, p + 1), "count from 0"),
        (lambda x, p: turned(x, p - p[0]), "count from the first of them"),
        (lambda x, p: turned(x, p - min(p)), "count from the least of them"),
        (lambda x, p: turned(x, p, swap=True), "changed places"),
        (lambda x, p: turned(x, p, sign=-1), "one sign is wrong"),
    ],
}
