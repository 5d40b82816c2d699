"""``torch.func`` differentiates our layers and maps over them."""

import pytest
import torch
from torch.func import functional_call, grad, jacfwd, jvp, stack_module_state, vmap

from utils.attention import (
    FastMultiHeadAttention,
    MultiHeadAttention,
    NaiveMultiHeadAttention,
)

B, D, H = 2, 12, 3
LAYERS = [NaiveMultiHeadAttention, MultiHeadAttention, FastMultiHeadAttention]
SHAPES = [(4, 6), (1, 60)]  # queries and keys; where the fast layer projects no key, and where so

all_layers = pytest.mark.parametrize("layer_class", LAYERS)
both_shapes = pytest.mark.parametrize("queries_keys", SHAPES)
with_and_without = pytest.mark.parametrize("need_weights", [True, False])


@all_layers
@both_shapes
@with_and_without
@pytest.mark.parametrize("kind", ["none", "padding", "float", "causal"])
def test_vmap_over_inputs_is_a_loop_over_them(
    layer_class, queries_keys, need_weights, kind, make, inputs, close, masks_of
):
    layer, masks = make(layer_class), masks_of(kind, *queries_keys)
    query, x, _ = inputs(*queries_keys, batch=(3, B))

    def call(query, x):
        return layer(query, x, x, need_weights=need_weights, **masks)[0]

    close(vmap(call)(query, x), torch.stack([call(*pair) for pair in zip(query, x, strict=True)]))


@all_layers
@both_shapes
@with_and_without
def test_vmap_over_masks_is_a_loop_over_them(
    layer_class, queries_keys, need_weights, make, inputs, close
):
    layer, given = make(layer_class), inputs(*queries_keys)
    padding = torch.rand(3, B, queries_keys[1]) < 0.3
    added = torch.randn(3, *queries_keys, dtype=torch.float64)

    def call(padding, added):
        return layer(*given, padding, need_weights, added)[0]

    expected = [call(*pair) for pair in zip(padding, added, strict=True)]
    close(vmap(call)(padding, added), torch.stack(expected))


@all_layers
@pytest.mark.parametrize("name", [None, "out_proj.weight"])
def test_vmap_over_something_else_than_the_inputs_is_a_loop_too(
    layer_class, name, make, inputs, close
):
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
def test_gradients_of_each_sample(layer_class, queries_keys, need_weights, make, inputs, close):
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
def test_an_ensemble_of_layers_is_one_after_the_other(
    layer_class, queries_keys, need_weights, inputs, close
):
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
def test_a_direction_is_carried_forward(
    layer_class, queries_keys, kind, dropout, make, inputs, masks_of
):
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
def test_a_direction_reaches_parameters_other_values_and_the_mask(
    layer_class, queries_keys, make, inputs
):
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
def test_a_jacobian_is_the_same_forward_and_backward(
    layer_class, queries_keys, make, inputs, close
):
    layer, (query, x, _) = make(layer_class), inputs(*queries_keys, batch=())

    def call(query):
        return layer(query, x, x)[0]

    close(jacfwd(call)(query), torch.autograd.functional.jacobian(call, query))
