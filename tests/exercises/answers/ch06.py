"""The checks of chapter 6 accept what is right, however written, and name what is wrong."""

import numpy as np
import torch

from exercises import ch06


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


def rotate(x, places, way=1):
    angles = places.unsqueeze(-1) * 10_000 ** -(torch.arange(4) / 4)
    cos, sin = angles.cos(), way * angles.sin()
    turned = torch.empty_like(x)
    turned[..., 0::2] = x[..., 0::2] * cos - x[..., 1::2] * sin
    turned[..., 1::2] = x[..., 0::2] * sin + x[..., 1::2] * cos
    return turned


def by_complex_numbers(x, places):
    pairs = torch.view_as_complex(x.unflatten(-1, (4, 2)).contiguous())
    angles = places.unsqueeze(-1) / 10_000 ** (torch.arange(4) / 4)
    return torch.view_as_real(pairs * torch.polar(torch.ones_like(angles), angles)).flatten(-2)


def in_halves(x, places):
    pairs = torch.complex(*x.chunk(2, dim=-1))
    angles = places.unsqueeze(-1) / 10_000 ** (torch.arange(4) / 4)
    turned = pairs * torch.polar(torch.ones_like(angles), angles)
    return torch.cat([turned.real, turned.imag], dim=-1)


def joined_in_halves(x, places):
    return in_halves(torch.cat([x[..., 0::2], x[..., 1::2]], dim=-1), places)


def turned(x, places, power=1.0, sign=1, swap=False):
    angles = places.unsqueeze(-1) * 10_000 ** -(power * torch.arange(4) / 4)
    cos, sin = (angles.sin(), angles.cos()) if swap else (angles.cos(), angles.sin())
    first, second = x[..., 0::2], x[..., 1::2]
    pairs = [first * cos - second * sin, first * sin + sign * second * cos]
    return torch.stack(pairs, dim=-1).flatten(-2)


RIGHT = {
    ch06.is_equivariant: [by_shuffles, by_exchanges],
    ch06.rotate_neighbours: [rotate, by_complex_numbers],
    ch06.both_ways: [0.5, torch.tensor(0.51), np.float64(0.48)],
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
    ch06.rotate_neighbours: [
        (lambda x, places: x, "nothing is rotated"),
        (lambda x, places: rotate(x, torch.arange(3)), "the places are not used"),
        (lambda x, places: rotate(x, places, way=-1), "turned the wrong way"),
        (in_halves, "as in the chapter"),
        (joined_in_halves, "in another order"),
        (lambda x, p: turned(x, p, power=0.5), "you have i/D_head"),
        (lambda x, p: turned(x, p, power=-1.0), "exponent is negative"),
        (lambda x, p: turned(x, p, power=0.0), "at one speed"),
        (lambda x, p: turned(x, p + 1), "count from 0"),
        (lambda x, p: turned(x, p - p[0]), "count from the first of them"),
        (lambda x, p: turned(x, p, swap=True), "changed places"),
        (lambda x, p: turned(x, p, sign=-1), "one sign is wrong"),
    ],
    ch06.both_ways: [
        (1.0, "on either side"),
        (0.98, "on either side"),
        (0.75, "backwards"),
        (0.0, "more often than right"),
        (50, "from 0 to 1"),
        (float("nan"), "from 0 to 1"),
        (None, "should be a number"),
    ],
}
