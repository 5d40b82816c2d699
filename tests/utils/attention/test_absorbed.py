"""Products associate: what is absorbed is what is projected, forward and backward."""

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import nn

from utils.attention import absorbed_attention, scaled_dot_product_attention

B, T, S, H, HEAD_DIM, KDIM, VDIM = 2, 3, 5, 2, 4, 6, 7


def parts(seed=0, queries=T, keys=S, vdim=VDIM, dtype=torch.float64):
    """q, key, value, the weights of the heads, and the biases of key and value."""
    generator = torch.Generator().manual_seed(seed)
    shapes = [
        (B, queries, H * HEAD_DIM),
        (B, keys, KDIM),
        (B, keys, vdim),
        (H, HEAD_DIM, KDIM),
        (H, HEAD_DIM, vdim),
        (H * HEAD_DIM,),
        (H * HEAD_DIM,),
    ]
    return [torch.randn(s, generator=generator, dtype=dtype).requires_grad_() for s in shapes]


def projected(q, key, value, k_weight, v_weight, k_bias, v_bias, mask=None):
    """The same in the usual order: project every key and value, then attend."""

    def split(x):
        return x.unflatten(-1, (H, HEAD_DIM)).transpose(1, 2)

    k = split(key @ k_weight.flatten(0, 1).T + k_bias)
    v = split(value @ v_weight.flatten(0, 1).T + v_bias)
    heads, weights = scaled_dot_product_attention(split(q), k, v, mask)
    return heads.transpose(1, 2).flatten(2), weights


MASKS = {
    "none": lambda: None,
    "padding": lambda: torch.tensor([[1, 1, 1, 0, 0], [0, 0, 0, 0, 0]]).bool().view(B, 1, 1, S),
    "float": lambda: torch.linspace(-2, 2, T * S, dtype=torch.float64).view(1, 1, T, S),
}


@pytest.mark.parametrize("kind", MASKS)
@pytest.mark.parametrize("one_tensor", [True, False])
def test_output_weights_and_every_gradient_are_those_of_the_usual_order(kind, one_tensor):
    results = []
    for attend in (absorbed_attention, projected):
        given_parts = parts(vdim=KDIM)
        if one_tensor:
            given_parts[2] = given_parts[1]
        mask = MASKS[kind]()
        heads, weights = attend(*given_parts, mask)
        loss = (heads * heads.detach().cos()).sum() + (weights * weights.detach().sin()).sum()
        results.append([heads, weights, *torch.autograd.grad(loss, given_parts)])
    for got, expected in zip(*results, strict=True):
        torch.testing.assert_close(got, expected, atol=1e-12, rtol=1e-9)


@given(seed=st.integers(0, 99), queries=st.integers(1, 4), keys=st.integers(1, 6))
@settings(max_examples=25)
def test_without_a_gradient_it_is_the_same(seed, queries, keys):
    given_parts = parts(seed, queries, keys)
    with torch.no_grad():
        found = absorbed_attention(*given_parts)
        for got, expected in zip(found, projected(*given_parts), strict=True):
            torch.testing.assert_close(got, expected)


def test_the_gradient_is_that_of_small_steps_also_for_the_mask_and_twice():
    given_parts = parts()
    mask = torch.randn(1, H, 1, S, dtype=torch.float64, requires_grad=True)

    def attend(q, key, value, k_weight, v_weight, mask):
        return absorbed_attention(q, key, value, k_weight, v_weight, None, None, mask)

    assert torch.autograd.gradcheck(attend, (*given_parts[:5], mask))
    assert torch.autograd.gradgradcheck(attend, (*given_parts[:5], mask))


def test_the_bias_of_the_key_has_no_part_and_a_gradient_of_zero():
    given_parts = parts()
    heads, _ = absorbed_attention(*given_parts)
    without, _ = absorbed_attention(*given_parts[:5], None, given_parts[6])
    assert torch.equal(heads, without)
    (gradient,) = torch.autograd.grad(heads.sum(), given_parts[5])
    assert torch.equal(gradient, torch.zeros_like(gradient))


@pytest.mark.parametrize("one_tensor", [True, False])
def test_dropped_weights_are_what_mixes_the_values_and_what_is_learned_from(one_tensor):
    given_parts = parts(vdim=KDIM)
    if one_tensor:
        given_parts[2] = given_parts[1]
    q, key, value, k_weight, v_weight, _, v_bias = given_parts
    torch.manual_seed(3)
    heads, weights = absorbed_attention(*given_parts, dropout_p=0.4)
    _, full = absorbed_attention(*given_parts)
    keep = (weights != 0).double() / 0.6
    assert 0 < (weights == 0).double().mean() < 1
    torch.testing.assert_close(weights, full * keep)
    v = (value @ v_weight.flatten(0, 1).T + v_bias).unflatten(-1, (H, HEAD_DIM)).transpose(1, 2)
    expected = (full * keep @ v).transpose(1, 2).flatten(2)
    torch.testing.assert_close(heads, expected)
    for got, wanted in zip(
        torch.autograd.grad(heads.sin().sum(), [q, key, k_weight, v_weight, v_bias]),
        torch.autograd.grad(expected.sin().sum(), [q, key, k_weight, v_weight, v_bias]),
        strict=True,
    ):
        torch.testing.assert_close(got, wanted)


def test_under_autocast_the_backward_pass_runs_in_the_lower_precision_too():
    q, key, value, k_weight, v_weight, k_bias, v_bias = parts(dtype=torch.float32)
    with torch.autocast("cpu", torch.bfloat16):
        q_half = nn.functional.linear(q, torch.eye(H * HEAD_DIM))
        heads, _ = absorbed_attention(q_half, key, value, k_weight, v_weight, k_bias, v_bias)
    gradients = torch.autograd.grad(heads.float().sum(), [q, key, value, k_weight])
    exact, _ = absorbed_attention(q, key, value, k_weight, v_weight, k_bias, v_bias)
    expected = torch.autograd.grad(exact.sum(), [q, key, value, k_weight])
    for got, wanted in zip(gradients, expected, strict=True):
        assert got.dtype == torch.float32
        torch.testing.assert_close(got, wanted, atol=0.15, rtol=0.1)


def test_gradients_of_many_losses_at_once_are_those_one_by_one():
    q, key, _, k_weight, v_weight, _, _ = (part.detach() for part in parts(vdim=KDIM))

    def attend(q):
        return absorbed_attention(q, key, key, k_weight, v_weight)[0].flatten()

    one_by_one = torch.autograd.functional.jacobian(attend, q)
    torch.testing.assert_close(torch.func.jacrev(attend)(q), one_by_one)
    at_once = torch.autograd.functional.jacobian(attend, q, vectorize=True)
    torch.testing.assert_close(at_once, one_by_one)


@pytest.mark.parametrize("one_tensor", [True, False])
@pytest.mark.parametrize("used", ["heads", "weights"])
def test_what_is_frozen_or_not_used_changes_no_other_gradient(one_tensor, used):
    given_parts = parts(vdim=KDIM)
    if one_tensor:
        given_parts[2] = given_parts[1]

    def gradients(wanted):
        heads, weights = absorbed_attention(*given_parts)
        loss = (heads if used == "heads" else weights).sin().sum()
        return torch.autograd.grad(loss, wanted, materialize_grads=True)

    q, key, value, k_weight = given_parts[:4]
    expected = gradients([q, k_weight])
    key.requires_grad_(False)
    value.requires_grad_(False)
    for got, wanted in zip(gradients([q, k_weight]), expected, strict=True):
        assert torch.equal(got, wanted)
