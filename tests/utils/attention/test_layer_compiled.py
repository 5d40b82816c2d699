"""Our layers exported, compiled, on a meta device, with fake tensors."""

import pytest
import torch
from torch import nn
from torch._subclasses.fake_tensor import FakeTensorMode
from torch.func import vmap
from torch.fx.experimental.proxy_tensor import make_fx

from utils.attention import (
    FastMultiHeadAttention,
    MultiHeadAttention,
    NaiveMultiHeadAttention,
    valid_length_mask,
)
from utils.models import TextEncoder

B, D, H = 2, 12, 3
LAYERS = [NaiveMultiHeadAttention, MultiHeadAttention, FastMultiHeadAttention]
SHAPES = [(4, 6), (1, 60)]  # queries and keys; where the fast layer projects no key, and where so

all_layers = pytest.mark.parametrize("layer_class", LAYERS)
packed_layers = pytest.mark.parametrize("layer_class", LAYERS[1:])
both_shapes = pytest.mark.parametrize("queries_keys", SHAPES)
with_and_without = pytest.mark.parametrize("need_weights", [True, False])


@packed_layers
@with_and_without
@pytest.mark.parametrize("kind", ["none", "padding", "float", "causal"])
def test_an_exported_layer_takes_other_batches_and_lengths(
    layer_class, need_weights, kind, make, close
):
    class Called(nn.Module):
        def __init__(self):
            super().__init__()
            self.layer = make(layer_class)

        def forward(self, query, x, padding, added):
            masks = {
                "none": {},
                "padding": {"key_padding_mask": padding},
                "float": {"attn_mask": added},
                "causal": {"is_causal": True},
            }[kind]
            output, _ = self.layer(query, x, x, need_weights=need_weights, **masks)
            return output + 0 * padding.sum() + 0 * added.sum()  # each input is used

    def example(batch, queries, keys):
        query = torch.randn(batch, queries, D, dtype=torch.float64)
        x = torch.randn(batch, keys, D, dtype=torch.float64)
        padding = torch.arange(keys).expand(batch, keys) > keys - 2
        return query, x, padding, torch.randn(queries, keys, dtype=torch.float64)

    module, (batch, T, S) = Called().eval(), torch.export.dims("batch", "T", "S")
    dynamic = ({0: batch, 1: T}, {0: batch, 1: S}, {0: batch, 1: S}, {0: T, 1: S})
    program = torch.export.export(module, example(3, 2, 9), dynamic_shapes=dynamic)
    for sizes in [(3, 2, 9), (5, 7, 11), (2, 40, 3), (4, 2, 90)]:
        given = example(*sizes)
        close(program.module()(*given), module(*given))


def compiled(function):
    """Compile to one graph, or fail; no C++ compiler is needed."""
    torch._dynamo.reset()
    return torch.compile(function, fullgraph=True, backend="aot_eager")


@packed_layers
@both_shapes
@with_and_without
@pytest.mark.parametrize(
    ("kind", "frozen"),
    [("none", True), ("none", False), ("padding", True), ("float", False), ("causal", True)],
)
def test_a_layer_compiles_to_one_graph(
    layer_class, queries_keys, need_weights, kind, frozen, make, inputs, close, masks_of
):
    layer, given = make(layer_class), inputs(*queries_keys)
    layer.requires_grad_(not frozen)  # and outside no_grad, where a frozen layer stands in a model
    call = {"need_weights": need_weights, **masks_of(kind, *queries_keys)}
    output, _ = compiled(layer)(*given, **call)
    expected, _ = layer(*given, **call)
    close(output, expected)
    assert output.requires_grad is not frozen


def test_the_loop_over_heads_compiles_to_one_graph_too(make, inputs, close, masks_of):
    layer, given = make(NaiveMultiHeadAttention), inputs(4, 6)
    masks = masks_of("padding", 4, 6)
    close(compiled(layer)(*given, **masks), layer(*given, **masks))


def test_an_encoder_with_padding_compiles_to_one_graph(close):
    torch.manual_seed(0)
    encoder = TextEncoder(20, D, H, 16, 2).double().eval()
    ids = torch.randint(20, (B, 7))
    padding = torch.arange(7).expand(B, 7) > 4
    for mask in (padding, torch.zeros_like(padding)):
        close(compiled(encoder)(ids, mask), encoder(ids, mask))


def test_a_mask_from_lengths_compiles_to_one_graph_and_maps():
    lengths = torch.tensor([2, 0, 3])
    expected = valid_length_mask(lengths, 4)
    assert torch.equal(compiled(valid_length_mask)(lengths, 4), expected)
    assert torch.equal(vmap(lambda length: valid_length_mask(length, 4))(lengths), expected)


@all_layers
@both_shapes
@with_and_without
def test_on_a_meta_device_shapes_go_forward_and_gradients_back(
    layer_class, queries_keys, need_weights
):
    layer = layer_class(D, H, device="meta")
    queries, keys = queries_keys
    query = torch.empty(B, queries, D, device="meta", requires_grad=True)
    x = torch.empty(B, keys, D, device="meta", requires_grad=True)
    padding = torch.empty(B, keys, device="meta", dtype=torch.bool)
    output, _ = layer(query, x, x, padding, need_weights)
    output.sum().backward()
    assert output.shape == query.shape
    assert (query.grad.shape, x.grad.shape) == (query.shape, x.shape)
    assert all(parameter.grad.is_meta for parameter in layer.parameters())


@all_layers
@both_shapes
@with_and_without
def test_fake_tensors_and_tracers_go_through(
    layer_class, queries_keys, need_weights, make, inputs, close
):
    layer, given = make(layer_class).requires_grad_(False), inputs(*queries_keys)
    added = torch.randn(*queries_keys, dtype=torch.float64)

    def call(query, x, added):
        return layer(query, x, x, attn_mask=added, need_weights=need_weights)[0]

    with FakeTensorMode(allow_non_fake_inputs=True) as mode:
        fakes = [mode.from_tensor(tensor) for tensor in (given[0], given[1], added)]
        assert call(*fakes).shape == given[0].shape
    expected = call(given[0], given[1], added)
    close(make_fx(call)(given[0], given[1], added)(given[0], given[1], added), expected)
