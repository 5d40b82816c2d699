"""Products associate: what is absorbed is what is projected, forward and backward."""

import itertools

import pytest
import torch
from torch import nn
from torch.utils.flop_counter import FlopCounterMode

from utils.attention import scaled_dot_product_attention
from utils.fast import FastMultiHeadAttention, absorbed_attention

B, T, S, H, HEAD_DIM, KDIM, VDIM = 2, 3, 5, 2, 4, 6, 7


def parts(vdim=VDIM, dtype=torch.float64, one_tensor=False):
    """q, key, value, the weights of the heads, and the biases of key and value."""
    shapes = [(B, T, H * HEAD_DIM), (B, S, KDIM), (B, S, vdim), (H, HEAD_DIM, KDIM)]
    shapes += [(H, HEAD_DIM, vdim), (H * HEAD_DIM,), (H * HEAD_DIM,)]
    given = [torch.randn(shape, dtype=dtype).requires_grad_() for shape in shapes]
    if one_tensor:
        given[2] = given[1]
    return given


def projected(q, key, value, k_weight, v_weight, k_bias, v_bias, mask=None, keep=None, scale=None):
    """The same in the usual order: project every key and value, then attend."""

    def split(x):
        return x.unflatten(-1, (H, HEAD_DIM)).transpose(1, 2)

    k = split(key @ k_weight.flatten(0, 1).T + (0 if k_bias is None else k_bias))
    v = split(value @ v_weight.flatten(0, 1).T + (0 if v_bias is None else v_bias))
    heads, weights = scaled_dot_product_attention(split(q), k, v, mask, scale=scale)
    if keep is not None:
        weights = weights * keep
        heads = weights @ v
    return heads.transpose(1, 2).flatten(2), weights


MASKS = {
    "none": lambda: None,
    "padding": lambda: torch.tensor([[1, 1, 1, 0, 0], [0, 0, 0, 0, 0]]).bool().view(B, 1, 1, S),
    "float": lambda: torch.linspace(-2, 2, T * S, dtype=torch.float64).view(1, 1, T, S),
}


@pytest.mark.parametrize("kind", MASKS)
@pytest.mark.parametrize("one_tensor", [True, False])
@pytest.mark.parametrize("biases", [(True, True), (False, True), (False, False)])
@pytest.mark.parametrize("used", ["both", "heads", "weights"])
def test_output_weights_and_every_gradient_are_those_of_the_usual_order(
    kind, one_tensor, biases, used
):
    given = parts(KDIM, one_tensor=one_tensor)
    wanted = [x for x, is_there in zip(given, (*5 * [True], *biases), strict=True) if is_there]
    given[5:] = [x if is_there else None for x, is_there in zip(given[5:], biases, strict=True)]
    results = []
    for attend in (absorbed_attention, projected):
        heads, weights = attend(*given, MASKS[kind](), scale=0.3)
        of = {"both": (heads, weights), "heads": (heads,), "weights": (weights,)}[used]
        loss = sum(x.sin().sum() for x in of)
        gradients = torch.autograd.grad(loss, wanted, materialize_grads=True)
        results.append([heads, weights, *gradients])
    torch.testing.assert_close(*results, atol=1e-12, rtol=1e-9)
    with torch.no_grad():
        found = absorbed_attention(*given, MASKS[kind](), scale=0.3)
    torch.testing.assert_close(found, tuple(results[1][:2]))


def test_the_gradient_is_that_of_small_steps_also_for_the_mask_and_twice():
    given = [
        x[..., :3].detach().requires_grad_() if i in (2, 4) else x for i, x in enumerate(parts())
    ]
    mask = torch.randn(1, H, 1, S, dtype=torch.float64, requires_grad=True)

    def attend(q, key, value, k_weight, v_weight, mask):
        return absorbed_attention(q, key, value, k_weight, v_weight, None, None, mask)

    assert torch.autograd.gradcheck(attend, (*given[:5], mask), fast_mode=True)
    assert torch.autograd.gradgradcheck(attend, (*given[:5], mask), fast_mode=True)


@pytest.mark.parametrize("one_tensor", [True, False])
def test_dropped_weights_are_what_mixes_the_values_and_what_is_learned_from(one_tensor):
    given = parts(KDIM, one_tensor=one_tensor)
    _, weights = found = absorbed_attention(*given, dropout_p=0.4)
    assert 0 < (weights == 0).double().mean() < 1
    expected = projected(*given, keep=(weights != 0).double() / 0.6)
    torch.testing.assert_close(found, expected)
    gradients = (torch.autograd.grad(heads.sin().sum(), given) for heads, _ in (found, expected))
    torch.testing.assert_close(*gradients)


def test_gradients_of_many_losses_at_once_are_those_one_by_one():
    q, key, _, k_weight, v_weight, _, _ = (part.detach() for part in parts(vdim=KDIM))

    def attend(q):
        return absorbed_attention(q, key, key, k_weight, v_weight)[0].flatten()

    one_by_one = torch.autograd.functional.jacobian(attend, q)
    torch.testing.assert_close(torch.func.jacrev(attend)(q), one_by_one)
    at_once = torch.autograd.functional.jacobian(attend, q, vectorize=True)
    torch.testing.assert_close(at_once, one_by_one)


def test_under_autocast_the_backward_pass_runs_in_the_lower_precision_too():
    q, *rest = parts(dtype=torch.float32)
    with torch.autocast("cpu", torch.bfloat16):
        heads, _ = absorbed_attention(nn.functional.linear(q, torch.eye(H * HEAD_DIM)), *rest)
    gradients = torch.autograd.grad(heads.float().sum(), [q, *rest[:3]])
    expected = torch.autograd.grad(absorbed_attention(q, *rest)[0].sum(), [q, *rest[:3]])
    torch.testing.assert_close(gradients, expected, atol=0.15, rtol=0.1)


@pytest.mark.parametrize(("num_kv_heads", "head_dim", "widths"), [(4, 2, (8, 8)), (1, 12, (5, 30))])
def test_the_fast_layer_takes_the_order_that_pytorch_counts_as_cheaper(
    num_kv_heads, head_dim, widths
):
    kdim, vdim = widths
    layer = FastMultiHeadAttention(
        8, 4, kdim=kdim, vdim=vdim, num_kv_heads=num_kv_heads, head_dim=head_dim
    )
    choose = layer.absorbing_is_cheaper
    for T, S in itertools.product([1, 2, 4, 8], [2, 8, 33]):
        given = torch.randn(3, T, 8), torch.randn(3, S, kdim), torch.randn(3, S, vdim)
        counted = []
        for absorbing in (False, True):
            layer.absorbing_is_cheaper = lambda T, S, absorbing=absorbing: absorbing
            with torch.no_grad(), FlopCounterMode(display=False) as counter:
                layer(*given)
            counted.append(counter.get_total_flops())
        assert choose(T, S) == (counted[1] < counted[0])
