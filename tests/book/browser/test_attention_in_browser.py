"""The layer in JavaScript gives the numbers of the layer in PyTorch, in a real browser."""

import pytest
import torch
import torch.nn.functional as F

from chapters.live.figure import STATIC
from utils.attention import MultiHeadAttention
from utils.positions import RotaryPositionalEncoding, SinusoidalPositionalEncoding


@pytest.fixture(scope="module")
def page(browser):
    page = browser.new_page()
    page.add_script_tag(path=STATIC / "attention.js")
    yield page
    page.close()


def assert_equal(found, expected):
    found = torch.tensor(found, dtype=torch.float32).view(expected.shape)
    torch.testing.assert_close(found, expected, atol=1e-5, rtol=1e-5)


LAYER = """({ state, D, H, query, key, value, rotary, masks }) => {
    const positions = rotary ? new RotaryPositionalEncoding(D / H) : null;
    const layer = new MultiHeadAttention(D, H, state, positions);
    const inputs = [query, key, value].map((rows) => Matrix.from(rows));
    const { output, weights } = layer.forward(...inputs, masks);
    return [[...output.data], weights.flatMap(({ data }) => [...data])];
}"""


def assert_same(page, layer, query, key, value, **masks):
    """Output and weights of each head are the same in the browser and in PyTorch."""
    for parameter in layer.parameters():
        torch.nn.init.normal_(parameter, std=layer.embed_dim**-0.5)
    names = {"key_padding_mask": "keyPaddingMask", "attn_mask": "attnMask", "is_causal": "isCausal"}
    given = {
        "state": {name: x.flatten().tolist() for name, x in layer.state_dict().items()},
        "D": layer.embed_dim,
        "H": layer.num_heads,
        "rotary": layer.positions is not None,
        "masks": {names[n]: x if x is True else x.tolist() for n, x in masks.items()},
    }
    given |= {"query": query.tolist(), "key": key.tolist(), "value": value.tolist()}
    with torch.no_grad():
        expected = layer(query, key, value, average_attn_weights=False, **masks)
    for ours, theirs in zip(page.evaluate(LAYER, given), expected, strict=True):
        assert_equal(ours, theirs)


@pytest.mark.parametrize(("T", "S", "D", "H"), [(1, 1, 2, 1), (4, 7, 8, 2), (9, 9, 24, 8)])
def test_the_layer(page, T, S, D, H):
    blocked = torch.rand(T, S) < 0.5
    blocked[0] = True  # a query that may attend to nothing
    length = torch.arange(S) >= torch.randint(S + 1, ())
    for bias, masks in (
        (True, {}),
        (False, {"is_causal": True}),
        (True, {"key_padding_mask": length}),
        (True, {"attn_mask": blocked, "is_causal": True}),
        (False, {"attn_mask": torch.randn(T, S), "key_padding_mask": torch.rand(S) < 0.3}),
        (True, {"attn_mask": torch.rand(H, T, S) < 0.6}),
    ):
        layer = MultiHeadAttention(D, H, bias=bias, kdim=D + 3, vdim=D + 1)
        inputs = torch.randn(T, D), torch.randn(S, D + 3), torch.randn(S, D + 1)
        assert_same(page, layer, *inputs, **masks)


def test_the_layer_norm(page):
    x, weight, bias = torch.randn(5, 12), torch.randn(12), torch.randn(12)
    run = "([x, ...given]) => [...layerNorm(Matrix.from(x), ...given).data]"
    for eps in (1e-5, 0.5):
        found = page.evaluate(run, [*(one.tolist() for one in (x, weight, bias)), eps])
        assert_equal(found, F.layer_norm(x, (12,), weight, bias, eps))


def test_positions(page):
    x = torch.randn(40, 16)
    rotary = RotaryPositionalEncoding(8)
    assert_same(page, MultiHeadAttention(16, 2, positions=rotary), x, x, x, is_causal=True)
    later = "rows => [...new RotaryPositionalEncoding(8).rotate(Matrix.from(rows), 5).data]"
    assert_equal(page.evaluate(later, x[:, :8].tolist()), rotary.rotate(x[:, :8], 5))
    for D in (1, 7, 64):
        found = page.evaluate("D => [...new SinusoidalPositionalEncoding(D).table(50).data]", D)
        assert_equal(found, SinusoidalPositionalEncoding(D).table(50))
