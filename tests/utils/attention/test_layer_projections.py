"""What stands at a projection is called: hooks, pruning, adapters, quantised maps."""

import copy
import warnings

import peft
import pytest
import torch
from torch import nn
from torch.nn.utils import parametrize, prune
from torch.utils.flop_counter import FlopCounterMode

from utils.attention import (
    FastMultiHeadAttention,
    MultiHeadAttention,
    NaiveMultiHeadAttention,
)
from utils.heads import prune_heads

B, D, H = 2, 12, 3
LAYERS = [NaiveMultiHeadAttention, MultiHeadAttention, FastMultiHeadAttention]
SHAPES = [(4, 6), (1, 60)]  # queries and keys; where the fast layer projects no key, and where so
PROJECTIONS = ["q_proj", "k_proj", "v_proj", "out_proj"]

packed_layers = pytest.mark.parametrize("layer_class", LAYERS[1:])
both_shapes = pytest.mark.parametrize("queries_keys", SHAPES)
with_and_without = pytest.mark.parametrize("need_weights", [True, False])


@packed_layers
@both_shapes
@with_and_without
def test_hooks_on_every_projection_fire(layer_class, queries_keys, need_weights, make, inputs):
    layer, calls = make(layer_class), []
    for name in PROJECTIONS:
        hook = getattr(layer, name).register_forward_hook
        hook(lambda *_, name=name: calls.append(name))
    layer(*inputs(*queries_keys), need_weights=need_weights)
    assert calls == PROJECTIONS


@packed_layers
def test_a_hook_may_replace_what_a_projection_gives(layer_class, make, inputs, close):
    layer, (query, x, _) = make(layer_class), inputs(1, 60)
    layer.v_proj.register_forward_hook(lambda module, args, output: torch.zeros_like(output))
    output, _ = layer(query, x, x)
    close(output, layer.out_proj.bias.expand_as(output))


@packed_layers
def test_a_hook_on_gradients_sees_them(layer_class, make, inputs):
    layer, (query, x, _), gradients = make(layer_class), inputs(1, 60), []
    layer.k_proj.register_full_backward_hook(lambda *_: gradients.append("k_proj"))
    layer(query, x.requires_grad_(), x)[0].sum().backward()
    assert gradients == ["k_proj"]


def test_who_counts_operations_sees_those_of_the_fast_order(make, inputs):
    operations = []
    for layer_class in (MultiHeadAttention, FastMultiHeadAttention):
        with FlopCounterMode(display=False) as counter:
            make(layer_class)(*inputs(1, 60))
        operations.append(counter.get_total_flops())
    assert operations[1] < operations[0] / 2


def test_only_the_fast_layer_goes_past_projections_and_only_where_nobody_can_tell(
    monkeypatch, make, inputs, close
):
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
def test_pruned_weights_count_and_train_for_many_steps(layer_class, name, make, inputs, close):
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
def test_a_parametrised_projection_counts_for_one_query_as_for_all(
    layer_class, make, inputs, close
):
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
def test_adapters_in_the_place_of_projections_count_and_get_gradients(
    layer_class, queries_keys, make, inputs, close
):
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
def test_lora_of_peft_on_query_key_and_value(layer_class, queries_keys, make, inputs):
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
def test_another_module_may_stand_at_a_projection(layer_class, queries_keys, make, inputs, close):
    layer, given = make(layer_class), inputs(*queries_keys)
    expected = layer(*given)
    for name in PROJECTIONS:
        setattr(layer, name, nn.Sequential(nn.Identity(), getattr(layer, name)))
    close(layer(*given), expected)


@packed_layers
@pytest.mark.parametrize("train", [True, False])
@pytest.mark.parametrize("norm_first", [True, False])
def test_pytorchs_encoder_block_takes_our_layer(layer_class, train, norm_first, inputs, close):
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
def test_weights_that_do_not_say_all_are_not_copied(layer_class, change, make):
    layer = make(layer_class)
    change(layer)
    for copying in (layer.to_torch, lambda: prune_heads(layer, [0])):
        with pytest.raises(ValueError, match="projection"):
            copying()


@packed_layers
@both_shapes
@with_and_without
def test_linear_maps_may_be_quantised(layer_class, queries_keys, need_weights, make, inputs):
    layer = make(layer_class).float()
    given = [x.float() for x in inputs(*queries_keys)]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # it is deprecated, and still what people call
        quantised = torch.ao.quantization.quantize_dynamic(layer, {nn.Linear})
    assert not isinstance(quantised.k_proj, nn.Linear)
    output, expected = quantised(*given, need_weights=need_weights)[0], layer(*given)[0]
    # Eight bits a weight: a percent or so of what the output spans.
    assert (output - expected).norm() < 0.1 * expected.norm()
