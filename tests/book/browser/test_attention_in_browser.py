"""The layer in JavaScript gives the numbers of the layer in PyTorch, in a real browser."""

import pytest
import torch

from utils.attention import (
    MultiHeadAttention,
    RotaryPositionalEncoding,
    SinusoidalPositionalEncoding,
    scaled_dot_product_attention,
    valid_length_mask,
)
from utils.figures.live_figure import STATIC

pytestmark = pytest.mark.slow
TOLERANCE = {"atol": 1e-5, "rtol": 1e-5}


@pytest.fixture(scope="module")
def page(browser, tmp_path_factory):
    """A page in a plain folder, with the script beside it."""
    folder = tmp_path_factory.mktemp("attention")
    script = (STATIC / "attention.js").read_text(encoding="utf-8")
    (folder / "attention.js").write_text(script, encoding="utf-8")
    file = folder / "page.html"
    file.write_text('<!doctype html><script src="attention.js"></script>', encoding="utf-8")
    page, requests = browser.new_page(), []
    page.on("request", lambda request: requests.append(request.url))
    page.goto(file.as_uri())
    yield page
    page.close()
    assert all(url.startswith(folder.as_uri()) for url in requests)


LAYER = """({ state, D, H, query, key, value, rotary, masks }) => {
    const positions = rotary ? new RotaryPositionalEncoding(D / H) : null;
    const layer = new MultiHeadAttention(D, H, state, positions);
    const inputs = [query, key, value].map((rows) => Matrix.from(rows));
    const { output, weights } = layer.forward(...inputs, masks);
    return [[...output.data], weights.flatMap(({ data }) => [...data])];
}"""


def in_both(page, layer, query, key, value, **masks):
    """Output and weights of each head, from the browser and from PyTorch."""
    state = {name: x.flatten().tolist() for name, x in layer.state_dict().items()}
    given = {"query": query, "key": key, "value": value}
    given = {name: x.tolist() for name, x in given.items()}
    names = {"key_padding_mask": "keyPaddingMask", "attn_mask": "attnMask"}
    theirs = {
        names.get(name, "isCausal"): x if isinstance(x, bool) else x.tolist()
        for name, x in masks.items()
    }
    given |= {"state": state, "D": layer.embed_dim, "H": layer.num_heads, "masks": theirs}
    given["rotary"] = layer.positions is not None
    found = [torch.tensor(x, dtype=torch.float32) for x in page.evaluate(LAYER, given)]
    with torch.no_grad():
        expected = layer(query, key, value, average_attn_weights=False, **masks)
    return [(a.view(b.shape), b) for a, b in zip(found, expected, strict=True)]


def random_layer(D, H, **options):
    layer = MultiHeadAttention(D, H, **options)
    for parameter in layer.parameters():
        torch.nn.init.normal_(parameter, std=D**-0.5)
    return layer


@pytest.mark.parametrize(("T", "S", "D", "H"), [(1, 1, 2, 1), (4, 7, 8, 2), (9, 9, 24, 8)])
@pytest.mark.parametrize("bias", [True, False])
@pytest.mark.parametrize("kind", ["none", "causal", "length", "random", "floats", "each head"])
def test_the_layer(page, T, S, D, H, bias, kind):
    layer = random_layer(D, H, bias=bias, kdim=D + 3, vdim=D + 1)
    inputs = torch.randn(T, D), torch.randn(S, D + 3), torch.randn(S, D + 1)
    length = torch.randint(S + 1, ()).item()
    masks = {
        "none": {},
        "causal": {"is_causal": True},
        "length": {"key_padding_mask": ~valid_length_mask(torch.tensor(length), S)},
        "random": {"attn_mask": torch.rand(T, S) < 0.5, "is_causal": True},
        "floats": {"attn_mask": torch.randn(T, S), "key_padding_mask": torch.rand(S) < 0.3},
        "each head": {"attn_mask": torch.rand(H, T, S) < 0.6},
    }[kind]
    for ours, theirs in in_both(page, layer, *inputs, **masks):
        torch.testing.assert_close(ours, theirs, **TOLERANCE)


def test_a_query_that_may_attend_to_nothing_has_weights_of_zero(page):
    layer, x = random_layer(8, 2), torch.randn(3, 8)
    blocked = torch.tensor([[True] * 3, [False] * 3, [True, True, False]])
    (output, _), (weights, expected) = in_both(page, layer, x, x, x, attn_mask=blocked)
    assert not weights[:, 0].any()
    torch.testing.assert_close(weights, expected, **TOLERANCE)
    torch.testing.assert_close(output[0], layer.out_proj.bias.detach(), **TOLERANCE)


def test_rotary_positions_in_the_layer(page):
    layer = random_layer(16, 2, positions=RotaryPositionalEncoding(8))
    x = torch.randn(40, 16)
    for ours, theirs in in_both(page, layer, x, x, x, is_causal=True):
        torch.testing.assert_close(ours, theirs, **TOLERANCE)


@pytest.mark.parametrize("embed_dim", [1, 7, 64])
def test_sinusoidal_positions(page, embed_dim):
    table = "D => [...new SinusoidalPositionalEncoding(D).table(50).data]"
    found = torch.tensor(page.evaluate(table, embed_dim), dtype=torch.float32).view(50, embed_dim)
    expected = SinusoidalPositionalEncoding(embed_dim).table(50)
    torch.testing.assert_close(found, expected, **TOLERANCE)


def test_a_rotation_that_starts_later(page):
    x = torch.randn(6, 8)
    turn = """rows => [...new RotaryPositionalEncoding(8).rotate(Matrix.from(rows), 5).data]"""
    found = torch.tensor(page.evaluate(turn, x.tolist())).view(6, 8)
    torch.testing.assert_close(found, RotaryPositionalEncoding(8).rotate(x, 5), **TOLERANCE)


@pytest.mark.parametrize("scale", [None, 0.0, 3.0])
def test_the_definition(page, scale):
    query, key, value = torch.randn(3, 4), torch.randn(5, 4), torch.randn(5, 2)
    allowed = torch.rand(3, 5) < 0.5  # here true means "may attend"
    run = """([query, key, value, mask, options]) => {
        const inputs = [query, key, value].map((rows) => Matrix.from(rows));
        const { output, weights } = scaledDotProductAttention(...inputs, mask, options);
        return [[...output.data], [...weights.data]];
    }"""
    options = {} if scale is None else {"scale": scale}
    given = [x.tolist() for x in (query, key, value, allowed)]
    found = page.evaluate(run, [*given, options])
    expected = scaled_dot_product_attention(query, key, value, allowed, scale=scale)
    for ours, theirs in zip(found, expected, strict=True):
        found_here = torch.tensor(ours, dtype=torch.float32).view(theirs.shape)
        torch.testing.assert_close(found_here, theirs, **TOLERANCE)


def test_scores_of_any_size_give_no_nan(page):
    run = "rows => [...maskedSoftmax(Matrix.from(rows)).data]"
    assert page.evaluate(run, [[1e30, 0.0], [-1e30, -1e30]]) == [1, 0, 0.5, 0.5]


@pytest.mark.parametrize(
    ("call", "words"),
    [
        ("new Matrix(2, 2, [1])", "1 numbers do not make 2 rows of 2"),
        ("new MultiHeadAttention(10, 4, {})", "must be a multiple of numHeads"),
        ("new RotaryPositionalEncoding(3)", "must be even"),
        ("linear(new Matrix(1, 2), new Matrix(3, 4))", "2 wide; expected 4"),
        (
            "scaledDotProductAttention(new Matrix(1, 2), new Matrix(3, 2), new Matrix(4, 2))",
            "3 keys and 4 values",
        ),
        (
            "scaledDotProductAttention(new Matrix(1, 2), new Matrix(3, 2), new Matrix(3, 2), "
            "causalMask(2, 3))",
            "the mask does not fit 1 queries and 3 keys",
        ),
    ],
)
def test_what_does_not_fit_is_said_in_a_sentence(page, call, words):
    run = f"() => {{ try {{ {call}; }} catch (problem) {{ return problem.message; }} }}"
    assert words in page.evaluate(run)
