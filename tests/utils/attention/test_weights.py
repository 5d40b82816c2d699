"""Weights convert exactly from and to PyTorch's layer; dropout follows PyTorch's as well."""

import pytest
import torch
from torch import nn

from utils.attention import (
    FastMultiHeadAttention,
    MultiHeadAttention,
    NaiveMultiHeadAttention,
    scaled_dot_product_attention,
)

D, H = 12, 3
LAYERS = [NaiveMultiHeadAttention, MultiHeadAttention, FastMultiHeadAttention]
all_layers = pytest.mark.parametrize("layer_class", LAYERS)


def torch_layer(dtype=torch.float32, **options):
    torch.manual_seed(0)
    module = nn.MultiheadAttention(D, H, batch_first=True, dtype=dtype, **options)
    for parameter in module.parameters():
        nn.init.normal_(parameter)
    return module


@all_layers
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.bfloat16, torch.float16])
@pytest.mark.parametrize(
    "options", [{}, {"bias": False}, {"kdim": 5}, {"kdim": 5, "vdim": 7, "bias": False}]
)
def test_weights_come_back_from_the_round_trip_exactly(layer_class, dtype, options):
    module = torch_layer(dtype, **options)
    before = {name: tensor.clone() for name, tensor in module.state_dict().items()}
    back = layer_class.from_torch(module).to_torch()
    assert list(back.state_dict()) == list(before)
    for name, tensor in back.state_dict().items():
        assert tensor.dtype == dtype
        assert torch.equal(tensor, before[name])
        assert torch.equal(module.state_dict()[name], before[name])  # and the source is untouched
        assert tensor.data_ptr() != module.state_dict()[name].data_ptr()


@all_layers
@pytest.mark.parametrize("options", [{}, {"kdim": 5, "vdim": 7}, {"bias": False}])
def test_a_state_dict_of_ours_survives_the_round_trip(layer_class, options):
    layer = layer_class(D, H, **options)
    back = layer_class.from_torch(layer.to_torch())
    assert list(back.state_dict()) == list(layer.state_dict())
    for name, tensor in layer.state_dict().items():
        assert torch.equal(back.state_dict()[name], tensor)
    fresh = layer_class(D, H, **options)
    fresh.load_state_dict(layer.state_dict())
    x, k, v = (torch.randn(2, 4, width) for width in (D, layer.kdim, layer.vdim))
    assert torch.equal(fresh(x, k, v)[0], layer(x, k, v)[0])


@all_layers
@pytest.mark.parametrize("training", [True, False])
def test_mode_sizes_and_dropout_are_converted(layer_class, training):
    module = torch_layer(torch.float64, dropout=0.25, kdim=5).train(training)
    layer = layer_class.from_torch(module)
    back = layer.to_torch()
    for other in (layer, back):
        assert all(part.training is training for part in other.modules())
        assert (other.embed_dim, other.num_heads, other.dropout) == (D, H, 0.25)
        assert (other.kdim, other.vdim, other.batch_first) == (5, D, True)
    assert layer.out_proj.weight.dtype == torch.float64


@all_layers
def test_a_head_gets_its_rows_of_the_packed_weight(layer_class):
    module = torch_layer()
    layer = layer_class.from_torch(module)
    k_rows, v_bias = module.in_proj_weight[D : 2 * D], module.in_proj_bias[2 * D :]
    if layer_class is NaiveMultiHeadAttention:
        k_rows, v_bias = k_rows[D // H :][: D // H], v_bias[D // H :][: D // H]
        projections = layer.heads[1]
    else:
        projections = layer
    assert torch.equal(projections.k_proj.weight, k_rows)
    assert torch.equal(projections.v_proj.bias, v_bias)


@all_layers
@pytest.mark.parametrize("option", ["add_bias_kv", "add_zero_attn"])
def test_what_is_not_in_the_paper_is_not_converted(layer_class, option):
    with pytest.raises(ValueError, match="add_zero_attn"):
        layer_class.from_torch(nn.MultiheadAttention(D, H, **{option: True}))


@all_layers
def test_all_layers_have_as_many_parameters_as_pytorchs(layer_class):
    for options in ({}, {"bias": False}, {"kdim": 5, "vdim": 7}):
        counts = [
            sum(p.numel() for p in layer.parameters())
            for layer in (layer_class(D, H, **options), torch_layer(**options))
        ]
        assert counts[0] == counts[1]


def test_dropout_equals_pytorchs_with_the_same_seed():
    module = torch_layer(dropout=0.5)
    layer = MultiHeadAttention.from_torch(module)
    x = torch.randn(2, 6, D)
    results = []
    for each in (module, layer):
        torch.manual_seed(7)
        results.append(each(x, x, x, average_attn_weights=False))
    for got, wanted in zip(*results, strict=True):
        torch.testing.assert_close(got, wanted, rtol=1e-4, atol=1e-5)
    assert (results[1][1] == 0).any()


@all_layers
@pytest.mark.parametrize("queries_keys", [(6, 6), (1, 80)])
def test_dropout_zeroes_weights_and_scales_the_others_in_training_only(layer_class, queries_keys):
    torch.manual_seed(0)
    layer = layer_class(D, H, dropout=0.5)
    q, k = (torch.randn(4, length, D) for length in queries_keys)
    _, dropped = layer(q, k, k, average_attn_weights=False)
    layer.eval()
    output, weights = layer(q, k, k, average_attn_weights=False)
    torch.testing.assert_close(weights.sum(-1), torch.ones(4, H, queries_keys[0]))
    assert torch.equal(layer(q, k, k, average_attn_weights=False)[0], output)
    zero = dropped == 0
    assert 0.3 < zero.float().mean() < 0.7
    torch.testing.assert_close(dropped[~zero], 2 * weights[~zero])


@all_layers
@pytest.mark.parametrize("queries_keys", [(6, 6), (1, 80)])
def test_the_output_in_training_is_made_with_the_weights_after_dropout(layer_class, queries_keys):
    torch.manual_seed(0)
    layer = layer_class.from_torch(torch_layer(torch.float64, dropout=0.5))
    q, k = (torch.randn(2, n, D, dtype=torch.float64) for n in queries_keys)
    output, weights = layer(q, k, k, average_attn_weights=False)
    v = torch.cat([part(k) for part in layer.projections("v")], dim=-1)
    heads = weights @ v.view(2, -1, H, D // H).transpose(1, 2)
    expected = layer.out_proj(heads.transpose(1, 2).flatten(2))
    torch.testing.assert_close(output, expected)


@all_layers
@pytest.mark.parametrize("queries_keys", [(6, 6), (1, 80)])
def test_dropout_of_one_leaves_no_weight(layer_class, queries_keys):
    layer = layer_class(D, H, dropout=1.0)
    q, k = (torch.randn(2, n, D) for n in queries_keys)
    for need_weights in (True, False):
        output, weights = layer(q, k, k, need_weights=need_weights)
        assert torch.equal(output, layer.out_proj.bias.expand_as(output))
        assert not need_weights or not weights.any()


def test_the_function_drops_weights_and_scales_the_others():
    torch.manual_seed(0)
    q, k, v = (torch.randn(3, 20, 4) for _ in range(3))
    _, weights = scaled_dot_product_attention(q, k, v)
    output, dropped = scaled_dot_product_attention(q, k, v, dropout_p=0.2)
    zero = dropped == 0
    assert 0.1 < zero.float().mean() < 0.3
    torch.testing.assert_close(dropped[~zero], weights[~zero] / 0.8)
    torch.testing.assert_close(output, dropped @ v)


@all_layers
@pytest.mark.parametrize("need_weights", [True, False])
def test_no_keys_at_all_give_zero_heads_and_no_batch_gives_none(layer_class, need_weights):
    layer = layer_class.from_torch(torch_layer())
    q, empty = torch.randn(2, 3, D), torch.zeros(2, 0, D)
    output, _ = layer(q, empty, empty, need_weights=need_weights)
    assert torch.equal(output, layer.out_proj.bias.expand_as(output))
    output, _ = layer(q[:0], q[:0], q[:0], need_weights=need_weights)
    assert output.shape == (0, 3, D)
