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


RIGHT = {
    ch06.is_equivariant: [by_shuffles, by_exchanges],
    ch06.both_ways: [0.5, torch.tensor(0.51), np.float64(0.48)],
}

WRONG = {
    ch06.is_equivariant: [(lambda f: None, "return True or False")],
    ch06.both_ways: [(50, "from 0 to 1"), (float("nan"), "from 0 to 1")],
}
