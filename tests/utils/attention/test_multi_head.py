"""The attention itself: PyTorch's function, the properties of the definition, and its edges."""

import sys
from pathlib import Path

import pytest
import torch
import torch.nn.functional as F
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import nn

from utils.attention import (
    FastMultiHeadAttention,
    MultiHeadAttention,
    NaiveMultiHeadAttention,
    scaled_dot_product_attention,
)

LAYERS = [NaiveMultiHeadAttention, MultiHeadAttention, FastMultiHeadAttention]
DTYPES = [torch.float32, torch.float64, torch.bfloat16, torch.float16]
LONG, SHORT = (4, 6), (1, 60)  # queries and keys: projected, and absorbed

all_layers = pytest.mark.parametrize("layer_class", LAYERS)
few_examples = settings(max_examples=15)
sizes = st.fixed_dictionaries(
    {
        "layer_class": st.sampled_from(LAYERS),
        "batch": st.integers(1, 3),
        "heads": st.integers(1, 4),
        "head_dim": st.integers(1, 4),
        "queries": st.integers(1, 5),
        "keys": st.one_of(st.integers(1, 6), st.just(70)),  # 70: one query is then absorbed
        "kdim": st.integers(1, 6),
        "vdim": st.integers(1, 6),
        "seed": st.integers(0, 1000),
    }
)


def build(
    layer_class, batch, heads, head_dim, queries, keys, kdim, vdim, seed, dtype=torch.float64
):
    """A layer, its inputs, and a blocked mask (B * H, T, S) that leaves some rows empty."""
    torch.manual_seed(seed)
    D = heads * head_dim
    layer = layer_class(D, heads, kdim=kdim, vdim=vdim).to(torch.float64)
    for parameter in layer.parameters():
        if parameter.dim() == 1:
            nn.init.normal_(parameter)
    shapes = [(batch, queries, D), (batch, keys, kdim), (batch, keys, vdim)]
    tensors = [torch.randn(shape, dtype=torch.float64).to(dtype) for shape in shapes]
    blocked = torch.rand(batch * heads, queries, keys) < 0.6
    return layer.to(dtype), tensors, blocked


@given(sizes, st.sampled_from(DTYPES[:3]), st.booleans(), st.booleans())
@few_examples
def test_shapes_and_dtypes_are_those_of_the_contract(size, dtype, average, need_weights):
    layer, (q, k, v), blocked = build(**size, dtype=dtype)
    output, weights = layer(q, k, v, None, need_weights, blocked, average)
    assert output.shape == q.shape
    assert output.dtype == dtype
    assert (weights is None) != need_weights
    if need_weights:
        heads = () if average else (size["heads"],)
        assert weights.shape == (size["batch"], *heads, size["queries"], size["keys"])
        assert weights.dtype == dtype


@given(sizes)
@few_examples
def test_rows_of_the_weights_sum_to_one_or_to_zero(size):
    layer, (q, k, v), blocked = build(**size)
    _, weights = layer(q, k, v, attn_mask=blocked, average_attn_weights=False)
    allowed = ~blocked.view_as(weights)
    torch.testing.assert_close(weights.sum(-1), allowed.any(-1).double())
    assert (weights >= 0).all()
    assert not weights[~allowed].any()


@given(sizes)
@few_examples
def test_permuting_keys_values_and_mask_together_leaves_the_output(size):
    layer, (q, k, v), blocked = build(**size)
    order = torch.randperm(size["keys"])
    output, weights = layer(q, k, v, attn_mask=blocked)
    permuted, permuted_weights = layer(q, k[:, order], v[:, order], attn_mask=blocked[..., order])
    torch.testing.assert_close(permuted, output)
    torch.testing.assert_close(permuted_weights, weights[..., order])


@given(sizes)
@few_examples
def test_permuting_queries_permutes_outputs(size):
    layer, (q, k, v), blocked = build(**size)
    order = torch.randperm(size["queries"])
    output, _ = layer(q, k, v, attn_mask=blocked)
    permuted, _ = layer(q[:, order], k, v, attn_mask=blocked[:, order])
    torch.testing.assert_close(permuted, output[:, order])


@given(sizes, st.booleans())
@few_examples
def test_a_blocked_key_does_not_change_the_output(size, need_weights):
    layer, (q, k, v), _ = build(**size)
    padding = torch.rand(size["batch"], size["keys"]) < 0.5
    output, _ = layer(q, k, v, padding, need_weights)
    k2, v2 = (x + 100 * padding.unsqueeze(-1) for x in (k, v))
    torch.testing.assert_close(layer(q, k2, v2, padding, need_weights)[0], output)


@given(sizes, st.booleans())
@few_examples
def test_float32_and_bfloat16_are_near_float64(size, need_weights):
    outputs = {}
    for dtype in DTYPES[:3]:
        layer, tensors, blocked = build(**size, dtype=dtype)
        outputs[dtype] = layer(*tensors, None, need_weights, blocked)[0].double()
    exact = outputs[torch.float64]
    for dtype, tolerance in {torch.float32: 1e-5, torch.bfloat16: 0.1}.items():
        assert (outputs[dtype] - exact).abs().max() < tolerance * (1 + exact.abs().max())


@given(sizes, st.booleans())
@few_examples
def test_the_naive_layer_equals_the_efficient_ones(size, need_weights):
    layer, tensors, blocked = build(**size)
    other = NaiveMultiHeadAttention.from_torch(layer.to_torch())
    call = {"need_weights": need_weights, "attn_mask": blocked, "average_attn_weights": False}
    for efficient_class in (MultiHeadAttention, FastMultiHeadAttention):
        efficient = efficient_class.from_torch(layer.to_torch())
        for got, wanted in zip(efficient(*tensors, **call), other(*tensors, **call), strict=True):
            torch.testing.assert_close(got, wanted)


def test_the_weights_are_never_made_where_nobody_asks_for_them(monkeypatch):
    def refuse(*_, **__):
        raise AssertionError("the weights were computed")

    monkeypatch.setattr("utils.attention.dot_product.masked_softmax", refuse)
    x = torch.randn(2, 4, 8)
    MultiHeadAttention(8, 2)(x, x, x, need_weights=False)
    with pytest.raises(AssertionError, match="the weights were computed"):
        MultiHeadAttention(8, 2)(x, x, x)


@all_layers
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("kind", ["bool", "float"])
@pytest.mark.parametrize("need_weights", [True, False])
@pytest.mark.parametrize("queries_keys", [LONG, SHORT])
def test_a_query_with_nothing_to_attend_to_gives_zeros_forward_and_backward(
    layer_class, dtype, kind, need_weights, queries_keys
):
    torch.manual_seed(0)
    layer = layer_class(8, 2).to(dtype)
    for projection in layer.modules():
        if isinstance(projection, nn.Linear):
            nn.init.normal_(projection.bias)
    q, k, v = (torch.randn(2, n, 8).to(dtype) for n in (queries_keys[0], *2 * queries_keys[1:]))
    for x in (q, k, v):
        x.requires_grad_()
    padding = torch.tensor([[True], [False]]).expand(2, queries_keys[1])  # all of the first
    if kind == "float":
        padding = torch.zeros(padding.shape, dtype=dtype).masked_fill(padding, -float("inf"))
    output, weights = layer(q, k, v, padding, need_weights)
    assert torch.equal(output[0], layer.out_proj.bias.expand_as(output[0]))  # the heads are zero
    assert not torch.equal(output[1], layer.out_proj.bias.expand_as(output[1]))
    if need_weights:
        assert not weights[0].any()
        assert weights[1].any()
    output.sum().backward()
    assert not any(x.grad[0].any() for x in (q, k, v))
    assert v.grad[1].any()
    assert all(x.grad.isfinite().all() for x in (q, k, v, *layer.parameters()))


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("kind", ["bool", "float"])
def test_an_empty_row_of_the_function_is_zero_forward_and_backward(dtype, kind):
    q, k, v = (torch.randn(2, 3, 4).to(dtype).requires_grad_() for _ in range(3))
    mask = torch.tensor([[True, True, False], [False, False, False], [True, False, True]])
    if kind == "float":
        mask = torch.zeros(3, 3, dtype=dtype).masked_fill(~mask, -float("inf"))
    output, weights = scaled_dot_product_attention(q, k, v, mask)
    assert not output[:, 1].any()
    assert not weights[:, 1].any()
    assert weights[:, 0].any()
    output.sum().backward()
    assert all(x.grad.isfinite().all() for x in (q, k, v))


def function_masks():
    torch.manual_seed(3)
    allowed = torch.rand(2, 1, 4, 5) < 0.6
    allowed[..., 0] = True
    return {
        "none": {},
        "causal": {"is_causal": True},
        "bool": {"attn_mask": allowed},
        "bool, one row": {"attn_mask": allowed[0, 0, :1]},
        "float": {"attn_mask": torch.randn(4, 5, dtype=torch.float64)},
    }


@pytest.mark.parametrize("kind", function_masks())
@pytest.mark.parametrize("value_width", [6, 3])
def test_the_function_equals_pytorchs_forward_and_backward(kind, value_width):
    torch.manual_seed(0)
    shapes = [(2, 3, 4, 6), (2, 3, 5, 6), (2, 3, 5, value_width)]
    tensors = [torch.randn(shape, dtype=torch.float64, requires_grad=True) for shape in shapes]
    output, weights = scaled_dot_product_attention(*tensors, **function_masks()[kind])
    expected = F.scaled_dot_product_attention(*tensors, **function_masks()[kind])
    torch.testing.assert_close(output, expected)
    torch.testing.assert_close(weights @ tensors[2], expected)
    slope = torch.randn_like(expected)
    gradients = [torch.autograd.grad((y * slope).sum(), tensors) for y in (output, expected)]
    for got, wanted in zip(*gradients, strict=True):
        torch.testing.assert_close(got, wanted)


@pytest.mark.parametrize(
    ("shapes", "message"),
    [
        ([(4, 6), (5, 7), (5, 6)], r"query \(4, 6\), key \(5, 7\) and value \(5, 6\) do not fit"),
        ([(4, 6), (5, 6), (4, 6)], "key and value the same length"),
        ([(4, 6), (5, 6), (5, 6), (5, 4)], r"attn_mask has shape \(5, 4\), .* shape \(4, 5\)"),
        ([(4, 6), (5, 6), (5, 6), (2, 4, 5)], r"attn_mask has shape \(2, 4, 5\)"),
    ],
)
def test_shapes_that_do_not_fit_the_function_are_refused(shapes, message):
    q, k, v, *mask = (torch.zeros(shape) for shape in shapes)
    with pytest.raises(ValueError, match=message):
        scaled_dot_product_attention(q, k, v, *(m.bool() for m in mask))


def test_a_mask_of_integers_is_refused_by_the_function():
    x = torch.zeros(4, 6)
    with pytest.raises(TypeError, match="attn_mask has dtype"):
        scaled_dot_product_attention(x, x, x, torch.ones(4, 4).long())


@pytest.mark.parametrize("need_weights", [True, False])
def test_from_the_call_to_the_kernel_one_reads_two_files_and_eight_functions(need_weights):
    layer, x, functions = MultiHeadAttention(8, 2), torch.randn(2, 3, 8), set()
    package = Path(sys.modules["utils.attention"].__file__).parent

    def trace(frame, event, _):
        code, depth = frame.f_code, frame
        while depth := depth.f_back:  # what the kernel does is not part of the way to it
            if depth.f_code is scaled_dot_product_attention.__code__:
                return
        if event == "call" and Path(code.co_filename).is_relative_to(package):
            functions.add((Path(code.co_filename).name, code.co_name))

    before = sys.getprofile()
    sys.setprofile(trace)
    try:
        layer(x, x, x, need_weights=need_weights)
    finally:
        sys.setprofile(before)
    functions.discard(("dot_product.py", "scaled_dot_product_attention"))
    assert {file for file, _ in functions} == {"layer.py", "multi_head.py"}
    assert {"forward", "attend", "split_heads", "join_heads"} <= {name for _, name in functions}
    assert len(functions) <= 8
