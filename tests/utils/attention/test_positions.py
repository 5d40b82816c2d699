"""The positional encodings equal their references, and do what they promise inside a layer."""

import copy
import itertools
import math

import pytest
import torch
import torch.nn.functional as F
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import nn
from transformers import GPT2Config, GPT2Model, LlamaConfig
from transformers.models.bloom.modeling_bloom import build_alibi_tensor
from transformers.models.distilbert.modeling_distilbert import create_sinusoidal_embeddings
from transformers.models.llama.modeling_llama import LlamaRotaryEmbedding, apply_rotary_pos_emb

from utils.attention import (
    ALiBi,
    LearnedPositionalEncoding,
    MultiHeadAttention,
    RotaryPositionalEncoding,
    SinusoidalPositionalEncoding,
    alibi_slopes,
    causal_mask,
    masked_softmax,
)
from utils.models import TextClassifier

EVERY_KIND = {
    "sinusoidal": lambda: SinusoidalPositionalEncoding(8),
    "learned": lambda: LearnedPositionalEncoding(12, 8),
    "rotary": lambda: RotaryPositionalEncoding(4),
    "ALiBi": lambda: ALiBi(2),
}
INSIDE = {name: EVERY_KIND[name] for name in ("rotary", "ALiBi")}


def apply(module, x, mask=None):
    """What the module makes of vectors: their sum, or queries and keys, and the mask."""
    if isinstance(module, RotaryPositionalEncoding | ALiBi):
        return [y for y in module(x, x, mask) if y is not None]
    return [module(x)]


# Sinusoidal.


def test_sinusoidal_by_hand():
    table = SinusoidalPositionalEncoding(4).table(3)
    rows = [[math.sin(t), math.cos(t), math.sin(t / 100), math.cos(t / 100)] for t in range(3)]
    torch.testing.assert_close(table, torch.tensor(rows))


@settings(max_examples=30)
@given(st.integers(1, 40), st.integers(1, 65))
def test_sinusoidal_equals_the_table_of_distilbert(length, embed_dim):
    expected = create_sinusoidal_embeddings(length, embed_dim, torch.empty(length, embed_dim))
    table = SinusoidalPositionalEncoding(embed_dim).table(length)
    torch.testing.assert_close(table, expected, atol=1e-5, rtol=0)


@settings(max_examples=30)
@given(st.integers(1, 20).map(lambda n: 2 * n), st.integers(0, 300), st.integers(-50, 300))
def test_a_shift_is_a_rotation(embed_dim, t, k):
    k = max(k, -t)
    table = SinusoidalPositionalEncoding(embed_dim).table(t + abs(k) + 1, torch.float64)
    angles = k * 10_000.0 ** -(torch.arange(0, embed_dim, 2, dtype=torch.float64) / embed_dim)
    blocks = [torch.tensor([[a.cos(), a.sin()], [-a.sin(), a.cos()]]).double() for a in angles]
    torch.testing.assert_close(
        torch.block_diag(*blocks) @ table[t], table[t + k], atol=1e-6, rtol=0
    )


def test_sinusoidal_is_added_with_its_scale_and_to_any_length():
    encoding, x = SinusoidalPositionalEncoding(6, scale=0.5), torch.randn(2, 7, 6)
    torch.testing.assert_close(encoding(x), x + 0.5 * encoding.table(7))
    longer = encoding.table(5000)
    torch.testing.assert_close(longer[:7], encoding.table(7))  # more tokens change no position
    assert longer.isfinite().all()
    assert len(longer.unique(dim=0)) == 5000  # every position has a code of its own
    torch.testing.assert_close(encoding(x[0]), encoding(x)[0])  # without a batch


@pytest.mark.parametrize("kind", EVERY_KIND)
@pytest.mark.parametrize("dtype", [torch.float64, torch.bfloat16, torch.float16])
def test_the_dtype_stays(kind, dtype):
    module = EVERY_KIND[kind]().to(dtype)
    x = torch.randn(1, 2, 5, 4) if kind in INSIDE else torch.randn(2, 5, 8)
    assert all(y.dtype == dtype for y in apply(module, x.to(dtype)))


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
def test_half_precision_is_rounded_late(dtype):
    """2,049 is no float16, and 257 no bfloat16, so angles computed in these would be wrong."""
    encoding = SinusoidalPositionalEncoding(8)
    assert torch.equal(encoding.table(3000, dtype), encoding.table(3000).to(dtype))
    rotary, ones = RotaryPositionalEncoding(4), torch.ones(3000, 4)
    rounded = rotary.rotate(ones.to(dtype)).float()
    torch.testing.assert_close(rounded, rotary.rotate(ones), atol=0.02, rtol=0)


@pytest.mark.parametrize("kind", [k for k in EVERY_KIND if k != "learned"])
def test_nothing_to_learn_and_nothing_in_the_state_dict(kind):
    module = EVERY_KIND[kind]()
    assert not list(module.parameters())
    assert not module.state_dict()
    assert not list(module.buffers())  # so nothing can be left behind on another device


@pytest.mark.parametrize("kind", EVERY_KIND)
def test_works_where_the_input_is(kind):
    module = EVERY_KIND[kind]().to("meta")
    x = (
        torch.randn(1, 2, 5, 4, device="meta")
        if kind in INSIDE
        else torch.randn(2, 5, 8).to("meta")
    )
    assert all(y.device.type == "meta" for y in apply(module, x))


# Learned.


def test_learned_equals_the_embeddings_of_gpt2():
    torch.manual_seed(0)
    sizes = {"n_embd": 8, "n_head": 2, "n_positions": 12, "vocab_size": 20, "n_layer": 0}
    model = GPT2Model(GPT2Config(**sizes)).eval()
    encoding = LearnedPositionalEncoding(12, 8)
    encoding.embedding.load_state_dict(model.wpe.state_dict())
    ids = torch.randint(20, (3, 9))
    expected = model(ids).last_hidden_state
    torch.testing.assert_close(model.ln_f(encoding(model.wte(ids))), expected)


def test_learned_trains_the_rows_that_were_asked_for():
    encoding = LearnedPositionalEncoding(6, 4)
    encoding(torch.randn(2, 3, 4)).sum().backward()
    assert encoding.embedding.weight.grad.tolist() == [[2.0] * 4] * 3 + [[0.0] * 4] * 3


def test_learned_is_drawn_with_its_scale():
    torch.manual_seed(0)
    assert LearnedPositionalEncoding(200, 100).embedding.weight.std().item() == pytest.approx(
        1, 0.05
    )
    small = LearnedPositionalEncoding(200, 100, scale=0.1).embedding.weight
    assert small.std().item() == pytest.approx(0.1, 0.05)


# Rotary.


@settings(max_examples=20)
@given(st.integers(1, 8), st.integers(1, 40), st.integers(1, 3), st.sampled_from([10_000, 500.0]))
def test_rotary_equals_llama(half, length, num_heads, base):
    head_dim = 2 * half
    config = LlamaConfig(
        hidden_size=head_dim * num_heads,
        num_attention_heads=num_heads,
        head_dim=head_dim,
        rope_parameters={"rope_type": "default", "rope_theta": base},
    )
    q, k = torch.randn(2, 3, num_heads, length, head_dim)
    cos, sin = LlamaRotaryEmbedding(config)(q, torch.arange(length).expand(3, -1))
    expected = apply_rotary_pos_emb(q, k, cos, sin)
    mask = torch.ones(length, length, dtype=torch.bool)
    *rotated, same = RotaryPositionalEncoding(head_dim, base)(q, k, mask)
    # In float32 an angle of 40 is rounded by 4e-6, and a number of q or k may be 5.
    torch.testing.assert_close(tuple(rotated), expected, atol=1e-4, rtol=0)
    assert same is mask


@settings(max_examples=20)
@given(st.integers(1, 6), st.integers(1, 30))
def test_rotary_is_that_of_the_paper_with_the_dimensions_in_another_order(half, length):
    """RoFormer: pair (2i, 2i + 1), as complex numbers times e^(i t theta)."""
    width = 2 * half
    theta = 10_000.0 ** -(torch.arange(0, width, 2, dtype=torch.float64) / width)
    turns = torch.polar(torch.ones(()).double(), torch.arange(length).double()[:, None] * theta)
    x = torch.randn(length, width, dtype=torch.float64)
    pairs = torch.view_as_complex(x.view(length, half, 2))
    of_the_paper = torch.view_as_real(pairs * turns).flatten(1)
    order = torch.arange(width).view(half, 2).T.flatten()  # 0, 2, 4, …, 1, 3, 5, …
    rotated = RotaryPositionalEncoding(width).rotate(x[:, order])
    torch.testing.assert_close(rotated, of_the_paper[:, order])


@settings(max_examples=50)
@given(st.integers(1, 8), st.integers(0, 200), st.integers(0, 200), st.integers(0, 200))
def test_rotary_scores_depend_on_the_distance_alone(half, t, s, shift):
    rotary = RotaryPositionalEncoding(2 * half)
    q, k = torch.randn(2, 2 * half, dtype=torch.float64).expand(401, 2, -1).unbind(1)
    q, k, _ = rotary(q, k, None)
    torch.testing.assert_close(q[t] @ k[s], q[t + shift] @ k[s + shift], atol=1e-9, rtol=0)


def test_rotary_scores_do_depend_on_the_distance_and_on_its_sign():
    torch.manual_seed(0)
    rotary = RotaryPositionalEncoding(8)
    q, k = torch.randn(2, 1, 8, dtype=torch.float64).expand(2, 9, -1)
    q, k, _ = rotary(q, k, None)
    scores = (q @ k.T)[4]  # of the query at 4 with the same key at 0 … 8
    assert len(scores.unique()) == 9


def test_rotary_leaves_lengths_and_position_0_alone():
    x = torch.randn(3, 7, 6, dtype=torch.float64)
    rotated = RotaryPositionalEncoding(6).rotate(x)
    torch.testing.assert_close(rotated.norm(dim=-1), x.norm(dim=-1))
    assert torch.equal(rotated[:, 0], x[:, 0])


# ALiBi.


def test_slopes_of_the_paper():
    assert alibi_slopes(8) == [1 / 2**h for h in range(1, 9)]
    expected = [2 ** (-h / 2) for h in range(1, 17)]
    assert alibi_slopes(16) == pytest.approx(expected)


@pytest.mark.parametrize("num_heads", range(1, 41))
def test_alibi_equals_bloom_up_to_a_constant_for_each_query(num_heads):
    """Bloom adds slope * key; minus slope * (query - key) differs by slope * query."""
    T = 11
    bloom = build_alibi_tensor(torch.ones(1, T), num_heads, torch.float32)  # (H, 1, T)
    bias = ALiBi(num_heads).bias(T, T)  # (H, T, T)
    gap = (bias - bloom).tril()  # where the paper's causal mask allows
    expected = (bias - bloom)[:, :, :1].expand(-1, T, T).tril()
    torch.testing.assert_close(gap, expected, atol=1e-5, rtol=0)
    causal = causal_mask(T, T)
    scores = torch.randn(num_heads, T, T)
    torch.testing.assert_close(
        masked_softmax(scores + bias, causal), masked_softmax(scores + bloom, causal)
    )


def test_alibi_by_hand():
    bias = ALiBi(2).bias(2, 4)
    distance = torch.tensor([[0.0, 1, 2, 3], [1, 0, 1, 2]])
    torch.testing.assert_close(bias, -torch.stack([distance / 16, distance / 256]))


@pytest.mark.parametrize("kind", ["none", "bool", "float"])
def test_alibi_keeps_the_mask_it_is_given(kind):
    alibi, q = ALiBi(2), torch.randn(3, 2, 4, 5)
    allowed = torch.tensor([True, False, True, True]).view(1, 1, 1, 4)
    floats = torch.zeros(1, 1, 1, 4).masked_fill(~allowed, float("-inf"))
    given_mask = {"none": None, "bool": allowed, "float": floats}[kind]
    same_q, same_k, mask = alibi(q, q, given_mask)
    expected = alibi.bias(4, 4) + (0 if given_mask is None else floats)
    assert same_q is q
    assert same_k is q
    assert torch.equal(mask, expected.expand(1, 2, 4, 4))


# Inside the layer and before it.


def layer_with(kind):
    torch.manual_seed(0)
    layer = MultiHeadAttention(8, 2, positions=INSIDE[kind]() if kind in INSIDE else None)
    return layer.double()


@pytest.mark.parametrize("kind", INSIDE)
@pytest.mark.parametrize("causal", [False, True])
@pytest.mark.parametrize("T", [1, 6])
def test_the_layer_with_positions_equals_a_slow_reference(kind, causal, T):
    layer, x = layer_with(kind), torch.randn(2, 6, 8, dtype=torch.float64)
    blocked = torch.tensor([[False] * 6, [False] * 4 + [True] * 2])
    weights = torch.zeros(2, 2, T, 6, dtype=torch.float64)
    q, k = layer.q_proj(x[:, :T]).unflatten(-1, (2, 4)), layer.k_proj(x).unflatten(-1, (2, 4))
    for b, h, t in torch.cartesian_prod(torch.arange(2), torch.arange(2), torch.arange(T)).tolist():
        keys = [s for s in range(6) if not blocked[b, s] and not (causal and s > t)]
        scores = []
        for s in keys:
            a, c = q[b, t, h], k[b, s, h]
            if kind == "ALiBi":
                scores.append(a @ c / 2 - abs(t - s) * (1 / 16, 1 / 256)[h])
            else:  # dimensions (0, 2) and (1, 3) are pairs, with frequencies 1 and 1/100
                turn = torch.tensor([1j, 0.01j]).to(torch.complex128)
                a, c = torch.complex(a[:2], a[2:]), torch.complex(c[:2], c[2:])
                scores.append((a * (t * turn).exp() * (c * (s * turn).exp()).conj()).real.sum() / 2)
        weights[b, h, t, keys] = torch.stack(scores).softmax(0)
    v = layer.v_proj(x).unflatten(-1, (2, 4)).transpose(1, 2)
    expected = layer.out_proj((weights @ v).transpose(1, 2).flatten(2))
    options = {"key_padding_mask": blocked, "is_causal": causal}
    output, got = layer(x[:, :T], x, x, **options, average_attn_weights=False)
    torch.testing.assert_close(got, weights)
    torch.testing.assert_close(output, expected)
    fused, none = layer(x[:, :T], x, x, **options, need_weights=False)
    assert none is None
    torch.testing.assert_close(fused, expected)


@pytest.mark.parametrize("kind", ["none", *EVERY_KIND])
def test_outputs_are_permuted_with_the_tokens_only_where_no_position_tells_them_apart(kind):
    """Without positions in every order; ALiBi sees distances, so it is blind to the reversed one.

    The others tell left from right, so nothing but the order as it was leaves their outputs.
    """
    layer = layer_with(kind)
    before = EVERY_KIND[kind]().double() if kind in {*EVERY_KIND} - {*INSIDE} else nn.Identity()

    def outputs(x):
        x = before(x)
        return layer(x, x, x)[0]

    orders = list(itertools.permutations(range(5)))  # as it was, ..., reversed
    unseen = {"none": orders, "ALiBi": [orders[0], orders[-1]]}.get(kind, orders[:1])
    x = torch.randn(5, 8, dtype=torch.float64)
    gaps = (outputs(x[torch.tensor(orders)]) - outputs(x)[torch.tensor(orders)]).abs().amax((1, 2))
    assert [order for order, gap in zip(orders, gaps, strict=True) if gap < 1e-12] == unseen
    assert sum(gap > 1e-6 for gap in gaps) == len(orders) - len(unseen)


@pytest.mark.parametrize("kind", EVERY_KIND)
def test_the_classifier_with_positions_is_not_moved_by_padding(kind):
    torch.manual_seed(0)
    mha = MultiHeadAttention(8, 2, positions=INSIDE[kind]() if kind in INSIDE else None)
    model = TextClassifier(20, 8, 3, mha, padding_idx=0)
    if kind not in INSIDE:
        model.embedding = nn.Sequential(model.embedding, EVERY_KIND[kind]())
    ids = torch.randint(1, 20, (4, 7))
    torch.testing.assert_close(model(F.pad(ids, (0, 5))), model(ids))
    shuffled = ids[:, [0, 6, 5, 4, 3, 2, 1]]
    assert not torch.allclose(model(shuffled), model(ids))
    copied = copy.deepcopy(model)
    copied.load_state_dict(model.state_dict())
    assert torch.equal(copied(ids), model(ids))


# Errors.


@pytest.mark.parametrize(
    ("make", "fragment"),
    [
        (lambda: SinusoidalPositionalEncoding(0), "embed_dim"),
        (lambda: LearnedPositionalEncoding(0, 4), "both sizes"),
        (lambda: RotaryPositionalEncoding(5), "even"),
        (lambda: RotaryPositionalEncoding(0), "even"),
        (lambda: ALiBi(0), "num_heads"),
        (
            lambda: LearnedPositionalEncoding(4, 8)(torch.ones(1, 5, 8)),
            "table",
        ),
        (
            lambda: SinusoidalPositionalEncoding(8)(torch.ones(1, 5, 1)),
            "has shape",
        ),
        (
            lambda: LearnedPositionalEncoding(9, 8)(torch.ones(1, 5, 1)),
            "has shape",
        ),
        (
            lambda: RotaryPositionalEncoding(4).rotate(torch.ones(5, 8)),
            "has shape",
        ),
        (lambda: ALiBi(2)(*torch.ones(2, 1, 3, 4, 5), None), "built for 2 heads"),
    ],
)
def test_errors_are_clear(make, fragment):
    with pytest.raises(ValueError, match=fragment):
        make()
