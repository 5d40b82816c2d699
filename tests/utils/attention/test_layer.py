"""The layers are drop-in for PyTorch's: same call, same outputs, gradients, draws and weights."""

import copy

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from torch import nn

from utils.attention import MultiHeadAttention
from utils.fast import FastMultiHeadAttention
from utils.naive import NaiveMultiHeadAttention

B, D, H = 2, 12, 3
INF = float("inf")
LAYERS = [NaiveMultiHeadAttention, MultiHeadAttention, FastMultiHeadAttention]
SIZES = {
    "usual": {},
    "no bias": {"bias": False},
    "other keys": {"kdim": 7},
    "other values, no bias": {"vdim": 7, "bias": False},
    "other keys and values": {"kdim": 7, "vdim": 5},
}
MASKS = ["none", "padding", "padding -inf", "2-d", "2-d float", "3-d", "both", "floats"]
all_layers = pytest.mark.parametrize("layer_class", LAYERS)


def make_masks(kind, T, S):
    """Masks of a kind; no query is left without a key, where PyTorch's layer gives NaN."""
    padding = torch.zeros(B, S).bool()
    padding[0, -2:] = True
    square, cube = torch.rand(T, S) < 0.4, torch.rand(B * H, T, S) < 0.4
    square[:, 0] = cube[..., 0] = False
    floats = torch.randn(B * H, T, S, dtype=torch.float64)
    return {
        "none": {},
        "padding": {"key_padding_mask": padding},
        "padding -inf": {"key_padding_mask": floats[0, 0].expand(B, S).masked_fill(padding, -INF)},
        "2-d": {"attn_mask": square},
        "2-d float": {"attn_mask": floats[0]},
        "3-d": {"attn_mask": cube},
        "both": {"key_padding_mask": padding, "attn_mask": cube},
        "floats": {"key_padding_mask": floats[:B, 0], "attn_mask": floats},
    }[kind]


@pytest.fixture
def assert_same_function(run, close):
    def assert_same_function(layer_class, module, given, *arguments, **call):
        """Compare outputs, weights, and the gradients of inputs and parameters."""
        layer = layer_class.from_torch(module)
        found, expected = (
            run(lambda *x: f(*x, *arguments, **call), given, *f.parameters())  # noqa: B023
            for f in (layer, module)
        )
        slopes = copy.deepcopy(module)  # the gradients of its parameters, packed as these are
        for slope, gradient in zip(slopes.parameters(), expected[5:], strict=True):
            slope.data = gradient
        close(found, [*expected[:5], *layer_class.from_torch(slopes).parameters()])

    return assert_same_function


@pytest.mark.parametrize("kind", MASKS)
def test_output_and_gradients_equal_pytorchs_under_each_mask(
    way, kind, need_weights, make, inputs, assert_same_function
):
    call = {"need_weights": need_weights, **make_masks(kind, *way[1])}
    given = inputs(*way[1], vdim=D)
    assert_same_function(way[0], make(nn.MultiheadAttention), given, **call)


@pytest.mark.parametrize("sizes", SIZES.values(), ids=SIZES)
@pytest.mark.parametrize("batch", [(B,), ()], ids=["batch", "no batch"])
def test_output_and_gradients_equal_pytorchs_for_other_sizes(
    way, sizes, batch, make, inputs, assert_same_function
):
    given = inputs(*way[1], batch, sizes.get("kdim", D), sizes.get("vdim", D))
    padding, cube = make_masks("both", *way[1]).values()
    masks = (padding, cube) if batch else (padding[0], cube[:H])
    call = (masks[0], True, masks[1], False)  # in the order of PyTorch's arguments
    assert_same_function(way[0], make(nn.MultiheadAttention, **sizes), given, *call)


@all_layers
@pytest.mark.parametrize("sizes", [(4, 6), (6, 4), (1, 60)])
@pytest.mark.parametrize("kind", ["none", "padding", "2-d float"])
def test_is_causal_blocks_later_keys_beside_another_mask(
    layer_class, sizes, kind, need_weights, make, inputs, run, close
):
    layer, masks = make(layer_class), make_masks(kind, *sizes)
    blocked = later = torch.ones(sizes).triu(1).bool()
    if "attn_mask" in masks:
        blocked = masks["attn_mask"].masked_fill(later, -INF)
    found, expected = (
        run(lambda *x: layer(*x, need_weights=need_weights, **masks | call), inputs(*sizes))  # noqa: B023
        for call in ({"is_causal": True}, {"attn_mask": blocked})
    )
    close(found, expected)


@pytest.mark.parametrize("sides", ["B1TS", "1HTS", "11TS", "B11S", "BHT1", "BHTS"])
def test_a_mask_of_four_dimensions_broadcasts(way, need_weights, sides, make, inputs, close):
    layer, full = make(way[0]), dict(zip("BHTS", (B, H, *way[1]), strict=True))
    shape = tuple(1 if side == "1" else full[side] for side in sides)
    padding = torch.arange(full["S"]).expand(B, -1) > 3
    call = {"need_weights": need_weights, "key_padding_mask": padding}
    for mask in (torch.rand(shape) < 0.4, torch.randn(shape).double()):
        cube, given = mask.expand(tuple(full.values())).flatten(0, 1), inputs(*way[1])
        close(layer(*given, attn_mask=mask, **call), layer(*given, attn_mask=cube, **call))


@pytest.mark.parametrize("dtype", [torch.float64, torch.bfloat16, torch.float16])
@pytest.mark.parametrize("kind", ["bool", "float"])
def test_a_query_with_nothing_to_attend_to_gives_zeros_forward_and_backward(
    way, dtype, kind, need_weights, make, inputs
):
    layer, (T, S) = make(way[0], dtype=dtype), way[1]
    given = [x.to(dtype).requires_grad_() for x in inputs(T, S, vdim=D)]
    padding = torch.tensor([[True], [False]]).expand(2, S)  # all of the first
    if kind == "float":
        padding = torch.zeros(padding.shape, dtype=dtype).masked_fill(padding, -INF)
    output, weights = layer(*given, padding, need_weights)
    bias = layer.out_proj.bias.expand_as(output[0])
    assert torch.equal(output[0], bias)  # the heads are zero
    assert not torch.equal(output[1], bias)
    assert output.dtype == dtype
    if need_weights:
        assert weights.dtype == dtype
        assert (weights != 0).any(2).any(1).tolist() == [False, True]
    output.sum().backward()
    assert not any(x.grad[0].any() for x in given)
    assert given[2].grad[1].any()
    assert all(x.grad.isfinite().all() for x in (*given, *layer.parameters()))


@pytest.mark.parametrize("shared", [{}, {"num_kv_heads": 1}], ids=["own keys", "shared keys"])
@pytest.mark.parametrize(("batch", "T", "S"), [(0, 1, 50), (0, 3, 5), (2, 0, 5), (2, 3, 0)])
def test_empty_inputs_give_empty_outputs_and_no_keys_the_bias(
    packed_way, shared, batch, T, S, need_weights, make
):
    layer = make(packed_way[0], **shared)
    query = torch.randn(batch, T, D).double()
    x = torch.randn(batch, S, D).double().requires_grad_()
    padding, cube = torch.zeros(batch, S) > 0, torch.zeros(batch * H, T, S) > 0
    for masks in ((None, None), (padding, None), (None, cube)):
        output, weights = layer(query, x, x, masks[0], need_weights, masks[1])
        assert output.shape == query.shape
        assert weights is None or weights.shape == (batch, T, S)
        if S == 0:
            torch.testing.assert_close(output, layer.out_proj.bias.expand_as(output))
        (gradient,) = torch.autograd.grad(output.sum(), x)
        assert not gradient.any()


def test_without_weights_nothing_as_large_as_all_pairs_is_made(largest):
    layer, T = MultiHeadAttention(D, H), 512
    x = torch.randn(1, T, D)
    for is_causal in (False, True):
        with torch.no_grad(), largest() as fused:
            layer(x, x, x, need_weights=False, is_causal=is_causal)
        assert fused.bytes < T * T  # not even one byte for each pair
    with largest() as whole:
        layer(x, x, x)
    assert whole.bytes >= 4 * H * T * T


# Dropout.


def test_dropout_draws_what_pytorchs_layer_draws(packed_way, need_weights, make):
    module = make(nn.MultiheadAttention, dropout=0.5)
    layer, x, results = packed_way[0].from_torch(module), torch.randn(2, 6, D).double(), []
    for each in (module, layer):
        torch.manual_seed(7)
        results.append(each(x, x, x, need_weights=need_weights, average_attn_weights=False))
    torch.testing.assert_close(*results)


def test_dropout_zeroes_weights_scales_the_others_and_mixes_with_them(way, make, inputs, close):
    layer, (q, k, _) = make(way[0], dropout=0.5), inputs(*way[1], batch=(9,))
    output, dropped = layer(q, k, k, average_attn_weights=False)
    v = torch.cat([part(k) for part in layer.projections("v")], dim=-1)
    heads = dropped @ v.view(9, -1, H, D // H).transpose(1, 2)
    close(output, layer.out_proj(heads.transpose(1, 2).flatten(2)))
    plain, weights = layer.eval()(q, k, k, average_attn_weights=False)
    close(weights.sum(-1), torch.ones(weights.shape[:-1]).double())
    zero = dropped == 0
    assert 0.3 < zero.float().mean() < 0.7
    close(dropped[~zero], 2 * weights[~zero])
    assert torch.equal(layer(q, k, k)[0], plain)


# What goes from PyTorch's layer and back, and into PyTorch's block.


@all_layers
@pytest.mark.parametrize("sizes", SIZES.values(), ids=SIZES)
def test_weights_come_back_from_the_round_trip_exactly(layer_class, sizes, make):
    for dtype in (torch.float64, torch.bfloat16):
        module = make(nn.MultiheadAttention, dtype=dtype, dropout=0.25, **sizes)
        before = copy.deepcopy(module.train(dtype == torch.float64).state_dict())
        layer = layer_class.from_torch(module)
        back = layer.to_torch()
        assert list(back.state_dict()) == list(before)
        for name, tensor in back.state_dict().items():
            assert tensor.dtype == dtype
            assert torch.equal(tensor, before[name])
            assert torch.equal(module.state_dict()[name], before[name])  # the source is untouched
            assert tensor.data_ptr() != module.state_dict()[name].data_ptr()
        for other in (layer, back):
            assert all(part.training is module.training for part in other.modules())
            for name in ("embed_dim", "num_heads", "dropout", "kdim", "vdim", "batch_first"):
                assert getattr(other, name) == getattr(module, name)
        layer_class.from_torch(back).load_state_dict(layer.state_dict())


@pytest.mark.parametrize("layer_class", LAYERS)
def test_the_constructor_takes_what_pytorchs_takes_and_draws_glorot_weights(layer_class):
    layer = layer_class(
        D, H, dropout=0.1, bias=False, add_bias_kv=False, add_zero_attn=False, kdim=5, vdim=7,
        batch_first=True, device="cpu", dtype=torch.float64,
    )  # fmt: skip
    assert not any("bias" in name for name, _ in layer.named_parameters())
    query, key, value = (torch.randn(B, 4, width, dtype=torch.float64) for width in (D, 5, 7))
    assert layer(query, key, value)[0].shape == query.shape
    assert {p.device.type for p in layer_class(D, H, device="meta").parameters()} == {"meta"}
    layer = layer_class(np.int64(64), np.int32(4), kdim=32)
    assert layer.dropout == 0
    for name, parameter in layer.named_parameters():
        bound = (6 / sum(parameter.shape[:2])) ** 0.5
        least = 0 if name.endswith("bias") else bound
        assert 0.8 * least <= parameter.abs().max() <= least


def test_pytorchs_encoder_block_takes_our_layer(packed_way, inputs, close):
    block = nn.TransformerEncoderLayer(D, H, 16, 0.0, F.gelu, batch_first=True).double()
    expected = copy.deepcopy(block)
    block.self_attn = packed_way[0].from_torch(block.self_attn)
    x, padding = inputs(4, 6)[1], torch.arange(6).expand(B, 6) > 3
    for training in (True, False):
        block.train(training)
        expected.train(training)
        close(block(x, src_key_padding_mask=padding), expected(x, src_key_padding_mask=padding))
    assert nn.TransformerEncoder(block, 2, enable_nested_tensor=False)(x).shape == x.shape
