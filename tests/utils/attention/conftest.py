"""Layers with large weights, inputs for them, masks, and how large the largest piece of memory is.

``way`` is a class of layer with a number of queries and of keys: the fast layer projects the keys
of long sequences, and absorbs those of short ones.
"""

from pathlib import Path

import pytest
import torch
from torch import nn

from utils.attention import MultiHeadAttention
from utils.fast import FastMultiHeadAttention
from utils.naive import NaiveMultiHeadAttention

B, D, H = 2, 12, 3
PACKED = {
    "packed": (MultiHeadAttention, (4, 6)),
    "fast": (FastMultiHeadAttention, (4, 6)),
    "absorbed": (FastMultiHeadAttention, (1, 60)),
}
WAYS = {"naive": (NaiveMultiHeadAttention, (4, 6)), **PACKED}


@pytest.fixture(params=WAYS.values(), ids=WAYS)
def way(request):
    return request.param


@pytest.fixture(params=PACKED.values(), ids=PACKED)
def packed_way(request):
    return request.param


@pytest.fixture(params=[True, False], ids=["weights", "no weights"])
def need_weights(request):
    return request.param


def shared(function):
    """Make a fixture that gives this function."""
    return pytest.fixture(scope="session", name=function.__name__)(lambda: function)


@shared
def make(layer_class, *sizes, dtype=torch.float64, **options):
    """A layer, ours or PyTorch's, whose biases are not zero."""
    torch.manual_seed(0)
    layer = layer_class(*(sizes or (D, H)), batch_first=True, **options).to(dtype)
    for parameter in layer.parameters():
        nn.init.normal_(parameter, std=0.5)
    return layer


@shared
def inputs(queries, keys, batch=(B,), kdim=D, vdim=None):
    """Query, key and value; the last two are one tensor unless the value has a width."""
    torch.manual_seed(1)
    query = torch.randn(*batch, queries, D, dtype=torch.float64)
    key = torch.randn(*batch, keys, kdim, dtype=torch.float64)
    value = torch.randn(*batch, keys, vdim, dtype=torch.float64) if vdim else key
    return query, key, value


@shared
def masks_of(kind, queries, keys, batch=B):
    torch.manual_seed(2)
    padding = torch.rand(batch, keys) < 0.3
    padding[:, 0] = False
    return {
        "none": {},
        "padding": {"key_padding_mask": padding},
        "float": {"attn_mask": torch.randn(queries, keys, dtype=torch.float64)},
        "causal": {"is_causal": True},
    }[kind]


@shared
def run(function, given, *parameters):
    """What a function gives, and the gradients of something that weighs all of it differently."""
    leaves = {id(x): x.detach().requires_grad_() for x in given}  # one tensor remains one
    given = [leaves[id(x)] for x in given]
    results = function(*given)
    results = [results] if isinstance(results, torch.Tensor) else list(results)
    loss = sum(x.sin().square().sum() for x in results if x is not None)
    return results + list(torch.autograd.grad(loss, [*given, *parameters], materialize_grads=True))


@shared
def close(got, expected):
    torch.testing.assert_close(got, expected, rtol=1e-9, atol=1e-11)


@pytest.fixture
def largest(monkeypatch):
    """The class that notes the largest piece of memory; processes of other tests import it too."""
    monkeypatch.syspath_prepend(Path(__file__).parent)
    from largest import Largest

    return Largest
