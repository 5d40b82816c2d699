"""Our layers in the uses that readers make of PyTorch's: hooks, pruning, adapters, quantising,
``torch.func``, ``torch.export``, ``torch.compile``, a meta device, and its constructor.
"""

import copy
import warnings

import numpy as np
import peft
import pytest
import torch
from torch import nn
from torch._subclasses.fake_tensor import FakeTensorMode
from torch.func import functional_call, grad, jacfwd, jvp, stack_module_state, vmap
from torch.fx.experimental.proxy_tensor import make_fx
from torch.nn.attention.bias import causal_lower_right
from torch.nn.utils import parametrize, prune
from torch.utils.flop_counter import FlopCounterMode
from transformers import T5Config
from transformers.models.t5.modeling_t5 import T5Attention

from utils.attention import MultiHeadAttention, NaiveMultiHeadAttention
from utils.encoder import TextEncoder
from utils.fast_attention import FastMultiHeadAttention
from utils.heads import prune_heads
from utils.masks import valid_length_mask
from utils.tiled_attention import tiled_attention
from utils.variants import ConvMultiHeadAttention, WideMultiHeadAttention

B, D, H = 2, 12, 3
LAYERS = [NaiveMultiHeadAttention, MultiHeadAttention, FastMultiHeadAttention]
SHAPES = [(4, 6), (1, 60)]  # queries and keys; where the fast layer projects no key, and where so
PROJECTIONS = ["q_proj", "k_proj", "v_proj", "out_proj"]
EVERY = [*LAYERS, WideMultiHeadAttention, ConvMultiHeadAttention]

all_layers = pytest.mark.parametrize("layer_class", LAYERS)
packed_layers = pytest.mark.parametrize("layer_class", LAYERS[1:])
both_shapes = pytest.mark.parametrize("queries_keys", SHAPES)
with_and_without = pytest.mark.parametrize("need_weights", [True, False])


def make(layer_class, **options):
    torch.manual_seed(0)
    layer = layer_class(D, H, **options).double()
    for parameter in layer.parameters():
        nn.init.normal_(parameter, std=0.5)
    return layer


def inputs(queries, keys, batch=(B,)):
    torch.manual_seed(1)
    query = torch.randn(*batch, queries, D, dtype=torch.float64)
    x = torch.randn(*batch, keys, D, dtype=torch.float64)
    return query, x, x


def close(got, expected):
    torch.testing.assert_close(got, expected, rtol=1e-9, atol=1e-11)


# What stands at a projection is called.


@packed_layers
@both_shapes
@with_and_without
def test_hooks_on_every_projection_fire(layer_class, queries_keys, need_weights):
    layer, calls = make(layer_class), []
    for name in PROJECTIONS:
        hook = getattr(layer, name).register_forward_hook
        hook(lambda *_, name=name: calls.append(name))
    layer(*inputs(*queries_keys), need_weights=need_weights)
    assert calls == PROJECTIONS


@packed_layers
def test_a_hook_may_replace_what_a_projection_gives(layer_class):
    layer, (query, x, _) = make(layer_class), inputs(1, 60)
    layer.v_proj.register_forward_hook(lambda module, args, output: torch.zeros_like(output))
    output, _ = layer(query, x, x)
    close(output, layer.out_proj.bias.expand_as(output))


@packed_layers
def test_a_hook_on_gradients_sees_them(layer_class):
    layer, (query, x, _), gradients = make(layer_class), inputs(1, 60), []
    layer.k_proj.register_full_backward_hook(lambda *_: gradients.append("k_proj"))
    layer(query, x.requires_grad_(), x)[0].sum().backward()
    assert gradients == ["k_proj"]


def test_who_counts_operations_sees_those_of_the_fast_order():
    operations = []
    for layer_class in (MultiHeadAttention, FastMultiHeadAttention):
        with FlopCounterMode(display=False) as counter:
            make(layer_class)(*inputs(1, 60))
        operations.append(counter.get_total_flops())
    assert operations[1] < operations[0] / 2


def test_only_the_fast_layer_goes_past_projections_and_only_where_nobody_can_tell(monkeypatch):
    layer, (query, x, _) = make(FastMultiHeadAttention), inputs(1, 60)
    expected = make(MultiHeadAttention)(query, x, x)

    def refuse(_):
        raise AssertionError("called")

    monkeypatch.setattr("torch.nn.Linear.forward", lambda self, x: plain(self, x, layer))

    def plain(module, x, layer):
        if module in (layer.k_proj, layer.v_proj):
            refuse(x)
        return nn.functional.linear(x, module.weight, module.bias)

    close(layer(query, x, x), expected)
    with pytest.raises(AssertionError, match="called"):
        layer(x, x, x)
    monkeypatch.undo()
    layer.k_proj.forward = refuse  # as libraries do that move weights between devices
    with pytest.raises(AssertionError, match="called"):
        layer(query, x, x)


@packed_layers
@pytest.mark.parametrize("name", ["k_proj", "v_proj"])
def test_pruned_weights_count_and_train_for_many_steps(layer_class, name):
    layer, (query, x, _) = make(layer_class), inputs(1, 60)
    expected = copy.deepcopy(layer)
    for pruned in (layer, expected):
        prune.l1_unstructured(getattr(pruned, name), "weight", amount=0.5)
    prune.remove(getattr(expected, name), "weight")
    close(layer(query, x, x), expected(query, x, x))
    projection, optimizer = getattr(layer, name), torch.optim.SGD(layer.parameters(), 0.1)
    before = projection.weight_orig.detach().clone()
    for _ in range(3):
        optimizer.zero_grad()
        layer(query, x, x)[0].square().mean().backward()
        optimizer.step()
    assert not torch.equal(projection.weight_orig, before)
    assert not projection.weight[projection.weight_mask == 0].any()


@packed_layers
def test_a_parametrised_projection_counts_for_one_query_as_for_all(layer_class):
    class Doubled(nn.Module):
        def forward(self, weight):
            return 2 * weight

    layer, (_, x, _) = make(layer_class), inputs(1, 60)
    before = layer(x, x, x)[0]
    parametrize.register_parametrization(layer.v_proj, "weight", Doubled())
    parametrize.register_parametrization(layer.v_proj, "bias", Doubled())
    every, _ = layer(x, x, x)
    close(layer(x[:, :1], x, x)[0], every[:, :1])
    close(every - layer.out_proj.bias, 2 * (before - layer.out_proj.bias))


class Adapted(nn.Module):
    """A linear map in whose place an adapter stands, as PEFT puts them."""

    def __init__(self, base_layer, rank=2):
        super().__init__()
        self.base_layer, (rows, columns) = base_layer, base_layer.weight.shape
        self.down = nn.Linear(columns, rank, bias=False, dtype=base_layer.weight.dtype)
        self.up = nn.Linear(rank, rows, bias=False, dtype=base_layer.weight.dtype)

    @property
    def weight(self):
        return self.base_layer.weight  # without the adapter

    @property
    def bias(self):
        return self.base_layer.bias

    def forward(self, x):
        return self.base_layer(x) + self.up(self.down(x))


@packed_layers
@both_shapes
def test_adapters_in_the_place_of_projections_count_and_get_gradients(layer_class, queries_keys):
    layer, given = make(layer_class), inputs(*queries_keys)
    merged = copy.deepcopy(layer)
    for name in PROJECTIONS:
        adapter = Adapted(getattr(layer, name))
        setattr(layer, name, adapter)
        with torch.no_grad():
            getattr(merged, name).weight += adapter.up.weight @ adapter.down.weight
    output, weights = layer(*given)
    close((output, weights), merged(*given))
    output.square().sum().backward()
    adapters = [p for name, p in layer.named_parameters() if "up" in name or "down" in name]
    assert len(adapters) == 8
    assert all(p.grad is not None for p in adapters)
    assert any(p.grad.any() for p in layer.v_proj.up.parameters())


@packed_layers
@both_shapes
def test_lora_of_peft_on_query_key_and_value(layer_class, queries_keys):
    layer, given = make(layer_class), inputs(*queries_keys)
    config = peft.LoraConfig(
        r=4, target_modules=["q_proj", "k_proj", "v_proj"], init_lora_weights=False
    )
    model = peft.get_peft_model(layer, config)
    output, _ = model(*given)
    output.square().sum().backward()
    trained = {name: p.grad for name, p in model.named_parameters() if p.requires_grad}
    assert len(trained) == 6
    assert all(gradient is not None for gradient in trained.values())
    merged = copy.deepcopy(model).merge_and_unload()
    torch.testing.assert_close(output, merged(*given)[0])


@packed_layers
@both_shapes
def test_another_module_may_stand_at_a_projection(layer_class, queries_keys):
    layer, given = make(layer_class), inputs(*queries_keys)
    expected = layer(*given)
    for name in PROJECTIONS:
        setattr(layer, name, nn.Sequential(nn.Identity(), getattr(layer, name)))
    close(layer(*given), expected)


@packed_layers
@pytest.mark.parametrize("train", [True, False])
@pytest.mark.parametrize("norm_first", [True, False])
def test_pytorchs_encoder_block_takes_our_layer(layer_class, train, norm_first):
    sizes = {"dim_feedforward": 16, "dropout": 0.0, "norm_first": norm_first}
    block = nn.TransformerEncoderLayer(D, H, batch_first=True, **sizes).double().train(train)
    expected = copy.deepcopy(block)
    block.self_attn = layer_class.from_torch(block.self_attn)
    x, padding = inputs(4, 6)[1], torch.arange(6).expand(B, 6) > 3
    close(block(x, src_key_padding_mask=padding), expected(x, src_key_padding_mask=padding))
    stack = nn.TransformerEncoder(block, 2, enable_nested_tensor=False)
    assert stack(x).shape == x.shape


def without_v_bias(layer):
    layer.v_proj = nn.Linear(D, D, bias=False)


def with_an_adapter(layer):
    layer.v_proj = Adapted(layer.v_proj)


def with_a_hook(layer):
    layer.q_proj.register_forward_hook(lambda *_: None)


def pruned(layer):
    prune.l1_unstructured(layer.out_proj, "weight", amount=0.5)


@packed_layers
@pytest.mark.parametrize("change", [without_v_bias, with_an_adapter, with_a_hook, pruned])
def test_weights_that_do_not_say_all_are_not_copied(layer_class, change):
    layer = make(layer_class)
    change(layer)
    for copying in (layer.to_torch, lambda: prune_heads(layer, [0])):
        with pytest.raises(ValueError, match="projection"):
            copying()


@packed_layers
@both_shapes
@with_and_without
def test_linear_maps_may_be_quantised(layer_class, queries_keys, need_weights):
    layer = make(layer_class).float()
    given = [x.float() for x in inputs(*queries_keys)]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # it is deprecated, and still what people call
        quantised = torch.ao.quantization.quantize_dynamic(layer, {nn.Linear})
    assert not isinstance(quantised.k_proj, nn.Linear)
    output, expected = quantised(*given, need_weights=need_weights)[0], layer(*given)[0]
    # Eight bits a weight: a percent or so of what the output spans.
    assert (output - expected).norm() < 0.1 * expected.norm()


# torch.func differentiates it and maps over it.


def masks_of(kind, queries, keys):
    torch.manual_seed(2)
    padding = torch.rand(B, keys) < 0.3
    padding[:, 0] = False
    return {
        "none": {},
        "padding": {"key_padding_mask": padding},
        "float": {"attn_mask": torch.randn(queries, keys, dtype=torch.float64)},
        "causal": {"is_causal": True},
    }[kind]


@all_layers
@both_shapes
@with_and_without
@pytest.mark.parametrize("kind", ["none", "padding", "float", "causal"])
def test_vmap_over_inputs_is_a_loop_over_them(layer_class, queries_keys, need_weights, kind):
    layer, masks = make(layer_class), masks_of(kind, *queries_keys)
    query, x, _ = inputs(*queries_keys, batch=(3, B))

    def call(query, x):
        return layer(query, x, x, need_weights=need_weights, **masks)[0]

    close(vmap(call)(query, x), torch.stack([call(*pair) for pair in zip(query, x, strict=True)]))


@all_layers
@both_shapes
@with_and_without
def test_vmap_over_masks_is_a_loop_over_them(layer_class, queries_keys, need_weights):
    layer, given = make(layer_class), inputs(*queries_keys)
    padding = torch.rand(3, B, queries_keys[1]) < 0.3
    added = torch.randn(3, *queries_keys, dtype=torch.float64)

    def call(padding, added):
        return layer(*given, padding, need_weights, added)[0]

    expected = [call(*pair) for pair in zip(padding, added, strict=True)]
    close(vmap(call)(padding, added), torch.stack(expected))


@all_layers
@pytest.mark.parametrize("name", [None, "out_proj.weight"])
def test_vmap_over_something_else_than_the_inputs_is_a_loop_too(layer_class, name):
    layer, given = make(layer_class), inputs(1, 60)
    weight = torch.randn(3, D, D, dtype=torch.float64)

    def call(part):
        if name is None:
            return layer(*given)[0] * part.sum()
        return functional_call(layer, {name: part}, given)[0]

    close(vmap(call)(weight), torch.stack([call(part) for part in weight]))
    _, found = jvp(lambda part: call(part).sum(), (weight[0],), (torch.ones_like(weight[0]),))
    assert found.isfinite()


@all_layers
@both_shapes
@with_and_without
def test_gradients_of_each_sample(layer_class, queries_keys, need_weights):
    layer, (query, x, _) = make(layer_class), inputs(*queries_keys)
    parameters = dict(layer.named_parameters())

    def loss(parameters, query, x):
        given = (query[None], x[None], x[None])
        options = {"need_weights": need_weights}
        return functional_call(layer, parameters, given, options)[0].square().sum()

    found = vmap(grad(loss), (None, 0, 0))(parameters, query, x)
    for b in range(B):
        layer.zero_grad()
        layer(query[b : b + 1], *2 * [x[b : b + 1]], need_weights=need_weights)[
            0
        ].square().sum().backward()
        for name, parameter in layer.named_parameters():
            close(found[name][b], parameter.grad)


@all_layers
@both_shapes
@with_and_without
def test_an_ensemble_of_layers_is_one_after_the_other(layer_class, queries_keys, need_weights):
    layers = [layer_class(D, H).double() for _ in range(3)]
    given = inputs(*queries_keys)
    state = stack_module_state(layers)

    def call(parameters, buffers):
        options = {"need_weights": need_weights}
        return functional_call(layers[0], (parameters, buffers), given, options)[0]

    close(vmap(call)(*state), torch.stack([layer(*given)[0] for layer in layers]))


@all_layers
@both_shapes
@pytest.mark.parametrize("kind", ["none", "padding", "float", "causal"])
@pytest.mark.parametrize("dropout", [0.0, 0.4])
def test_a_direction_is_carried_forward(layer_class, queries_keys, kind, dropout):
    # With weights asked for: PyTorch's fused kernel carries none, in no layer.
    layer, masks = make(layer_class, dropout=dropout), masks_of(kind, *queries_keys)
    query, x, _ = inputs(*queries_keys)

    def call(query, x):
        torch.manual_seed(5)  # the same weights are dropped each time
        return layer(query, x, x, **masks)

    direction = (torch.randn_like(query), torch.randn_like(x))
    _, found = jvp(call, (query, x), direction, strict=False)
    step = 1e-6
    ahead, behind = (
        call(query + side * direction[0], x + side * direction[1]) for side in (step, -step)
    )
    for got, after, before in zip(found, ahead, behind, strict=True):
        torch.testing.assert_close(got, (after - before) / (2 * step), rtol=1e-5, atol=1e-6)


@all_layers
@both_shapes
def test_a_direction_reaches_parameters_other_values_and_the_mask(layer_class, queries_keys):
    layer, (query, key, _) = make(layer_class), inputs(*queries_keys)
    value = torch.randn_like(key)
    added = torch.randn(*queries_keys, dtype=torch.float64)
    parameters = {name: p.detach() for name, p in layer.named_parameters()}

    def call(parameters, value, added):
        return functional_call(layer, parameters, (query, key, value), {"attn_mask": added})[0]

    direction = (
        {name: torch.randn_like(p) for name, p in parameters.items()},
        torch.randn_like(value),
        torch.randn_like(added),
    )
    _, found = jvp(call, (parameters, value, added), direction)
    step = 1e-6

    def at(side):
        moved = {n: p + side * step * direction[0][n] for n, p in parameters.items()}
        return call(moved, value + side * step * direction[1], added + side * step * direction[2])

    torch.testing.assert_close(found, (at(1) - at(-1)) / (2 * step), rtol=1e-5, atol=1e-6)


@all_layers
@both_shapes
def test_a_jacobian_is_the_same_forward_and_backward(layer_class, queries_keys):
    layer, (query, x, _) = make(layer_class), inputs(*queries_keys, batch=())

    def call(query):
        return layer(query, x, x)[0]

    close(jacfwd(call)(query), torch.autograd.functional.jacobian(call, query))


# torch.export and torch.compile.


@packed_layers
@with_and_without
@pytest.mark.parametrize("kind", ["none", "padding", "float", "causal"])
def test_an_exported_layer_takes_other_batches_and_lengths(layer_class, need_weights, kind):
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
def test_a_layer_compiles_to_one_graph(layer_class, queries_keys, need_weights, kind, frozen):
    layer, given = make(layer_class), inputs(*queries_keys)
    layer.requires_grad_(not frozen)  # and outside no_grad, where a frozen layer stands in a model
    call = {"need_weights": need_weights, **masks_of(kind, *queries_keys)}
    output, _ = compiled(layer)(*given, **call)
    expected, _ = layer(*given, **call)
    close(output, expected)
    assert output.requires_grad is not frozen


def test_the_loop_over_heads_compiles_to_one_graph_too():
    layer, given = make(NaiveMultiHeadAttention), inputs(4, 6)
    masks = masks_of("padding", 4, 6)
    close(compiled(layer)(*given, **masks), layer(*given, **masks))


def test_an_encoder_with_padding_compiles_to_one_graph():
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
def test_fake_tensors_and_tracers_go_through(layer_class, queries_keys, need_weights):
    layer, given = make(layer_class).requires_grad_(False), inputs(*queries_keys)
    added = torch.randn(*queries_keys, dtype=torch.float64)

    def call(query, x, added):
        return layer(query, x, x, attn_mask=added, need_weights=need_weights)[0]

    with FakeTensorMode(allow_non_fake_inputs=True) as mode:
        fakes = [mode.from_tensor(tensor) for tensor in (given[0], given[1], added)]
        assert call(*fakes).shape == given[0].shape
    expected = call(given[0], given[1], added)
    close(make_fx(call)(given[0], given[1], added)(given[0], given[1], added), expected)


# Empty inputs, and a subclass.


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
def test_a_subclass_that_overrides_attend_is_always_asked(is_causal, need_weights):
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
        ({"kdim": False}, TypeError, "kdim is False.* by name"),
        ({"vdim": True}, TypeError, "vdim is True.* by name"),
        ({"kdim": 4.0}, TypeError, "kdim is 4.0"),
    ],
)
def test_options_that_are_not_there_are_refused_in_a_sentence(layer_class, option, kind, message):
    with pytest.raises(kind, match=message):
        layer_class(D, H, **option)


@all_layers
def test_pytorchs_positional_order_beyond_the_bias_is_refused(layer_class):
    with pytest.raises(TypeError, match=r"kdim is False.* by name"):
        layer_class(D, H, 0.0, True, False, False)


@all_layers
def test_sizes_are_whole_numbers_also_numpys(layer_class):
    for sizes in [(D, 1.5), (float(D), H), (D, True)]:
        with pytest.raises(TypeError, match="whole number"):
            layer_class(*sizes)
    assert layer_class(np.int64(D), np.int32(H)).head_dim == D // H
    with pytest.raises(TypeError, match=r"num_kv_heads is 1\.5"):
        MultiHeadAttention(D, H, num_kv_heads=1.5)
    for scale in (0.0, -1.0, torch.nan, torch.inf):
        with pytest.raises(ValueError, match=r"scale .* positive"):
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
def test_a_scale_of_one_is_t5s_attention(layer_class, need_weights):
    layer = make(layer_class, bias=False, scale=1.0)
    x = inputs(1, 6)[1]
    expected = t5_layer(layer)(x)[0]
    close(layer(x, x, x, need_weights=need_weights)[0], expected)


@all_layers
@both_shapes
@with_and_without
def test_any_scale_is_the_standard_one_with_other_queries(layer_class, queries_keys, need_weights):
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
def test_a_mask_of_four_dimensions_broadcasts(layer_class, queries_keys, need_weights, kind, sides):
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
def test_a_mask_of_integers_says_which_way_round(layer_class):
    layer, given = make(layer_class), inputs(4, 6)
    of_hugging_face = torch.ones(B, 6, dtype=torch.int64)
    with pytest.raises(TypeError, match=r"1 is a token[^;]*`key_padding_mask == 0`"):
        layer(*given, key_padding_mask=of_hugging_face)
    with pytest.raises(TypeError, match="attn_mask == 0"):
        layer(*given, attn_mask=torch.ones(4, 6, dtype=torch.uint8))


@all_layers
def test_without_a_batch_the_shapes_that_are_expected_have_none(layer_class):
    layer, given = make(layer_class), inputs(4, 5, batch=())
    with pytest.raises(ValueError, match=r"has shape \(1, 5\); expected \(5,\)"):
        layer(*given, key_padding_mask=torch.zeros(1, 5).bool())
    layer(*given, key_padding_mask=torch.zeros(5).bool())


@all_layers
@both_shapes
@with_and_without
def test_nan_in_a_mask_of_floats_is_refused(layer_class, queries_keys, need_weights):
    layer, given = make(layer_class), inputs(*queries_keys)
    wrong = torch.eye(queries_keys[1])[: queries_keys[0]] * -torch.inf  # 0 * -inf
    for mask in ({"attn_mask": wrong}, {"key_padding_mask": wrong[:1].expand(B, -1)}):
        with pytest.raises(ValueError, match="NaN"):
            layer(*given, need_weights=need_weights, **mask)


@all_layers
def test_a_causal_bias_of_pytorchs_is_refused(layer_class):
    layer, (_, x, _) = make(layer_class), inputs(1, 6)
    with pytest.raises(TypeError, match="is_causal=True"):
        layer(x, x, x, attn_mask=causal_lower_right(6, 6))
    with pytest.raises(TypeError, match="is_causal=True"):
        tiled_attention(x, x, x, attn_mask=causal_lower_right(6, 6))


@all_layers
@pytest.mark.parametrize("layout", [torch.strided, torch.jagged])
def test_nested_tensors_are_refused(layer_class, layout):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # a prototype, it says
        x = torch.nested.nested_tensor([torch.randn(3, D), torch.randn(2, D)], layout=layout)
    with pytest.raises(TypeError, match="to_padded_tensor"):
        make(layer_class).float()(x, x, x)
