"""The layer in NumPy alone computes what PyTorch's layer and ours compute, and needs neither."""

import ast
import inspect
import sys

import numpy as np
import pytest
import torch
from torch import nn

from chapters.a1_in_numpy import NumpyMultiHeadAttention, softmax
from utils.attention import MultiHeadAttention

B, T, S, D, H = 2, 4, 5, 12, 3
INF = float("inf")
SIZES = {"usual": {}, "other widths": {"kdim": 7, "vdim": 5}, "no bias": {"bias": False}}


def torch_layer(dtype=torch.float64, **sizes):
    module = nn.MultiheadAttention(D, H, batch_first=True, **sizes)
    for parameter in module.parameters():  # PyTorch starts with biases of zero
        nn.init.normal_(parameter, std=0.5)
    return module.to(dtype).eval()


def inputs(module):
    sizes = {"query": (T, D), "key": (S, module.kdim), "value": (S, module.vdim)}
    dtype = module.out_proj.weight.dtype
    return {name: torch.randn(B, *size, dtype=dtype) for name, size in sizes.items()}


def masks():
    """Masks of each kind; no query is left without a key."""
    padding = torch.arange(S).expand(B, S) > torch.tensor([[2], [4]])
    square, cube = torch.rand(T, S) < 0.4, torch.rand(B * H, T, S) < 0.4
    square[:, 0] = cube[..., 0] = False
    floats = torch.randn(B * H, T, S)
    return [
        {},
        {"key_padding_mask": padding, "attn_mask": cube},
        {"key_padding_mask": torch.randn(B, S), "attn_mask": floats},
        {"attn_mask": square},
        {"attn_mask": floats[0].masked_fill(square, -INF)},
    ]


def assert_same(module, expected, given, **call):
    """Sums of D products, one after the other, in whatever order the processor takes them."""
    layer = NumpyMultiHeadAttention(module.state_dict(), H)
    arrays = {name: np.asarray(x) for name, x in given.items()}
    for got, wanted in zip(layer(**arrays, **call), expected, strict=True):
        assert (got is None) == (wanted is None)
        if got is not None:
            assert got.dtype == wanted.numpy().dtype
            most = 16 * D * np.finfo(got.dtype).eps
            np.testing.assert_allclose(got, wanted.numpy(), rtol=0, atol=most)


@torch.no_grad()
@pytest.mark.parametrize("sizes", SIZES.values(), ids=SIZES)
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_equals_pytorchs_layer(sizes, dtype):
    module = torch_layer(dtype, **sizes)
    given = inputs(module)
    for mask in masks():
        # PyTorch asks for floating masks in the dtype of the input.
        of_dtype = {n: m if m.dtype == torch.bool else m.to(dtype) for n, m in mask.items()}
        for call in ({}, {"average_attn_weights": False}, {"need_weights": False}):
            assert_same(module, module(**given, **of_dtype, **call), given | of_dtype, **call)


@torch.no_grad()
def test_equals_our_layer_where_pytorchs_gives_no_number():
    module = torch_layer()
    padding = torch.tensor([[True] * S, [False] * S])  # nothing left to attend to
    given = inputs(module) | {"key_padding_mask": padding}
    call = {"is_causal": True, "average_attn_weights": False}
    expected = MultiHeadAttention.from_torch(module)(**given, **call)
    assert not expected[1][0].any()
    assert_same(module, expected, given, **call)


def test_is_called_as_the_layer_is():
    ours, layers = (
        inspect.signature(function).parameters
        for function in (NumpyMultiHeadAttention.__call__, MultiHeadAttention.forward)
    )
    assert [(n, p.default) for n, p in ours.items()] == [(n, p.default) for n, p in layers.items()]


def test_softmax_neither_overflows_nor_hides_what_is_no_number():
    with np.errstate(over="raise", invalid="raise"):
        np.testing.assert_allclose(softmax(np.array([1e4, 1e4, -1e4])), [0.5, 0.5, 0])
        np.testing.assert_array_equal(
            softmax(np.array([[-INF, -INF], [-INF, 3]])), [[0, 0], [0, 1]]
        )
    assert np.isnan(softmax(np.array([np.nan, 1.0]))).all()


def test_needs_no_framework():
    tree = ast.parse(inspect.getsource(sys.modules[NumpyMultiHeadAttention.__module__]))
    whole = {a.name for n in ast.walk(tree) if isinstance(n, ast.Import) for a in n.names}
    parts = {n.module for n in ast.walk(tree) if isinstance(n, ast.ImportFrom)}
    names = {str(name).partition(".")[0] for name in whole | parts}
    assert names <= {"numpy", *sys.stdlib_module_names}


@pytest.mark.parametrize(
    ("given", "error", "says"),
    [
        ({"query": np.zeros((B, T, 5))}, ValueError, "query"),
        ({"key": np.zeros((S, D))}, ValueError, "key"),
        ({"value": np.zeros((B, S + 1, D))}, ValueError, "value"),
        ({"query": np.zeros((1, T, D))}, ValueError, "batch"),
        ({"attn_mask": np.ones((T, S), int)}, TypeError, "attn_mask has dtype"),
        ({"attn_mask": np.ones((S, T), bool)}, ValueError, "attn_mask has shape"),
        ({"key_padding_mask": np.ones((B, T), bool)}, ValueError, "key_padding_mask has shape"),
    ],
)
def test_says_what_does_not_fit(given, error, says):
    layer = NumpyMultiHeadAttention(torch_layer().state_dict(), H)
    x = np.zeros((B, S, D))
    with pytest.raises(error, match=says):
        layer(**({"query": x[:, :T], "key": x, "value": x} | given))


@pytest.mark.parametrize(("num_heads", "extra"), [(5, {}), (0, {}), (H, {"add_bias_kv": True})])
def test_refuses_a_layer_that_it_cannot_be(num_heads, extra):
    with pytest.raises(ValueError, match=r"num_heads|add_bias_kv"):
        NumpyMultiHeadAttention(torch_layer(**extra).state_dict(), num_heads)
