"""Both layers are drop-in for PyTorch's: same call, same outputs and gradients, same weights."""

import pytest
import torch
from torch import nn

from utils.attention import (
    AttentionLayer,
    FastMultiHeadAttention,
    MultiHeadAttention,
    NaiveMultiHeadAttention,
)

B, T, S, D, H = 2, 4, 5, 12, 3
LAYERS = [NaiveMultiHeadAttention, MultiHeadAttention, FastMultiHeadAttention]
INF = float("inf")
TIGHT = {"rtol": 1e-10, "atol": 1e-12}

all_layers = pytest.mark.parametrize("layer_class", LAYERS)


def torch_layer(bias=True, kdim=None, vdim=None, dropout=0.0, dtype=torch.float64):
    torch.manual_seed(0)
    module = nn.MultiheadAttention(D, H, dropout, bias, kdim=kdim, vdim=vdim, batch_first=True)
    for name, parameter in module.named_parameters():  # PyTorch starts with biases of zero
        if "bias" in name:
            nn.init.normal_(parameter)
    return module.to(dtype)


def inputs(kdim=D, vdim=D, queries=T, keys=S, batch=(B,)):
    torch.manual_seed(1)
    sizes = {"query": (queries, D), "key": (keys, kdim), "value": (keys, vdim)}
    return {
        name: torch.randn(*batch, *size, dtype=torch.float64, requires_grad=True)
        for name, size in sizes.items()
    }


def make_masks(queries=T, keys=S):
    """Masks of each kind; no query is left without a key, where PyTorch's layer gives NaN."""
    torch.manual_seed(2)
    padding = torch.zeros(B, keys).bool()
    padding[0, -2:] = True
    square = torch.rand(queries, keys) < 0.4
    cube = torch.rand(B * H, queries, keys) < 0.4
    square[:, 0] = cube[..., 0] = False
    floats = {"dtype": torch.float64}
    kinds = {
        "none": {},
        "padding bool": {"key_padding_mask": padding},
        "padding float": {"key_padding_mask": torch.randn(B, keys, **floats)},
        "padding -inf": {"key_padding_mask": torch.zeros(B, keys, **floats)},
        "2-d bool": {"attn_mask": square},
        "2-d float": {"attn_mask": torch.randn(queries, keys, **floats)},
        "3-d bool": {"attn_mask": cube},
        "3-d float": {"attn_mask": torch.randn(B * H, queries, keys, **floats)},
    }
    kinds["padding -inf"]["key_padding_mask"].masked_fill_(padding, -INF)
    kinds["both bool"] = kinds["padding bool"] | kinds["2-d bool"]
    kinds["both bool, 3-d"] = kinds["padding bool"] | kinds["3-d bool"]
    kinds["both float"] = kinds["padding float"] | kinds["3-d float"]
    return kinds


def packed_gradients(layer):
    """The gradients of our layer's parameters, in the order and packing of PyTorch's."""
    found = {"out_proj.weight": layer.out_proj.weight.grad}
    if layer.out_proj.bias is not None:
        found["out_proj.bias"] = layer.out_proj.bias.grad
        parts = [part.bias.grad for name in "qkv" for part in layer.projections(name)]
        found["in_proj_bias"] = torch.cat(parts)
    weights = {
        name: torch.cat([part.weight.grad for part in layer.projections(name)]) for name in "qkv"
    }
    if layer.kdim == layer.vdim == layer.embed_dim:
        found["in_proj_weight"] = torch.cat(list(weights.values()))
    else:
        found |= {f"{name}_proj_weight": weight for name, weight in weights.items()}
    return found


def assert_same_function(layer_class, module, given, **call):
    """Compare outputs, weights, and the gradients of inputs and parameters."""
    layer = layer_class.from_torch(module)
    copies = {name: x.detach().clone().requires_grad_() for name, x in given.items()}
    expected, expected_weights = module(**given, **call)
    output, weights = layer(**copies, **call)
    torch.testing.assert_close(output, expected, **TIGHT)
    assert (weights is None) == (expected_weights is None)
    # The weights take part in the loss, so that the gradient through them is compared as well.
    slope = torch.randn_like(expected)
    losses = [(expected * slope).sum(), (output * slope).sum()]
    if weights is not None:
        torch.testing.assert_close(weights, expected_weights, **TIGHT)
        slope = torch.randn_like(weights)
        losses = [losses[0] + (expected_weights * slope).sum(), losses[1] + (weights * slope).sum()]
    for loss in losses:
        loss.backward()
    for name, x in given.items():
        torch.testing.assert_close(copies[name].grad, x.grad, **TIGHT)
    gradients = packed_gradients(layer)
    assert gradients.keys() == dict(module.named_parameters()).keys()
    for name, parameter in module.named_parameters():
        torch.testing.assert_close(gradients[name], parameter.grad, **TIGHT)


@all_layers
@pytest.mark.parametrize("kind", make_masks())
@pytest.mark.parametrize("need_weights", [True, False])
@pytest.mark.parametrize("queries_keys", [(T, S), (1, 60)])
def test_output_and_gradients_equal_pytorchs_under_each_mask(
    layer_class, kind, need_weights, queries_keys
):
    given = inputs(queries=queries_keys[0], keys=queries_keys[1])
    masks = make_masks(*queries_keys)[kind]
    assert_same_function(layer_class, torch_layer(), given, need_weights=need_weights, **masks)


@all_layers
@pytest.mark.parametrize("sizes", [(D, 7), (7, D), (7, 5), (D, D)])
@pytest.mark.parametrize("bias", [True, False])
@pytest.mark.parametrize("queries_keys", [(T, S), (1, 60)])
def test_output_and_gradients_equal_pytorchs_for_other_widths_and_without_bias(
    layer_class, sizes, bias, queries_keys
):
    module = torch_layer(bias, *sizes)
    given = inputs(*sizes, *queries_keys)
    assert_same_function(layer_class, module, given, average_attn_weights=False)


def test_the_shapes_compared_take_both_ways_of_the_fast_layer():
    for widths in [(D, 7), (7, D), (7, 5), (D, D)]:
        layer = FastMultiHeadAttention(D, H, kdim=widths[0], vdim=widths[1])
        assert layer.may_absorb()
        assert layer.absorbing_is_cheaper(1, 60)
        assert not layer.absorbing_is_cheaper(T, S)


@all_layers
@pytest.mark.parametrize("average", [True, False])
@pytest.mark.parametrize("queries_keys", [(T, S), (1, 60)])
def test_weights_equal_pytorchs_averaged_or_for_each_head(layer_class, average, queries_keys):
    given = inputs(queries=queries_keys[0], keys=queries_keys[1])
    assert_same_function(layer_class, torch_layer(), given, average_attn_weights=average)


@all_layers
@pytest.mark.parametrize("average", [True, False])
@pytest.mark.parametrize("queries_keys", [(T, S), (1, 60)])
def test_without_a_batch_output_and_gradients_equal_pytorchs(layer_class, average, queries_keys):
    queries, keys = queries_keys
    given = inputs(queries=queries, keys=keys, batch=())
    padding = torch.arange(keys) > 2
    cube = (torch.rand(H, queries, keys) < 0.4).index_fill(-1, torch.tensor([0]), False)
    masks = {"key_padding_mask": padding, "attn_mask": cube}
    assert_same_function(layer_class, torch_layer(), given, average_attn_weights=average, **masks)


@all_layers
@pytest.mark.parametrize("queries_keys", [(T, S), (1, 60)])
@pytest.mark.parametrize("need_weights", [True, False])
def test_is_causal_blocks_later_keys_beside_another_mask(layer_class, queries_keys, need_weights):
    queries, keys = queries_keys
    layer = layer_class.from_torch(torch_layer())
    given, padding = inputs(queries=queries, keys=keys), make_masks(*queries_keys)["padding bool"]
    later = torch.ones(queries, keys).triu(1).bool()
    call = {**given, **padding, "need_weights": need_weights}
    expected = layer(**call, attn_mask=later)
    torch.testing.assert_close(layer(**call, is_causal=True), expected, **TIGHT)


@all_layers
def test_positional_arguments_are_in_pytorchs_order(layer_class):
    module, given, masks = torch_layer(), inputs(), make_masks()["both bool"]
    arguments = (masks["key_padding_mask"], True, masks["attn_mask"], False, False)
    expected = module(*given.values(), *arguments)
    output = layer_class.from_torch(module)(*given.values(), *arguments)
    for got, wanted in zip(output, expected, strict=True):
        torch.testing.assert_close(got, wanted, **TIGHT)


@all_layers
def test_a_new_layer_has_zero_biases_and_glorot_weights(layer_class):
    layer = layer_class(64, 4, kdim=32)
    for name, parameter in layer.named_parameters():
        if name.endswith("bias"):
            assert not parameter.any()
        else:
            bound = (6 / sum(parameter.shape)) ** 0.5
            assert 0.95 * bound < parameter.abs().max() <= bound
    assert isinstance(layer, AttentionLayer)
    assert layer.batch_first


@all_layers
@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"query": (B, T, D + 1)}, "query has shape"),
        ({"key": (B, S, 2)}, "key has shape"),
        ({"value": (B, S, 2)}, "value has shape"),
        ({"key": (S, D)}, "without a batch"),
        ({"query": (T, D)}, "without a batch"),
        ({"query": (3, T, D)}, "same number"),
        ({"value": (B, S + 1, D)}, "5 keys and 6 values"),
    ],
)
def test_inputs_that_do_not_fit_are_refused(layer_class, change, message):
    shapes = {"query": (B, T, D), "key": (B, S, D), "value": (B, S, D)} | change
    with pytest.raises(ValueError, match=message):
        layer_class(D, H)(**{name: torch.zeros(shape) for name, shape in shapes.items()})


@all_layers
@pytest.mark.parametrize("sizes", [(10, 3), (0, 1), (8, 0), (-4, 2)])
def test_a_width_that_the_heads_cannot_share_is_refused(layer_class, sizes):
    with pytest.raises(ValueError, match="positive multiple"):
        layer_class(*sizes)


@all_layers
def test_an_impossible_dropout_or_width_is_refused(layer_class):
    with pytest.raises(ValueError, match="dropout"):
        layer_class(D, H, dropout=1.5)
    for width in ({"kdim": 0}, {"vdim": -1}):
        with pytest.raises(ValueError, match=next(iter(width))):
            layer_class(D, H, **width)


def test_the_base_class_leaves_the_attention_to_its_children():
    layer = AttentionLayer(D, H)
    with pytest.raises(NotImplementedError):
        layer(*inputs().values())
    with pytest.raises(NotImplementedError):
        layer.projections("q")
