"""What stands at a projection is called: hooks, pruning, adapters, quantised maps."""

import copy

import pytest
import torch
from torch import nn
from torch.nn.utils import parametrize, prune
from torch.utils.flop_counter import FlopCounterMode

from utils.attention import MultiHeadAttention
from utils.fast import FastMultiHeadAttention

D = 12
PROJECTIONS = ["q_proj", "k_proj", "v_proj", "out_proj"]


def test_hooks_on_every_projection_fire_and_see_gradients(packed_way, need_weights, make, inputs):
    layer, calls = make(packed_way[0]), []
    for name in PROJECTIONS:
        projection = getattr(layer, name)
        projection.register_forward_hook(lambda *_, name=name: calls.append(name))
    layer(*inputs(*packed_way[1]), need_weights=need_weights)
    assert calls == PROJECTIONS
    for name in ("k_proj", "v_proj"):
        layer = make(packed_way[0])
        hook = getattr(layer, name).register_full_backward_hook
        hook(lambda *_, name=name: calls.append(f"back {name}"))
        given = [x.requires_grad_() for x in inputs(*packed_way[1])]
        layer(*given, need_weights=need_weights)[0].sum().backward()
    assert calls[4:] == ["back k_proj", "back v_proj"]


def test_hooks_may_replace_what_a_projection_takes_and_gives(packed_way, make, inputs, close):
    layer, (query, key, _) = make(packed_way[0]), inputs(*packed_way[1])
    layer.k_proj.register_forward_pre_hook(lambda module, given: (2 * given[0],))
    expected, _ = make(packed_way[0])(query, 2 * key, key)
    close(layer(query, key, key)[0], expected)
    layer.v_proj.register_forward_hook(lambda module, given, output: torch.zeros_like(output))
    close(layer(query, key, key)[0], layer.out_proj.bias.expand_as(query))


def test_only_the_fast_layer_needs_fewer_products_where_nobody_can_tell(make, inputs, close):
    operations, given = [], inputs(1, 60)
    for layer_class in (MultiHeadAttention, FastMultiHeadAttention):
        layer = make(layer_class)
        with FlopCounterMode(display=False) as counter:
            layer(*given)
        operations.append(counter.get_total_flops())
    assert operations[1] < operations[0] / 2
    expected, calls = layer(*given), []
    plain = layer.k_proj.forward
    layer.k_proj.forward = lambda x: calls.append(x) or plain(x)  # as libraries do to move weights
    close(layer(*given), expected)
    assert len(calls) == 1


@pytest.mark.parametrize("name", ["k_proj", "v_proj"])
def test_pruned_weights_count_and_train_for_many_steps(packed_way, name, make, inputs, close):
    layer, given = make(packed_way[0]), inputs(*packed_way[1])
    expected = copy.deepcopy(layer)
    for pruned in (layer, expected):
        prune.l1_unstructured(getattr(pruned, name), "weight", amount=0.5)
    prune.remove(getattr(expected, name), "weight")
    close(layer(*given), expected(*given))
    projection, optimizer = getattr(layer, name), torch.optim.SGD(layer.parameters(), 0.1)
    before = projection.weight_orig.detach().clone()
    for _ in range(3):
        optimizer.zero_grad()
        layer(*given)[0].square().mean().backward()
        optimizer.step()
    assert not torch.equal(projection.weight_orig, before)
    assert not projection.weight[projection.weight_mask == 0].any()


class Doubled(nn.Module):
    def forward(self, weight):
        return 2 * weight


class Twice(nn.Linear):
    """A linear map that does more than its weight and bias say, as those of PEFT do."""

    def forward(self, x):
        return 2 * super().forward(x)


def parametrised(layer, name):
    for part in ("weight", "bias"):
        parametrize.register_parametrization(getattr(layer, name), part, Doubled())


CHANGES = {
    "parametrised": parametrised,
    "another class": lambda layer, name: setattr(getattr(layer, name), "__class__", Twice),
    "another module": lambda layer, name: setattr(
        layer, name, nn.Sequential(nn.Identity(), getattr(layer, name), Doubled())
    ),
}


@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES)
def test_what_stands_in_the_place_of_a_projection_counts_and_learns(
    packed_way, change, make, inputs, close
):
    for name in PROJECTIONS:
        layer, expected, given = make(packed_way[0]), make(packed_way[0]), inputs(*packed_way[1])
        change(layer, name)
        with torch.no_grad():
            for parameter in getattr(expected, name).parameters():
                parameter.mul_(2)
        output, weights = layer(*given)
        close((output, weights), expected(*given))
        output.sum().backward()
        assert all(parameter.grad is not None for parameter in layer.parameters())
        with pytest.raises(ValueError, match="projection"):
            layer.to_torch()


@pytest.mark.slow
def test_lora_of_peft_on_query_key_and_value(packed_way, make, inputs):
    import peft

    layer, given = make(packed_way[0]), inputs(*packed_way[1])
    config = peft.LoraConfig(r=4, target_modules=PROJECTIONS[:3], init_lora_weights=False)
    model = peft.get_peft_model(layer, config)
    output, _ = model(*given)
    output.square().sum().backward()
    trained = [p.grad for p in model.parameters() if p.requires_grad]
    assert len(trained) == 6
    assert all(gradient is not None for gradient in trained)
    merged = copy.deepcopy(model).merge_and_unload()
    torch.testing.assert_close(output, merged(*given)[0])
