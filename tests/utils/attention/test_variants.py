"""Wide heads, and wide heads reduced by a convolution: against plain loops, and at their edges."""

import math

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import nn

from utils.attention import ConvMultiHeadAttention, MultiHeadAttention, WideMultiHeadAttention
from utils.models import TextClassifier

LAYERS = [WideMultiHeadAttention, ConvMultiHeadAttention]
both_layers = pytest.mark.parametrize("layer_class", LAYERS)
few_examples = settings(max_examples=15)
sizes = st.fixed_dictionaries(
    {
        "batch": st.integers(1, 3),
        "heads": st.integers(1, 4),
        "channels": st.integers(1, 3),  # D / H
        "queries": st.integers(1, 6),
        "keys": st.one_of(st.integers(1, 6), st.just(50)),  # 50: one query is then absorbed
        "kdim": st.integers(1, 6),
        "vdim": st.integers(1, 6),
        "bias": st.booleans(),
        "kernel_size": st.sampled_from([None, 1, 2, 3, 9]),  # None: the wide layer
        "seed": st.integers(0, 1000),
    }
)


def build(batch, heads, channels, queries, keys, kdim, vdim, bias, kernel_size, seed):
    """A layer in float64 with random biases, and its three inputs."""
    torch.manual_seed(seed)
    D = heads * channels
    if kernel_size is None:
        layer = WideMultiHeadAttention(D, heads, bias=bias, kdim=kdim, vdim=vdim)
    else:
        layer = ConvMultiHeadAttention(D, heads, 0.0, bias, kdim, vdim, kernel_size)
    for parameter in layer.parameters():
        nn.init.normal_(parameter)
    shapes = [(batch, queries, D), (batch, keys, kdim), (batch, keys, vdim)]
    return layer.double(), [torch.randn(shape, dtype=torch.float64) for shape in shapes]


def small(kernel_size=None, **options):
    chosen = {"batch": 2, "heads": 3, "channels": 2, "queries": 5, "keys": 5, "kdim": 6}
    chosen |= {"vdim": 6, "bias": True, "seed": 0} | options
    return build(kernel_size=kernel_size, **chosen)


def linear(x, weight, bias, rows=slice(None)):
    """Apply some rows of a linear map to one vector."""
    y = weight[rows] @ x
    return y if bias is None else y + bias[rows]


def wide_head(layer, query, key, value, h, allowed):
    """One head of one sequence: its output (T, D_head) and weights (T, S), pair by pair."""
    size = layer.head_dim
    rows = slice(h * size, (h + 1) * size)
    q = [linear(x, layer.q_proj.weight, layer.q_proj.bias, rows) for x in query]
    k = [linear(x, layer.k_proj.weight, layer.k_proj.bias, rows) for x in key]
    v = [linear(x, layer.v_proj.weight, layer.v_proj.bias, rows) for x in value]
    outputs, weights = [], torch.zeros(len(q), len(k), dtype=query.dtype)
    for t in range(len(q)):
        output = torch.zeros(size, dtype=query.dtype)
        seen = [s for s in range(len(k)) if allowed[t, s]]
        if seen:
            scores = torch.stack([q[t].dot(k[s]) / math.sqrt(size) for s in seen])
            shares = (scores - scores.max()).exp() / (scores - scores.max()).exp().sum()
            for s, share in zip(seen, shares, strict=True):
                weights[t, s] = share
                output = output + share * v[s]
        outputs.append(output)
    return outputs, weights


def reduced(layer, outputs, h):
    """What the convolution makes of one head: (T, D / H), looking back only."""
    channels = layer.embed_dim // layer.num_heads
    rows = slice(h * channels, (h + 1) * channels)
    result = []
    for t in range(len(outputs)):
        total = torch.zeros(channels, dtype=outputs[0].dtype)
        for back in range(layer.kernel_size):
            if t - back >= 0:
                weight = layer.reduce.weight[rows, :, layer.kernel_size - 1 - back]
                total = total + weight @ outputs[t - back]
        result.append(total if layer.reduce.bias is None else total + layer.reduce.bias[rows])
    return result


def by_loops(layer, query, key, value, allowed):
    """The layer as its definition says, one sequence, head, query and key after the other."""
    outputs, weights = [], []
    for b in range(len(query)):
        heads, shares = [], []
        for h in range(layer.num_heads):
            head, share = wide_head(layer, query[b], key[b], value[b], h, allowed[b, h])
            heads.append(reduced(layer, head, h) if hasattr(layer, "reduce") else head)
            shares.append(share)
        joined = [torch.cat([head[t] for head in heads]) for t in range(query.shape[1])]
        last = layer.out_proj
        outputs.append(torch.stack([linear(x, last.weight, last.bias) for x in joined]))
        weights.append(torch.stack(shares))
    return torch.stack(outputs), torch.stack(weights)


@given(sizes)
@few_examples
def test_the_layers_are_what_the_loops_say(size):
    layer, (q, k, v) = build(**size)
    B, H, T, S = size["batch"], size["heads"], size["queries"], size["keys"]
    allowed = torch.rand(B, H, T, S) < 0.6  # some rows have nothing to attend to
    expected = by_loops(layer, q, k, v, allowed)
    blocked = ~allowed.view(B * H, T, S)
    got = layer(q, k, v, attn_mask=blocked, average_attn_weights=False)
    torch.testing.assert_close(got, expected)
    fused, nothing = layer(q, k, v, attn_mask=blocked, need_weights=False)
    torch.testing.assert_close(fused, expected[0])
    assert nothing is None


@pytest.mark.parametrize("kernel_size", [None, 1, 3])
@pytest.mark.parametrize("keys", [5, 50])
def test_gradients_are_those_of_the_loops(kernel_size, keys):
    layer, inputs = small(kernel_size, queries=2, keys=keys)
    for x in inputs:
        x.requires_grad_()
    of = [*inputs, *layer.parameters()]
    allowed = torch.ones(2, 3, 2, keys, dtype=torch.bool)
    allowed[..., -1] = False
    expected = torch.autograd.grad(by_loops(layer, *inputs, allowed)[0].square().sum(), of)
    padding = ~allowed[:, 0, 0]  # (B, S)
    got = torch.autograd.grad(layer(*inputs, key_padding_mask=padding)[0].square().sum(), of)
    torch.testing.assert_close(got, expected)


@pytest.mark.parametrize("kernel_size", [None, 1, 2, 3, 7])
def test_a_later_token_never_changes_an_earlier_output(kernel_size):
    layer, (x, _, _) = small(kernel_size)
    before, _ = layer(x, x, x, is_causal=True)
    for t in range(1, 5):
        changed = x.clone()
        changed[:, t] += 1.0
        after, _ = layer(changed, changed, changed, is_causal=True)
        torch.testing.assert_close(after[:, :t], before[:, :t], rtol=0, atol=1e-12)
        assert (after[:, t] - before[:, t]).abs().min() > 1e-6


def test_the_convolution_sees_as_many_queries_as_its_kernel_is_wide():
    layer, (q, k, v) = small(kernel_size=3, queries=6)
    changed = q.clone()
    changed[:, 1] += 1.0
    moved = (layer(changed, k, v)[0] - layer(q, k, v)[0]).abs().amax(dim=(0, 2)) > 1e-9
    assert moved.tolist() == [False, True, True, True, False, False]


@pytest.mark.parametrize("kernel_size", [None, 1, 3])
def test_padding_at_the_end_changes_no_token(kernel_size):
    layer, (x, _, _) = small(kernel_size)
    padded = torch.cat([x, 9 * torch.ones(2, 3, 6).double()], dim=1)  # (B, T + 3, D)
    blocked = (torch.arange(8) >= 5).expand(2, 8)
    output, weights = layer(padded, padded, padded, key_padding_mask=blocked)
    torch.testing.assert_close(output[:, :5], layer(x, x, x)[0])
    assert not weights[..., 5:].any()


@pytest.mark.parametrize("kernel_size", [None, 1, 3])
def test_one_query_is_the_first_of_many(kernel_size):
    layer, (x, _, _) = small(kernel_size, queries=40)
    alone, shares = layer(x[:, :1], x, x)  # absorbed: the keys are not projected
    among, all_shares = layer(x, x, x)
    torch.testing.assert_close(alone, among[:, :1])
    torch.testing.assert_close(shares, all_shares[:, :1])


def test_with_one_query_only_the_last_tap_of_the_kernel_is_used():
    wide, (x, _, _) = small(kernel_size=3, queries=1, keys=1)
    point = ConvMultiHeadAttention(6, 3, kernel_size=1).double()
    state = wide.state_dict()
    state["reduce.weight"] = state["reduce.weight"][..., -1:]
    point.load_state_dict(state)
    torch.testing.assert_close(point(x, x, x)[0], wide(x, x, x)[0])


def test_a_kernel_of_one_is_absorbed_in_the_values():
    """Values of D / H then give the same function: only queries and keys are wider."""
    layer, (q, k, v) = small(kernel_size=1)
    H, D, size = 3, 6, 2
    taps = layer.reduce.weight.squeeze(-1).view(H, size, D)
    narrow = (taps @ layer.v_proj.weight.view(H, D, D)).flatten(0, 1)  # (D, vdim)
    shift = (taps @ layer.v_proj.bias.view(H, D, 1)).flatten()
    _, weights = layer(q, k, v, average_attn_weights=False)
    values = (v @ narrow.T + shift).view(2, 5, H, size).transpose(1, 2)
    heads = (weights @ values).transpose(1, 2).flatten(2) + layer.reduce.bias
    torch.testing.assert_close(layer.out_proj(heads), layer(q, k, v)[0])


def test_one_wide_head_is_the_standard_layer_and_pytorchs():
    torch.manual_seed(0)
    reference = nn.MultiheadAttention(6, 1, batch_first=True)
    layer = WideMultiHeadAttention.from_torch(reference)
    x = torch.randn(2, 5, 6)
    torch.testing.assert_close(layer(x, x, x), reference(x, x, x))
    back = layer.to_torch().state_dict()
    assert all(torch.equal(back[name], tensor) for name, tensor in reference.state_dict().items())


@pytest.mark.parametrize("bias", [True, False])
def test_the_number_of_parameters_is_the_formula(bias):
    D, H, k, b = 12, 3, 5, int(bias)
    options = {"bias": bias, "kdim": 7, "vdim": 8}

    def count(layer):
        return sum(parameter.numel() for parameter in layer.parameters())

    projected = (D + 7 + 8) * H * D + b * 3 * H * D
    assert count(WideMultiHeadAttention(D, H, **options)) == projected + H * D * D + b * D
    conv = count(ConvMultiHeadAttention(D, H, **options, kernel_size=k))
    assert conv == projected + k * D * D + D * D + b * 2 * D
    many = MultiHeadAttention(D, H * H, **options, head_dim=D // H)
    assert count(many) == count(WideMultiHeadAttention(D, H, **options))
    narrow = ConvMultiHeadAttention(D, H, bias=bias, kernel_size=k, head_dim=D // H)
    assert count(narrow) == 4 * D * D + k * D * D // H + b * 5 * D


@both_layers
def test_no_parameter_is_left_undrawn(layer_class):
    torch.manual_seed(0)
    layer = layer_class(8, 2)
    for name, parameter in layer.named_parameters():
        if name.endswith("bias"):
            assert not parameter.any()
        else:
            fans = parameter.shape[0] + parameter.shape[1]
            bound = math.sqrt(6 / fans)
            assert 0.8 * bound < parameter.abs().max() <= bound
    assert len(list(layer.parameters())) == (8 if layer_class is WideMultiHeadAttention else 10)


@both_layers
def test_dropout_drops_its_share_in_training_and_nothing_after(layer_class):
    torch.manual_seed(0)
    layer = layer_class(4, 2, dropout=0.25)
    x = torch.randn(8, 64, 4)
    _, dropped = layer(x, x, x, average_attn_weights=False)
    share = (dropped == 0).double().mean().item()
    assert abs(share - 0.25) < 0.01
    layer.eval()
    kept = layer(x, x, x, average_attn_weights=False)[1]
    assert (kept > 0).all()
    where = dropped > 0
    torch.testing.assert_close(dropped[where], kept[where] / 0.75)


@both_layers
def test_a_query_with_nothing_to_attend_to_gives_the_biases_and_no_nan(layer_class):
    torch.manual_seed(0)
    layer = layer_class(6, 2)
    for parameter in layer.parameters():
        nn.init.normal_(parameter)
    x = torch.randn(2, 3, 6, requires_grad=True)
    blocked = torch.tensor([[True] * 3, [False] * 3])
    output, weights = layer(x, x, x, key_padding_mask=blocked)
    assert not weights[0].any()
    heads = torch.zeros(12) if layer_class is WideMultiHeadAttention else layer.reduce.bias
    torch.testing.assert_close(output[0], layer.out_proj(heads).expand(3, 6))
    output.sum().backward()
    assert x.grad.isfinite().all()


@both_layers
def test_keys_and_values_of_other_widths(layer_class):
    layer = layer_class(6, 2, kdim=3, vdim=4)
    q, k, v = torch.randn(2, 5, 6), torch.randn(2, 7, 3), torch.randn(2, 7, 4)
    assert layer(q, k, v)[0].shape == q.shape
    with pytest.raises(ValueError, match="key has shape"):
        layer(q, v, k)


@both_layers
@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_half_precision_and_no_batch(layer_class, dtype):
    layer = layer_class(8, 2).to(dtype)
    x = torch.randn(5, 8, dtype=dtype)
    output, weights = layer(x, x, x)
    assert output.shape == (5, 8)
    assert weights.shape == (5, 5)
    assert output.dtype == weights.dtype == dtype
    torch.testing.assert_close(layer(x[None], x[None], x[None])[0][0], output)


@both_layers
def test_the_classifier_takes_them(layer_class):
    model = TextClassifier(20, 8, 3, layer_class(8, 2), padding_idx=0)
    assert model(torch.randint(20, (4, 7))).shape == (4, 3)


def test_a_wide_layer_need_not_divide():
    layer = WideMultiHeadAttention(7, 3)
    x = torch.randn(1, 2, 7)
    assert layer(x, x, x)[0].shape == x.shape


@pytest.mark.parametrize(
    ("make", "said"),
    [
        (lambda: ConvMultiHeadAttention(8, 2, kernel_size=0), "kernel_size"),
        (lambda: ConvMultiHeadAttention(8, 3), "multiple of num_heads"),
        (lambda: ConvMultiHeadAttention(8, 2, head_dim=0), "head_dim"),
        (lambda: WideMultiHeadAttention(8, 0), "multiple of num_heads"),
        (lambda: WideMultiHeadAttention(8, 2, dropout=2.0), "dropout"),
        (lambda: ConvMultiHeadAttention(8, 2).to_torch(), "convolution"),
        (lambda: ConvMultiHeadAttention(8, 1).to_torch(), "convolution"),
        (
            lambda: ConvMultiHeadAttention.from_torch(nn.MultiheadAttention(8, 2)),
            "convolution",
        ),
        (lambda: WideMultiHeadAttention(8, 2).to_torch(), "2 heads are 8 wide"),
        (
            lambda: WideMultiHeadAttention.from_torch(nn.MultiheadAttention(8, 2)),
            "2 heads are 8 wide",
        ),
    ],
)
def test_errors_say_what_is_wrong(make, said):
    with pytest.raises(ValueError, match=said):
        make()
