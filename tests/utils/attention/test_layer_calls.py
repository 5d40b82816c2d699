"""The constructor, the masks and the edges of a call are those of PyTorch's layer."""

import warnings

import numpy as np
import pytest
import torch
from torch.nn.attention.bias import causal_lower_right
from transformers import T5Config
from transformers.models.t5.modeling_t5 import T5Attention

from utils.attention import (
    ConvMultiHeadAttention,
    FastMultiHeadAttention,
    MultiHeadAttention,
    NaiveMultiHeadAttention,
    WideMultiHeadAttention,
    tiled_attention,
)

B, D, H = 2, 12, 3
LAYERS = [NaiveMultiHeadAttention, MultiHeadAttention, FastMultiHeadAttention]
SHAPES = [(4, 6), (1, 60)]  # queries and keys; where the fast layer projects no key, and where so
EVERY = [*LAYERS, WideMultiHeadAttention, ConvMultiHeadAttention]

all_layers = pytest.mark.parametrize("layer_class", LAYERS)
packed_layers = pytest.mark.parametrize("layer_class", LAYERS[1:])
both_shapes = pytest.mark.parametrize("queries_keys", SHAPES)
with_and_without = pytest.mark.parametrize("need_weights", [True, False])


@pytest.mark.parametrize("num_kv_heads", [1, 2])
@pytest.mark.parametrize("layer_class", LAYERS[1:])
@pytest.mark.parametrize(("batch", "queries", "keys"), [(0, 1, 5), (0, 3, 5), (2, 0, 5), (2, 1, 0)])
@pytest.mark.parametrize("masked", [True, False])
@with_and_without
def test_shared_key_heads_take_empty_inputs(
    layer_class, num_kv_heads, batch, queries, keys, masked, need_weights
):
    layer = layer_class(8, 4, num_kv_heads=num_kv_heads)
    plain = layer_class(8, 4)
    query = torch.randn(batch, queries, 8)
    x = torch.randn(batch, keys, 8, requires_grad=True)
    padding = torch.zeros(batch, keys, dtype=torch.bool) if masked else None
    cube = torch.zeros(batch * 4, queries, keys, dtype=torch.bool) if masked else None
    for mask in ({"key_padding_mask": padding}, {"attn_mask": cube}):
        output, weights = layer(query, x, x, need_weights=need_weights, **mask)
        expected, expected_weights = plain(query, x, x, need_weights=need_weights, **mask)
        assert output.shape == expected.shape == query.shape
        if need_weights:
            assert weights.shape == expected_weights.shape
        if keys == 0:  # nothing to attend to
            torch.testing.assert_close(output, layer.out_proj.bias.expand_as(output))
        output.sum().backward()
        assert not x.grad.any()


@pytest.mark.parametrize("is_causal", [True, False])
@with_and_without
def test_a_subclass_that_overrides_attend_is_always_asked(
    is_causal, need_weights, make, inputs, close
):
    class Zero(MultiHeadAttention):
        def attend(self, query, key, value, mask, need_weights, is_causal=False):
            heads, weights = super().attend(query, key, value, mask, need_weights, is_causal)
            return 0 * heads, weights

    layer, (_, x, _) = make(Zero), inputs(1, 6)
    output, _ = layer(x, x, x, need_weights=need_weights, is_causal=is_causal)
    close(output, layer.out_proj.bias.expand_as(output))


# The constructor and the masks are PyTorch's.


@pytest.mark.parametrize("layer_class", EVERY)
def test_the_constructor_takes_what_pytorchs_takes_by_name(layer_class):
    layer = layer_class(
        D, H, dropout=0.1, bias=False, add_bias_kv=False, add_zero_attn=False, kdim=5, vdim=7,
        batch_first=True, device="cpu", dtype=torch.float64,
    )  # fmt: skip
    assert {parameter.dtype for parameter in layer.parameters()} == {torch.float64}
    assert {p.device.type for p in layer_class(D, H, device="meta").parameters()} == {"meta"}
    assert not any("bias" in name for name, _ in layer.named_parameters())
    query, (key, value) = torch.randn(B, 4, D), (torch.randn(B, 6, width) for width in (5, 7))
    assert layer(query.double(), key.double(), value.double())[0].shape == query.shape


@pytest.mark.parametrize("layer_class", EVERY)
@pytest.mark.parametrize(
    ("option", "kind", "message"),
    [
        ({"batch_first": False}, ValueError, "batch first"),
        ({"add_bias_kv": True}, ValueError, "add_bias_kv"),
        ({"add_zero_attn": True}, ValueError, "add_zero_attn"),
        ({"kdim": False}, TypeError, "kdim is False"),
        ({"vdim": True}, TypeError, "vdim is True"),
        ({"kdim": 4.0}, TypeError, "kdim is 4.0"),
    ],
)
def test_options_that_are_not_there_are_refused_in_a_sentence(layer_class, option, kind, message):
    with pytest.raises(kind, match=message):
        layer_class(D, H, **option)


@all_layers
def test_pytorchs_positional_order_beyond_the_bias_is_refused(layer_class):
    with pytest.raises(TypeError, match="kdim is False"):
        layer_class(D, H, 0.0, True, False, False)


@all_layers
def test_sizes_are_whole_numbers_also_numpys(layer_class):
    for sizes in [(D, 1.5), (float(D), H), (D, True)]:
        with pytest.raises(TypeError, match="whole number"):
            layer_class(*sizes)
    assert layer_class(np.int64(D), np.int32(H)).head_dim == D // H
    with pytest.raises(TypeError, match="num_kv_heads"):
        MultiHeadAttention(D, H, num_kv_heads=1.5)
    for scale in (0.0, -1.0, torch.nan, torch.inf):
        with pytest.raises(ValueError, match="scale"):
            layer_class(D, H, scale=scale)


def t5_layer(layer):
    """Hugging Face's T5 attention without its relative positions, with the weights of a layer."""
    config = T5Config(d_model=D, d_kv=D // H, num_heads=H, dropout_rate=0.0)
    peer = T5Attention(config).double().eval()
    for ours, theirs in (("q_proj", "q"), ("k_proj", "k"), ("v_proj", "v"), ("out_proj", "o")):
        getattr(peer, theirs).load_state_dict(getattr(layer, ours).state_dict())
    return peer


@packed_layers
@with_and_without
def test_a_scale_of_one_is_t5s_attention(layer_class, need_weights, make, inputs, close):
    layer = make(layer_class, bias=False, scale=1.0)
    x = inputs(1, 6)[1]
    expected = t5_layer(layer)(x)[0]
    close(layer(x, x, x, need_weights=need_weights)[0], expected)


@all_layers
@both_shapes
@with_and_without
def test_any_scale_is_the_standard_one_with_other_queries(
    layer_class, queries_keys, need_weights, make, inputs, close
):
    scaled, standard = make(layer_class, scale=0.7), make(layer_class)
    for projection in standard.projections("q"):
        with torch.no_grad():
            projection.weight.mul_(0.7 * (D // H) ** 0.5)
            projection.bias.mul_(0.7 * (D // H) ** 0.5)
    given = inputs(*queries_keys)
    found, expected = (layer(*given, need_weights=need_weights) for layer in (scaled, standard))
    close(found, expected)
    with pytest.raises(ValueError, match="scale"):
        scaled.to_torch()


@all_layers
@both_shapes
@with_and_without
@pytest.mark.parametrize("kind", ["bool", "float"])
@pytest.mark.parametrize("sides", ["B1TS", "1HTS", "BHTS", "11TS", "B11S", "BHT1"])
def test_a_mask_of_four_dimensions_broadcasts(
    layer_class, queries_keys, need_weights, kind, sides, make, inputs, close
):
    layer, (queries, keys) = make(layer_class), queries_keys
    full = dict(zip("BHTS", (B, H, queries, keys), strict=True))
    shape = tuple(1 if side == "1" else full[side] for side in sides)
    mask = torch.rand(shape) < 0.4
    if kind == "float":
        mask = torch.randn(shape, dtype=torch.float64)
    cube = mask.expand(tuple(full.values())).reshape(B * H, queries, keys)
    call = {"need_weights": need_weights, "key_padding_mask": torch.arange(keys).expand(B, -1) > 3}
    given = inputs(queries, keys)
    close(layer(*given, attn_mask=mask, **call), layer(*given, attn_mask=cube, **call))


# What cannot be meant is said.


@all_layers
def test_a_mask_of_integers_says_which_way_round(layer_class, make, inputs):
    layer, given = make(layer_class), inputs(4, 6)
    of_hugging_face = torch.ones(B, 6, dtype=torch.int64)
    with pytest.raises(TypeError, match="key_padding_mask == 0"):
        layer(*given, key_padding_mask=of_hugging_face)
    with pytest.raises(TypeError, match="attn_mask == 0"):
        layer(*given, attn_mask=torch.ones(4, 6, dtype=torch.uint8))


@all_layers
def test_without_a_batch_the_shapes_that_are_expected_have_none(layer_class, make, inputs):
    layer, given = make(layer_class), inputs(4, 5, batch=())
    with pytest.raises(ValueError, match=r"expected \(5,\)"):
        layer(*given, key_padding_mask=torch.zeros(1, 5).bool())
    layer(*given, key_padding_mask=torch.zeros(5).bool())


@all_layers
@both_shapes
@with_and_without
def test_nan_in_a_mask_of_floats_is_refused(layer_class, queries_keys, need_weights, make, inputs):
    layer, given = make(layer_class), inputs(*queries_keys)
    wrong = torch.eye(queries_keys[1])[: queries_keys[0]] * -torch.inf  # 0 * -inf
    for mask in ({"attn_mask": wrong}, {"key_padding_mask": wrong[:1].expand(B, -1)}):
        with pytest.raises(ValueError, match="NaN"):
            layer(*given, need_weights=need_weights, **mask)


@all_layers
def test_a_causal_bias_of_pytorchs_is_refused(layer_class, make, inputs):
    layer, (_, x, _) = make(layer_class), inputs(1, 6)
    with pytest.raises(TypeError, match="is_causal=True"):
        layer(x, x, x, attn_mask=causal_lower_right(6, 6))
    with pytest.raises(TypeError, match="is_causal=True"):
        tiled_attention(x, x, x, attn_mask=causal_lower_right(6, 6))


@all_layers
@pytest.mark.parametrize("layout", [torch.strided, torch.jagged])
def test_nested_tensors_are_refused(layer_class, layout, make):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # a prototype, it says
        x = torch.nested.nested_tensor([torch.randn(3, D), torch.randn(2, D)], layout=layout)
    with pytest.raises(TypeError, match="to_padded_tensor"):
        make(layer_class).float()(x, x, x)
