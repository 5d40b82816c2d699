"""The steps give what all tokens at once give, and go past nothing that someone put there."""

from functools import partial

import pytest
import torch
from torch import nn

from chapters.ch18_model import LanguageModel
from chapters.ch18_steps import FastSteps
from utils.costs import count

V, B, T = 37, 3, 9
KINDS = {"llama": {}, "one key head": {"num_kv_heads": 1}}


def build(**options):
    torch.manual_seed(0)
    given = {"embed_dim": 32, "num_heads": 4, "num_kv_heads": 2, "hidden_dim": 48, "num_layers": 3}
    model = LanguageModel(V, **given | options).double()
    for parameter in model.parameters():
        nn.init.normal_(parameter, std=0.4)
    return model.eval()


def some_ids():
    return torch.randint(V, (B, T), generator=torch.Generator().manual_seed(0))


def assert_equal_steps(model, prompt):
    """Compare with all at once, after the prompt and after each token that follows."""
    ids, step = some_ids(), FastSteps(model, T)
    expected = model(ids)[:, prompt - 1 :]  # (B, T - prompt + 1, V)
    parts = ids.split([prompt] + [1] * (T - prompt), dim=1)
    torch.testing.assert_close(torch.stack([step(part) for part in parts], 1), expected)


@pytest.mark.parametrize("kind", KINDS)
def test_they_give_what_all_at_once_gives(kind):
    for prompt in (1, 4, T):
        assert_equal_steps(build(**KINDS[kind]), prompt)


def test_a_hook_at_a_projection_is_obeyed():
    model, seen = build(), []
    mha = model.blocks[1].mha

    def silence(name, module, inputs, output):
        seen.append(name)
        return torch.zeros_like(output)

    names = {"keys": mha.k_proj, "output": mha.out_proj, "norm": model.blocks[2].mha_norm}
    names |= {"gate": model.blocks[2].ff.gate_proj, "network": model.blocks[2].ff}
    for name, module in names.items():
        module.register_forward_hook(partial(silence, name))
    assert_equal_steps(model, 4)
    steps = 1 + (1 + T - 4)  # all at once, and then step by step
    assert seen == [*names] * steps


def test_a_module_of_another_kind_is_called():
    model = build()
    model.blocks[0].mha.v_proj = nn.Linear(32, 16).double()  # with a bias, as the others have none
    model.blocks[1].mha.q_proj = nn.Sequential(nn.Linear(32, 32), nn.Tanh()).double()
    model.blocks[1].ff_norm = nn.RMSNorm(32, elementwise_affine=False)
    model.blocks[2].ff = nn.Tanh()
    assert_equal_steps(model, 4)


def test_a_token_takes_fewer_operators_than_a_text_of_one():
    model, ids = build(), some_ids()
    step = FastSteps(model, T)
    step(ids[:, :4])
    fast = count(lambda: step(ids[:, 4:5])).calls
    plain = count(lambda: model(ids[:, 4:5])).calls
    assert fast < 0.8 * plain


def test_what_cannot_be_is_refused():
    model, ids = build(), some_ids()
    with pytest.raises(ValueError, match="at least one token; got 0"):
        FastSteps(model, 0)
    step = FastSteps(model, 4)
    with pytest.raises(ValueError, match="room for 4"):
        step(ids)
    step = FastSteps(model, 5)
    step(ids[:, :2])
    with pytest.raises(ValueError, match="one by one; got 2"):
        step(ids[:, :2])
    with pytest.raises(ValueError, match=r"\(B, T\), int64"):
        step(ids[:, :1].double())
