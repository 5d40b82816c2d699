"""What the layer offers beyond PyTorch's: widths of heads, scale, positions, shared key heads."""

import pytest
import torch
from torch import nn

from utils.attention import MultiHeadAttention, combine_masks, scaled_dot_product_attention
from utils.positions import RotaryPositionalEncoding

B, D, H = 2, 12, 3


def by_the_function(layer, given, allowed=None):
    """The layer in the plain order, from its four projections and the definition of attention."""
    q, k, v = (
        part(x).unflatten(-1, (-1, layer.head_dim)).transpose(1, 2)
        for x, part in zip(given, (layer.q_proj, layer.k_proj, layer.v_proj), strict=True)
    )
    k, v = (x.repeat_interleave(layer.num_heads // x.shape[1], dim=1) for x in (k, v))
    if layer.positions is not None:
        q, k, allowed = layer.positions(q, k, allowed)
    heads, weights = scaled_dot_product_attention(q, k, v, allowed, scale=layer.scale)
    return layer.out_proj(heads.transpose(1, 2).flatten(2)), weights


class Positions(nn.Module):
    """Turn the signs of odd queries and keys, and let nearby keys count for more."""

    def __init__(self, num_heads=H):
        super().__init__()
        self.slope = nn.Parameter(torch.arange(1.0, num_heads + 1, dtype=torch.float64))

    def forward(self, q, k, mask):
        steps = torch.arange(q.shape[2])[:, None] - torch.arange(k.shape[2])
        bias = -self.slope.view(-1, 1, 1) * steps.abs()  # (H, T, S)
        q, k = (x * (-1.0) ** torch.arange(x.shape[2])[:, None] for x in (q, k))
        return q, k, combine_masks(mask, bias.unsqueeze(0))


# Heads that are wider than D / H, narrower, or of which D is no multiple; shared keys; positions.
OPTIONS = {
    "one wide head": ((D, 1), {"head_dim": 20}),
    "narrow": ((D, 5), {"head_dim": 1, "kdim": 7, "vdim": 8}),
    "scale": ((D, H), {"scale": 0.7}),
    "pairs share a key": ((D, 4), {"num_kv_heads": 2}),
    "all share a key": ((D, 4), {"num_kv_heads": 1, "bias": False, "vdim": 7}),
    "positions": ((D, H), {"positions": Positions}),
    "shared, positions": ((D, 4), {"positions": lambda: Positions(4), "num_kv_heads": 2}),
}


@pytest.mark.parametrize(("sizes", "options"), OPTIONS.values(), ids=OPTIONS)
@pytest.mark.parametrize("kind", ["none", "padding", "causal", "each head"])
def test_each_option_is_what_the_definition_says(
    packed_way, sizes, options, kind, need_weights, make, inputs, run, close
):
    options = {name: x() if name == "positions" else x for name, x in options.items()}
    layer, (T, S) = make(packed_way[0], *sizes, **options), packed_way[1]
    given = inputs(T, S, kdim=layer.kdim, vdim=layer.vdim)
    padding, each = torch.arange(S).expand(B, S) > S - 3, torch.rand(B, sizes[1], T, S) < 0.4
    call, allowed = {
        "none": ({}, None),
        "padding": ({"key_padding_mask": padding}, ~padding.view(B, 1, 1, S)),
        "causal": ({"is_causal": True}, torch.ones(T, S).tril().bool().view(1, 1, T, S)),
        "each head": ({"attn_mask": each.flatten(0, 1)}, ~each),
    }[kind]
    call |= {"need_weights": need_weights, "average_attn_weights": False}

    def expected(*x):
        output, weights = by_the_function(layer, x, allowed)
        return output, weights if need_weights else None

    of = list(layer.parameters())
    close(run(lambda *x: layer(*x, **call), given, *of), run(expected, given, *of))


def test_drawing_the_weights_anew_leaves_those_of_the_positions():
    positions = RotaryPositionalEncoding(4)
    positions.scale = nn.Parameter(torch.ones(4))
    positions.table = nn.Parameter(torch.zeros(5, 4))
    layer = MultiHeadAttention(D, 4, head_dim=4, positions=positions)
    layer.reset_parameters()
    assert positions.scale.eq(1).all()
    assert positions.table.eq(0).all()


@pytest.mark.parametrize("T", [1, 3])
def test_heads_that_share_keys_keep_their_shape_also_where_a_head_is_as_wide_as_a_query(T):
    layer = MultiHeadAttention(4, 4, num_kv_heads=2)
    q, k, mask = torch.randn(B, 4, T, 1), torch.randn(B, 2, 5, 1), torch.rand(B, 4, T, 5) < 0.6
    found, expected = (layer.attend_heads(q, k, k, mask, need_weights=w)[0] for w in (False, True))
    torch.testing.assert_close(found, expected)


def test_any_scale_is_the_standard_one_with_other_queries(way, need_weights, make, inputs, close):
    scaled, standard = make(way[0], scale=0.7), make(way[0])
    with torch.no_grad():
        for projection in standard.projections("q"):
            projection.weight.mul_(0.7 * (D // H) ** 0.5)
            projection.bias.mul_(0.7 * (D // H) ** 0.5)
    given = inputs(*way[1])
    close(*(layer(*given, need_weights=need_weights) for layer in (scaled, standard)))
    make(way[0], scale=(D // H) ** -0.5).to_torch()  # the usual one, written out
