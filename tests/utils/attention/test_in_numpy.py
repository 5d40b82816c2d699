"""The layer in NumPy alone computes what PyTorch's layer and ours compute, and needs neither."""

import ast
import inspect
import sys

import numpy as np
import pytest
import torch
from torch import nn

from utils.attention import (
    AttentionLayer,
    MultiHeadAttention,
    NumpyMultiHeadAttention,
    softmax,
)
from utils.attention import in_numpy as module_in_numpy

B, T, S, D, H = 2, 4, 5, 12, 3
INF = float("inf")
SIZES = {
    "as wide as the model": {},
    "other widths": {"kdim": 7, "vdim": 5},
    "no bias": {"bias": False},
    "other widths, no bias": {"kdim": 7, "vdim": 5, "bias": False},
}


def torch_layer(dtype=torch.float32, **sizes):
    torch.manual_seed(0)
    module = nn.MultiheadAttention(D, H, batch_first=True, **sizes)
    for name, parameter in module.named_parameters():  # PyTorch starts with biases of zero
        if "bias" in name:
            nn.init.normal_(parameter)
    return module.to(dtype).eval()


def inputs(module, batch=B):
    torch.manual_seed(1)
    sizes = {"query": (T, D), "key": (S, module.kdim), "value": (S, module.vdim)}
    dtype = module.out_proj.weight.dtype
    return {name: torch.randn(batch, *size, dtype=dtype) for name, size in sizes.items()}


def masks():
    """Masks of each kind; no query is left without a key."""
    torch.manual_seed(2)
    padding = torch.zeros(B, S).bool()
    padding[0, -2:] = True
    square, cube = torch.rand(T, S) < 0.4, torch.rand(B * H, T, S) < 0.4
    square[:, 0] = cube[..., 0] = False
    return {
        "none": {},
        "padding": {"key_padding_mask": padding},
        "padding, floats": {"key_padding_mask": torch.randn(B, S)},
        "one for all": {"attn_mask": square},
        "one a head": {"attn_mask": cube},
        "floats": {"attn_mask": torch.randn(T, S).masked_fill(square, -INF)},
        "floats, one a head": {"attn_mask": torch.randn(B * H, T, S)},
        "both": {"key_padding_mask": padding, "attn_mask": cube},
    }


def in_numpy(module, given, **call):
    layer = NumpyMultiHeadAttention(module.state_dict(), module.num_heads)
    arrays = {
        name: x.numpy() if isinstance(x, torch.Tensor) else x for name, x in (given | call).items()
    }
    return layer(**arrays)


def assert_close(got, expected):
    """Sums of D products, one after the other, in whatever order the processor takes them."""
    assert got.dtype == expected.numpy().dtype
    tolerance = 4 * D * np.finfo(got.dtype).eps
    np.testing.assert_allclose(got, expected.numpy(), rtol=0, atol=tolerance)


@torch.no_grad()
@pytest.mark.parametrize("mask", masks().values(), ids=masks())
@pytest.mark.parametrize("sizes", SIZES.values(), ids=SIZES)
@pytest.mark.parametrize("average", [True, False])
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_equals_pytorchs_layer(sizes, mask, average, dtype):
    module = torch_layer(dtype, **sizes)
    given = inputs(module)
    # PyTorch asks for floating masks in the dtype of the input.
    mask = {name: m if m.dtype == torch.bool else m.to(dtype) for name, m in mask.items()}
    expected = module(**given, **mask, average_attn_weights=average)
    output, weights = in_numpy(module, given, **mask, average_attn_weights=average)
    assert_close(output, expected[0])
    assert_close(weights, expected[1])


@torch.no_grad()
@pytest.mark.parametrize("sizes", SIZES.values(), ids=SIZES)
def test_equals_our_layer_where_pytorchs_gives_no_number(sizes):
    module = torch_layer(**sizes)
    given = inputs(module)
    padding = torch.zeros(B, S).bool()
    padding[0] = True  # nothing left to attend to
    call = {"key_padding_mask": padding, "is_causal": True, "average_attn_weights": False}
    expected = MultiHeadAttention.from_torch(module)(**given, **call)
    output, weights = in_numpy(module, given, **call)
    assert_close(output, expected[0])
    assert_close(weights, expected[1])
    assert not weights[0].any()
    np.testing.assert_allclose(weights[1].sum(axis=-1), 1, rtol=1e-6)
    bias = module.out_proj.bias
    np.testing.assert_allclose(output[0], np.zeros((T, D)) if bias is None else [bias] * T)


def test_weights_are_left_out_where_they_are_not_asked_for():
    module = torch_layer()
    assert in_numpy(module, inputs(module), need_weights=False)[1] is None


def test_is_called_as_the_layer_is():
    ours, layers = (
        inspect.signature(function)
        for function in (NumpyMultiHeadAttention.__call__, AttentionLayer.forward)
    )
    assert list(ours.parameters) == list(layers.parameters)
    for name, parameter in layers.parameters.items():
        assert ours.parameters[name].default == parameter.default


def test_softmax_neither_overflows_nor_hides_what_is_no_number():
    with np.errstate(over="raise", invalid="raise"):
        np.testing.assert_allclose(softmax(np.array([1e4, 1e4, -1e4])), [0.5, 0.5, 0])
        np.testing.assert_array_equal(
            softmax(np.array([[-INF, -INF], [-INF, 3]])), [[0, 0], [0, 1]]
        )
    assert np.isnan(softmax(np.array([np.nan, 1.0]))).all()


def test_needs_no_framework():
    tree = ast.parse(inspect.getsource(module_in_numpy))
    whole = {a.name for n in ast.walk(tree) if isinstance(n, ast.Import) for a in n.names}
    parts = {n.module for n in ast.walk(tree) if isinstance(n, ast.ImportFrom)}
    names = {str(name).partition(".")[0] for name in whole | parts}
    assert names <= {"numpy", *sys.stdlib_module_names}


@pytest.mark.parametrize(
    ("given", "error", "says"),
    [
        ({"query": np.zeros((B, T, 5))}, ValueError, "query has shape"),
        ({"key": np.zeros((S, D))}, ValueError, "key has shape"),
        ({"value": np.zeros((B, S + 1, D))}, ValueError, "every key needs one value"),
        ({"query": np.zeros((1, T, D))}, ValueError, "the same batch"),
        ({"attn_mask": np.ones((T, S), int)}, TypeError, "attn_mask has dtype int64"),
        ({"attn_mask": np.ones((S, T), bool)}, ValueError, r"expected \(4, 5\) or \(6, 4, 5\)"),
        ({"key_padding_mask": np.ones((B, T), bool)}, ValueError, r"expected \(2, 5\)"),
    ],
)
def test_says_what_does_not_fit(given, error, says):
    layer = NumpyMultiHeadAttention(torch_layer().state_dict(), H)
    arrays = {
        "query": np.zeros((B, T, D)),
        "key": np.zeros((B, S, D)),
        "value": np.zeros((B, S, D)),
    }
    with pytest.raises(error, match=says):
        layer(**(arrays | given))


@pytest.mark.parametrize(("num_heads", "extra"), [(5, {}), (0, {}), (H, {"add_bias_kv": True})])
def test_refuses_a_layer_that_it_cannot_be(num_heads, extra):
    state = torch_layer(**extra).state_dict()
    with pytest.raises(ValueError, match=r"must be a multiple|no counterpart"):
        NumpyMultiHeadAttention(state, num_heads)
