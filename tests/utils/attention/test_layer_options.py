"""Heads of a width of their own, and positions: what the layer offers beyond PyTorch's."""

import pytest
import torch
from torch import nn

from utils.attention import (
    AttentionLayer,
    FastMultiHeadAttention,
    MultiHeadAttention,
    causal_mask,
    combine_masks,
    scaled_dot_product_attention,
)

B, T, S, D = 2, 4, 5, 6
TIGHT = {"rtol": 1e-10, "atol": 1e-12}
# (heads, width of a head): wider than D / H, narrower, and D no multiple of H.
SHAPES = [(2, 6), (3, 1), (4, 3), (1, 1), (5, 2)]


LAYERS = [MultiHeadAttention, FastMultiHeadAttention]
both_layers = pytest.mark.parametrize("layer_class", LAYERS)


def make_layer(heads, head_dim, bias=True, layer_class=MultiHeadAttention, **options):
    torch.manual_seed(0)
    layer = layer_class(D, heads, bias=bias, head_dim=head_dim, **options).double()
    for parameter in layer.parameters():
        nn.init.normal_(parameter)
    return layer


def inputs(queries=T, keys=S, kdim=D, vdim=D):
    torch.manual_seed(1)
    sizes = ((queries, D), (keys, kdim), (keys, vdim))
    return [torch.randn(B, *size, dtype=torch.float64) for size in sizes]


def loop(layer, query, key, value, allowed=None):
    """One head after the other, from the rows of the packed weights that belong to it."""
    outputs, weights = [], []
    for h in range(layer.num_heads):
        rows = slice(h * layer.head_dim, (h + 1) * layer.head_dim)
        q, k, v = (
            x @ part.weight[rows].T + (0 if part.bias is None else part.bias[rows])
            for x, part in zip(
                (query, key, value), (layer.q_proj, layer.k_proj, layer.v_proj), strict=True
            )
        )
        scores = q @ k.transpose(1, 2) / layer.head_dim**0.5
        if allowed is not None:
            scores = scores.masked_fill(~allowed, -torch.inf)
        weights.append(scores.softmax(-1))
        outputs.append(weights[-1] @ v)
    return layer.out_proj(torch.cat(outputs, -1)), torch.stack(weights, 1)


@both_layers
@pytest.mark.parametrize(("heads", "head_dim"), SHAPES)
@pytest.mark.parametrize("bias", [True, False])
@pytest.mark.parametrize("queries_keys", [(T, S), (1, 60)])
@pytest.mark.parametrize("need_weights", [True, False])
def test_heads_of_any_width_are_a_loop_over_heads(
    layer_class, heads, head_dim, bias, queries_keys, need_weights
):
    layer = make_layer(heads, head_dim, bias, layer_class, kdim=7, vdim=8)
    given = inputs(*queries_keys, kdim=7, vdim=8)
    copies = [x.clone().requires_grad_() for x in given]
    leaves = [x.clone().requires_grad_() for x in given]
    expected, expected_weights = loop(layer, *copies)
    output, weights = layer(*leaves, need_weights=need_weights, average_attn_weights=False)
    torch.testing.assert_close(output, expected, **TIGHT)
    if need_weights:
        torch.testing.assert_close(weights, expected_weights, **TIGHT)
    slope = torch.randn_like(expected)
    (expected * slope).sum().backward()
    (output * slope).sum().backward()
    for leaf, copy in zip(leaves, copies, strict=True):
        torch.testing.assert_close(leaf.grad, copy.grad, **TIGHT)


@pytest.mark.parametrize(("heads", "head_dim"), SHAPES)
def test_heads_of_any_width_keep_to_a_mask(heads, head_dim):
    layer, (query, key, value) = make_layer(heads, head_dim), inputs()
    expected, _ = loop(layer, query, key, value, causal_mask(T, S))
    for need_weights in (True, False):
        output, _ = layer(query, key, value, is_causal=True, need_weights=need_weights)
        torch.testing.assert_close(output, expected, **TIGHT)


def test_the_cheaper_order_is_found_from_the_width_of_the_heads():
    standard, wide = (make_layer(2, d, layer_class=FastMultiHeadAttention) for d in (3, 600))
    assert standard.absorbing_is_cheaper(1, 60)
    assert not standard.absorbing_is_cheaper(10, 400)
    assert wide.absorbing_is_cheaper(10, 400)  # it has more to project


def test_the_width_that_the_paper_gives_is_the_default():
    layer = MultiHeadAttention(12, 3)
    assert layer.head_dim == 4
    assert [tuple(p.shape) for p in layer.parameters()] == [
        tuple(p.shape) for p in MultiHeadAttention(12, 3, head_dim=4).parameters()
    ]


@pytest.mark.parametrize("layer_class", [AttentionLayer, MultiHeadAttention])
def test_a_head_without_width_is_refused(layer_class):
    with pytest.raises(ValueError, match="head_dim"):
        layer_class(12, 3, head_dim=0)


def test_weights_of_other_widths_have_no_place_in_pytorchs_layer():
    with pytest.raises(ValueError, match="heads are 6 wide"):
        make_layer(2, 6).to_torch()

    class Wide(MultiHeadAttention):
        def __init__(self, embed_dim, num_heads, *options):
            super().__init__(embed_dim, num_heads, *options, head_dim=embed_dim)

    with pytest.raises(ValueError, match="heads are 6 wide"):
        Wide.from_torch(nn.MultiheadAttention(6, 2))


class Positions(nn.Module):
    """Turn the signs of odd queries and keys, and let nearby keys count for more."""

    def __init__(self, num_heads):
        super().__init__()
        self.slope = nn.Parameter(torch.arange(1.0, num_heads + 1, dtype=torch.float64))

    def forward(self, q, k, mask):
        steps = torch.arange(q.shape[2])[:, None] - torch.arange(k.shape[2])
        bias = -self.slope.view(-1, 1, 1) * steps.abs()  # (H, T, S)
        q, k = (x * (-1.0) ** torch.arange(x.shape[2])[:, None] for x in (q, k))
        return q, k, combine_masks(mask, bias.unsqueeze(0))


@both_layers
@pytest.mark.parametrize("queries_keys", [(T, S), (1, 60)])
@pytest.mark.parametrize("masked", [True, False])
def test_positions_change_queries_keys_and_mask(layer_class, queries_keys, masked):
    positions = Positions(3)
    layer = make_layer(3, 2, layer_class=layer_class, positions=positions)
    given = inputs(*queries_keys)
    padding = torch.zeros(B, queries_keys[1]).bool()
    padding[0, -2:] = masked
    q, k, v = (
        layer.split_heads(part(x))
        for x, part in zip(given, (layer.q_proj, layer.k_proj, layer.v_proj), strict=True)
    )
    q, k, mask = positions(q, k, ~padding[:, None, None] if masked else None)
    heads, expected_weights = scaled_dot_product_attention(q, k, v, mask)
    expected = layer.out_proj(layer.join_heads(heads))

    call = {"key_padding_mask": padding if masked else None, "average_attn_weights": False}
    output, weights = layer(*given, **call)
    torch.testing.assert_close(output, expected, **TIGHT)
    torch.testing.assert_close(weights, expected_weights, **TIGHT)
    torch.testing.assert_close(layer(*given, **call, need_weights=False)[0], expected, **TIGHT)


def test_positions_have_no_place_in_pytorchs_layer():
    with pytest.raises(ValueError, match="positions"):
        make_layer(3, 2, positions=Positions(3)).to_torch()


def test_what_positions_learn_belongs_to_the_layer():
    layer = make_layer(3, 2, positions=Positions(3))
    layer(*inputs())[0].sum().backward()
    assert layer.positions.slope.grad.abs().sum() > 0
    assert "positions.slope" in layer.state_dict()


@both_layers
@pytest.mark.parametrize("num_kv_heads", [1, 2, 4])
@pytest.mark.parametrize("bias", [True, False])
@pytest.mark.parametrize("queries_keys", [(T, S), (1, 60)])
@pytest.mark.parametrize("need_weights", [True, False])
def test_shared_key_heads_are_heads_with_the_same_weights(
    layer_class, num_kv_heads, bias, queries_keys, need_weights
):
    torch.manual_seed(0)
    shared = layer_class(8, 4, bias=bias, num_kv_heads=num_kv_heads).double()
    for parameter in shared.parameters():
        nn.init.normal_(parameter)
    standard = MultiHeadAttention(8, 4, bias=bias).double()
    weights = shared.state_dict()
    for name in ("k_proj.weight", "v_proj.weight", "k_proj.bias", "v_proj.bias")[
        : 4 if bias else 2
    ]:
        heads = weights[name].unflatten(0, (num_kv_heads, 2))  # head h uses h // (H / H_kv)
        weights[name] = heads.repeat_interleave(4 // num_kv_heads, dim=0).flatten(0, 1)
    standard.load_state_dict(weights)
    queries, keys = queries_keys
    query = torch.randn(B, queries, 8, dtype=torch.float64)
    x = torch.randn(B, keys, 8, dtype=torch.float64)
    padding = torch.zeros(B, keys, dtype=torch.bool)
    padding[0, 3:] = True
    for mask in (None, padding):
        found = shared(query, x, x, mask, need_weights)
        expected = standard(query, x, x, mask, need_weights)
        torch.testing.assert_close(found, expected, **TIGHT)


def test_shared_key_heads_are_those_of_pytorchs_kernel():
    layer = MultiHeadAttention(8, 4, num_kv_heads=2)
    x = torch.randn(B, T, 8)
    q, k, v = (p(x).unflatten(-1, (-1, 2)) for p in (layer.q_proj, layer.k_proj, layer.v_proj))
    q, k, v = (part.transpose(1, 2) for part in (q, k, v))
    assert k.shape == (B, 2, T, 2)
    heads = nn.functional.scaled_dot_product_attention(q, k, v, is_causal=True, enable_gqa=True)
    expected = layer.out_proj(heads.transpose(1, 2).flatten(2))
    for need_weights in (True, False):
        found, _ = layer(x, x, x, need_weights=need_weights, is_causal=True)
        torch.testing.assert_close(found, expected)


@pytest.mark.parametrize("num_kv_heads", [0, 3, 8])
def test_a_number_of_key_heads_that_does_not_divide_the_heads_is_refused(num_kv_heads):
    with pytest.raises(ValueError, match="divisor"):
        MultiHeadAttention(8, 4, num_kv_heads=num_kv_heads)


def test_pytorchs_layer_has_no_shared_key_heads():
    with pytest.raises(ValueError, match="share keys"):
        MultiHeadAttention(8, 4, num_kv_heads=2).to_torch()


@pytest.mark.parametrize("need_weights", [True, False])
@pytest.mark.parametrize("queries_keys", [(T, T), (T, S), (S, T)])
def test_causality_alone_is_a_mask_of_blocked_keys_forward_and_backward(queries_keys, need_weights):
    layer = make_layer(2, 3)
    query, key, value = (x.requires_grad_() for x in inputs(*queries_keys))
    blocked = ~causal_mask(*queries_keys)
    results = []
    for options in ({"is_causal": True}, {"attn_mask": blocked}):
        output, weights = layer(query, key, value, need_weights=need_weights, **options)
        gradients = torch.autograd.grad(output.sin().sum(), [query, key, value])
        results.append([output, *([] if weights is None else [weights]), *gradients])
    for got, expected in zip(*results, strict=True):
        torch.testing.assert_close(got, expected, **TIGHT)


def test_causality_alone_makes_no_mask_of_all_pairs(monkeypatch):
    def refuse(*_):
        raise AssertionError("a mask was made")

    monkeypatch.setattr("utils.attention.dot_product.causal_mask", refuse)
    monkeypatch.setattr("utils.attention.multi_head.causal_mask", refuse)
    monkeypatch.setattr("utils.attention.masks.causal_mask", refuse)
    x = torch.randn(B, T, D)
    make_layer(2, 3).float()(x, x, x, need_weights=False, is_causal=True)
    with pytest.raises(AssertionError, match="a mask was made"):
        make_layer(2, 3).float()(x, x, x, is_causal=True)


@both_layers
@pytest.mark.parametrize(("batch", "queries"), [(0, 1), (2, 0), (0, 50)])
def test_no_sequences_or_no_queries_give_an_empty_output_as_pytorchs_layer_does(
    layer_class, batch, queries
):
    layer = layer_class(8, 2)
    query, x = torch.randn(batch, queries, 8), torch.randn(batch, 50, 8, requires_grad=True)
    for need_weights in (True, False):
        output, _ = layer(query, x, x, need_weights=need_weights)
        expected, _ = layer.to_torch()(query, x, x, need_weights=need_weights)
        assert output.shape == expected.shape
        (gradient,) = torch.autograd.grad(output.sum(), x)
        assert torch.equal(gradient, torch.zeros_like(x))
