"""``torch.func``, the compiler, the exporter, fake tensors and meta devices take our layers."""

import pytest
import torch
from torch import nn
from torch._subclasses.fake_tensor import FakeTensorMode
from torch.func import functional_call, grad, jvp, vmap
from torch.fx.experimental.proxy_tensor import make_fx

from utils.naive import NaiveMultiHeadAttention

B, D, H = 2, 12, 3
every_mask = pytest.mark.parametrize("kind", ["none", "padding", "float", "causal"])


# torch.func.


@every_mask
def test_vmap_over_inputs_is_a_loop_over_them(
    way, need_weights, kind, make, inputs, close, masks_of
):
    layer, masks = make(way[0]), masks_of(kind, *way[1])
    query, x, _ = inputs(*way[1], batch=(3, B))

    def call(query, x):
        return layer(query, x, x, need_weights=need_weights, **masks)[0]

    close(vmap(call)(query, x), torch.stack([call(*pair) for pair in zip(query, x, strict=True)]))


def test_vmap_over_masks_and_parameters_is_a_loop_over_them(way, need_weights, make, inputs, close):
    layer, given = make(way[0]), inputs(*way[1])
    padding, added = torch.rand(3, B, way[1][1]) < 0.3, torch.randn(3, *way[1]).double()
    weight = torch.randn(3, D, D).double()

    def masked(padding, added):
        return layer(*given, padding, need_weights, added)[0]

    def weighted(weight):
        call = {"need_weights": need_weights}
        return functional_call(layer, {"out_proj.weight": weight}, given, call)[0]

    expected = [masked(*pair) for pair in zip(padding, added, strict=True)]
    close(vmap(masked)(padding, added), torch.stack(expected))
    close(vmap(weighted)(weight), torch.stack([weighted(part) for part in weight]))
    assert jvp(lambda x: weighted(x).sum(), (weight[0],), (weight[1],))[1].isfinite()


def test_gradients_of_each_sample(way, need_weights, make, inputs, close):
    layer, (query, x, _) = make(way[0]), inputs(*way[1])
    parameters = dict(layer.named_parameters())

    def loss(parameters, query, x):
        given, call = (query[None], x[None], x[None]), {"need_weights": need_weights}
        return functional_call(layer, parameters, given, call)[0].square().sum()

    found = vmap(grad(loss), (None, 0, 0))(parameters, query, x)
    for b in range(B):
        layer.zero_grad()
        loss(parameters, query[b], x[b]).backward()
        for name, parameter in parameters.items():
            close(found[name][b], parameter.grad)


@every_mask
@pytest.mark.parametrize("dropout", [0.0, 0.4])
def test_a_direction_is_carried_forward(way, kind, dropout, make, inputs, masks_of):
    # With weights asked for: PyTorch's fused kernel carries none, in no layer.
    layer, masks = make(way[0], dropout=dropout), masks_of(kind, *way[1])
    query, key, value = inputs(*way[1], vdim=D)
    start = {name: p.detach() for name, p in layer.named_parameters()}
    start |= {"query": query, "key": key, "value": value}
    if "attn_mask" in masks:
        start["attn_mask"] = masks.pop("attn_mask")

    def call(at, one_tensor=False):
        torch.manual_seed(5)  # the same weights are dropped each time
        names = ("query", "key", "value", "attn_mask")
        given = masks | {name: at[name] for name in names if name in at}
        given |= {"value": given["key"]} if one_tensor else {}
        parameters = {name: at[name] for name in at if name not in names}
        return functional_call(layer, parameters, (), given)

    direction = {name: torch.randn_like(x) for name, x in start.items()}
    step = 1e-6
    for one_tensor in (False, True):
        _, found = jvp(lambda at: call(at, one_tensor), (start,), (direction,))  # noqa: B023
        ahead, behind = (
            call({name: x + side * direction[name] for name, x in start.items()}, one_tensor)
            for side in (step, -step)
        )
        for got, after, before in zip(found, ahead, behind, strict=True):
            torch.testing.assert_close(got, (after - before) / (2 * step), rtol=1e-5, atol=1e-6)


# Without numbers.


def test_on_a_meta_device_shapes_go_forward_and_gradients_back(way, need_weights):
    layer, (T, S) = way[0](D, H, device="meta"), way[1]
    query = torch.empty(B, T, D, device="meta", requires_grad=True)
    x = torch.empty(B, S, D, device="meta", requires_grad=True)
    padding = torch.empty(B, S, device="meta", dtype=torch.bool)
    output, _ = layer(query, x, x, padding, need_weights)
    output.sum().backward()
    assert (output.shape, query.grad.shape, x.grad.shape) == (query.shape, query.shape, x.shape)
    assert all(parameter.grad.is_meta for parameter in layer.parameters())


def test_fake_tensors_and_tracers_go_through(way, need_weights, make, inputs, close):
    layer, (query, x, _) = make(way[0]).requires_grad_(False), inputs(*way[1])
    added = torch.randn(way[1]).double()

    def call(query, x, added):
        return layer(query, x, x, attn_mask=added, need_weights=need_weights)[0]

    with FakeTensorMode(allow_non_fake_inputs=True) as mode:
        fakes = [mode.from_tensor(tensor) for tensor in (query, x, added)]
        assert call(*fakes).shape == query.shape
    close(make_fx(call)(query, x, added)(query, x, added), call(query, x, added))


# Compiled and exported.


def compiled(function):
    """Compile to one graph, or fail; no C++ compiler is needed."""
    torch._dynamo.reset()
    return torch.compile(function, fullgraph=True, backend="aot_eager")


@pytest.mark.slow
@pytest.mark.parametrize(
    ("kind", "weights", "frozen"),
    [
        ("none", True, True),
        ("none", False, False),
        ("padding", False, True),
        ("float", True, False),
        ("causal", False, True),
    ],
)
def test_a_layer_compiles_to_one_graph(
    packed_way, kind, weights, frozen, make, inputs, close, masks_of
):
    layer, given = make(packed_way[0]), inputs(*packed_way[1])
    layer.requires_grad_(not frozen)  # and outside no_grad, where a frozen layer stands in a model
    call = {"need_weights": weights, **masks_of(kind, *packed_way[1])}
    output, _ = compiled(layer)(*given, **call)
    close(output, layer(*given, **call)[0])
    assert output.requires_grad is not frozen


@pytest.mark.slow
def test_the_loop_and_an_encoder_and_lengths_compile_too(make, inputs, close, masks_of):
    from utils.minilm import TextEncoder

    naive, given, masks = make(NaiveMultiHeadAttention), inputs(4, 6), masks_of("padding", 4, 6)
    close(compiled(naive)(*given, **masks), naive(*given, **masks))
    encoder, ids = TextEncoder(20, D, H, 16, 2).double().eval(), torch.randint(20, (B, 7))
    for padding in (torch.arange(7).expand(B, 7) > 4, torch.zeros(B, 7).bool()):
        close(compiled(encoder)(ids, padding), encoder(ids, padding))


class Called(nn.Module):
    """A layer with one mask, as ``torch.export`` wants it: a module whose inputs are all used."""

    def __init__(self, layer, kind, need_weights):
        super().__init__()
        self.layer, self.kind, self.need_weights = layer, kind, need_weights

    def forward(self, query, x, padding, added):
        padded, masked = (
            (padding, None)[self.kind != "padding"],
            (added, None)[self.kind != "float"],
        )
        causal = self.kind == "causal"
        output, _ = self.layer(query, x, x, padded, self.need_weights, masked, is_causal=causal)
        return output + 0 * padding.sum() + 0 * added.sum()


@pytest.mark.slow
@every_mask
def test_an_exported_layer_takes_other_batches_and_lengths(
    packed_way, need_weights, kind, make, close
):
    def example(batch, T, S):
        query, x = torch.randn(batch, T, D).double(), torch.randn(batch, S, D).double()
        return query, x, torch.arange(S).expand(batch, S) > S - 2, torch.randn(T, S).double()

    module = Called(make(packed_way[0]), kind, need_weights).eval()
    batch, T, S = torch.export.dims("batch", "T", "S")
    dynamic = ({0: batch, 1: T}, {0: batch, 1: S}, {0: batch, 1: S}, {0: T, 1: S})
    traced = (3, 2, 9) if packed_way[1][0] > 1 else (3, 2, 90)
    program = torch.export.export(module, example(*traced), dynamic_shapes=dynamic)
    for sizes in [(5, 7, 11), (2, 40, 3), (4, 2, 90)]:
        given = example(*sizes)
        close(program.module()(*given), module(*given))
