"""What cannot be meant is refused in a sentence that names it, by every layer and helper."""

import warnings

import pytest
import torch
from torch import nn
from torch.nn.attention.bias import causal_lower_right

from utils.attention import (
    MultiHeadAttention,
    combine_masks,
    masked_softmax,
    scaled_dot_product_attention,
    to_additive,
)
from utils.cache import KeyValueCache
from utils.fast import FastMultiHeadAttention
from utils.naive import NaiveMultiHeadAttention
from utils.positions import RotaryPositionalEncoding, SinusoidalPositionalEncoding
from utils.tiled import tiled_attention

B, T, D, H = 2, 3, 12, 3
INF, NAN = float("inf"), torch.tensor([0.0, 1.0, 1.0]) * -float("inf")  # 0 * -inf
X = torch.randn(B, T, D)
CLASSES = [NaiveMultiHeadAttention, MultiHeadAttention, FastMultiHeadAttention]
every_layer = pytest.mark.parametrize("layer_class", CLASSES)
LAYERS = [layer_class(D, H) for layer_class in CLASSES]
FUNCTIONS = [scaled_dot_product_attention, tiled_attention]
NO_EMBEDDING = {
    "token ids": (torch.randint(9, (B, T)), "token ids"),
    "whole numbers": (X.long(), "dtype torch.int64"),
    "a list": (X.tolist(), "list"),
    "an array": (X.numpy(), "from_numpy"),
    "None": (None, "None"),
}
NO_MASK = {
    "integers": (torch.ones(T, T, dtype=torch.int64), "dtype torch.int64"),
    "a list": ([[True] * T] * T, "list"),
}


@pytest.mark.parametrize("what", NO_EMBEDDING)
def test_what_is_no_embedding_is_refused_by_name(what):
    (wrong, word), layer = NO_EMBEDDING[what], MultiHeadAttention(D, H)
    calls = {"x": [lambda: layer.decode(wrong, KeyValueCache(4))]}
    for function in (*LAYERS, *FUNCTIONS):
        calls.setdefault("query", []).append(lambda f=function: f(wrong, X, X))
        calls.setdefault("key", []).append(lambda f=function: f(X, wrong, X))
        calls.setdefault("value", []).append(lambda f=function: f(X, X, wrong))
    for name, each in calls.items():
        for call in each:
            with pytest.raises(TypeError, match=f"{name} .*{word}"):
                call()


@pytest.mark.parametrize("what", NO_MASK)
def test_what_is_no_mask_is_refused_by_every_helper(what):
    (wrong, word), allowed = NO_MASK[what], torch.ones(T, T, dtype=torch.bool)
    for call in (
        lambda: masked_softmax(torch.zeros(T, T), wrong),
        lambda: combine_masks(wrong, allowed),
        lambda: combine_masks(allowed, wrong),
        lambda: combine_masks(None, wrong),
        lambda: to_additive(wrong, torch.float32),
        *(lambda f=function: f(X, X, X, wrong) for function in FUNCTIONS),
        *(lambda f=layer: f(X, X, X, attn_mask=wrong) for layer in LAYERS),
        *(lambda f=layer: f(X, X, X, key_padding_mask=wrong) for layer in LAYERS),
    ):
        with pytest.raises(TypeError, match=word):
            call()


UNFIT = [
    *(({"query": shape}, "query") for shape in [(B, 4, D + 1), (4, D), (3, 4, D)]),
    *(({"key": shape}, "key") for shape in [(B, 3, 2), (3, D)]),
    *(({"value": shape}, "value") for shape in [(B, 3, 2), (1, 3, D), (B, 6, D)]),
    ({"query": (1, B, 4, D), "key": (1, B, 3, D), "value": (1, B, 3, D)}, "dimensions"),
    ({"query": (4, D), "key": (3, D), "value": (3, D), "key_padding_mask": (1, 3)}, "padding"),
    *(({"key_padding_mask": shape}, "padding") for shape in [(3, B), (B, 4), (1, 3), (B, 1, 3)]),
    *(({"attn_mask": shape}, "attn_mask") for shape in [(3, 4), (B, 4, 3), (H, 4, 3), (1, 3)]),
    *(({"attn_mask": shape}, "attn_mask") for shape in [(B, 2, 4, 3), (H, 1, 4, 3), (3,)]),
    ({"attn_mask": NAN.expand(4, 3)}, "NaN"),
    ({"key_padding_mask": NAN.expand(B, 3)}, "NaN"),
    ({"attn_mask": torch.ones(4, 3, dtype=torch.uint8)}, "attn_mask == 0"),
    ({"attn_mask": causal_lower_right(3, 3)}, "is_causal"),
]


@every_layer
@pytest.mark.parametrize("need_weights", [True, False])
def test_inputs_and_masks_that_do_not_fit_the_layer_are_refused(layer_class, need_weights):
    layer = layer_class(D, H)
    for change, message in UNFIT:
        given = {"query": (B, 4, D), "key": (B, 3, D), "value": (B, 3, D)} | change
        for name, x in given.items():
            if isinstance(x, tuple):
                given[name] = torch.zeros(x, dtype=torch.bool if "mask" in name else torch.float32)
        with pytest.raises((ValueError, TypeError), match=message):
            layer(**given, need_weights=need_weights)


@pytest.mark.parametrize("function", FUNCTIONS)
def test_what_does_not_fit_the_function_is_refused(function):
    x, one = torch.zeros(2, 3, 6), torch.zeros(1, 1, 6)
    masks = [torch.zeros(shape) > 0 for shape in [(3, 2), (3, 3, 3), (2, 2), (1, 2, 3, 3)]]
    for given, message in [
        ((x, torch.zeros(2, 3, 7), x), "do not fit"),
        ((x, torch.zeros(2, 5, 6), x), "do not fit"),
        ((x[0, 0], x, x), "query"),
        ((x, x, x[0, 0]), "value"),
        ((x, x.double(), x), "floating dtype"),
        ((x, x, x.bfloat16()), "floating dtype"),
        *(((x, x, x, mask), "attn_mask") for mask in masks),
        ((one, one, one, torch.ones(2, 2) > 0), "attn_mask"),  # it would enlarge the scores
        ((x, x, x, torch.ones(3, 3).long()), "attn_mask == 1"),
        ((x, x, x, causal_lower_right(3, 3)), "is_causal"),
        ((x, x, x, NAN), "NaN"),
    ]:
        with pytest.raises((ValueError, TypeError), match=message):
            function(*given)


@every_layer
def test_what_a_layer_cannot_be_is_refused(layer_class):
    for name, values in {
        "batch_first": [False],
        "add_bias_kv": [True],
        "add_zero_attn": [True],
        "kdim": [0, False],  # False: PyTorch's fifth argument by position
        "vdim": [0, 4.0],
        "num_heads": [0, 1.5],
        "embed_dim": [0, 12.0],
        "dropout": [1.5, -0.1],
        "scale": [0.0, -1.0, INF],
    }.items():
        for value in values:
            kind = TypeError if value is False or value in (4.0, 1.5, 12.0) else ValueError
            kind = ValueError if name in ("batch_first", "dropout") else kind
            with pytest.raises(kind, match=name.replace("_first", " first")):
                layer_class(**{"embed_dim": D, "num_heads": H} | {name: value})


def nested(layout):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # a prototype, it says
        x = torch.nested.nested_tensor([torch.randn(3, D), torch.randn(2, D)], layout=layout)
    return MultiHeadAttention(D, H)(x, x, x)


class Wide(MultiHeadAttention):
    def __init__(self, embed_dim, num_heads, *options):
        super().__init__(embed_dim, num_heads, *options, head_dim=embed_dim)


def hooked():
    layer = MultiHeadAttention(D, H)
    layer.q_proj.register_forward_hook(lambda *_: None)
    return layer


def bare():
    layer = MultiHeadAttention(D, H)
    layer.v_proj = nn.Linear(D, D, bias=False)
    return layer


ONES, TORCH = torch.ones(2, 5, 8), nn.MultiheadAttention
REFUSED = {
    "nested": [lambda: nested(torch.strided), lambda: nested(torch.jagged)],
    "multiple": [lambda: NaiveMultiHeadAttention(10, 3), lambda: MultiHeadAttention(10, 3)],
    "head_dim": [
        lambda: MultiHeadAttention(D, H, head_dim=0),
        lambda: MultiHeadAttention(D, H, head_dim=1.5),
    ],
    "num_kv_heads": [
        *(lambda n=n: MultiHeadAttention(D, 4, num_kv_heads=n) for n in (0, -4, 3, 8, 1.5))
    ],
    # What PyTorch's layer cannot be, and what of PyTorch's is not here.
    "add_bias_kv": [
        lambda: MultiHeadAttention.from_torch(TORCH(D, H, add_bias_kv=True)),
        lambda: MultiHeadAttention.from_torch(TORCH(D, H, add_zero_attn=True)),
    ],
    "scale": [lambda: NaiveMultiHeadAttention(D, H, scale=0.7).to_torch()],
    "take another": [lambda: NaiveMultiHeadAttention(D, H, positions=nn.Identity())],
    "share": [lambda: MultiHeadAttention(D, 4, num_kv_heads=2).to_torch()],
    "positions": [lambda: FastMultiHeadAttention(D, H, positions=nn.Identity()).to_torch()],
    "9 wide": [lambda: MultiHeadAttention(D, 2, head_dim=9).to_torch()],
    "6 wide": [lambda: Wide.from_torch(TORCH(6, 2))],
    "8 wide": [
        lambda: MultiHeadAttention(8, 2, head_dim=8).to_torch(),
        lambda: Wide.from_torch(TORCH(8, 2)),
    ],
    "projection": [lambda: hooked().to_torch(), lambda: bare().to_torch()],
    # Masks and tiles.
    "at least 1": [
        lambda: tiled_attention(X, X, X, window=2),
        lambda: tiled_attention(X, X, X, window=0, is_causal=True),
        lambda: tiled_attention(X, X, X, tile=0),
    ],
    "gradient": [lambda: tiled_attention(X, X, X, torch.zeros(T, T, requires_grad=True))],
    # Positions.
    "embed_dim": [lambda: SinusoidalPositionalEncoding(0)],
    "even": [lambda: RotaryPositionalEncoding(5), lambda: RotaryPositionalEncoding(0)],
    "shape": [
        lambda: SinusoidalPositionalEncoding(8)(ONES[..., :1]),
        lambda: SinusoidalPositionalEncoding(8)(ONES[0, 0]),
        lambda: RotaryPositionalEncoding(4).rotate(ONES),
    ],
}


@pytest.mark.parametrize("word", REFUSED)
def test_what_cannot_be_is_refused(word):
    for call in REFUSED[word]:
        with pytest.raises((ValueError, TypeError), match=word):
            call()
