"""A language model looks at nothing to come, and is a Llama."""

import pytest
import torch
from torch import nn

from chapters.ch18_llama import to_llama
from chapters.ch18_model import LanguageModel

V, B, T = 37, 3, 12


def build(seed=0, std=None, **options):
    torch.manual_seed(seed)
    given = {"embed_dim": 32, "num_heads": 4, "num_kv_heads": 2, "hidden_dim": 48, "num_layers": 3}
    model = LanguageModel(V, **given | options).double()
    if std is not None:  # so that one token differs from the next
        for parameter in model.parameters():
            nn.init.normal_(parameter, std=std)
    return model.eval()


def some_ids(seed=0):
    return torch.randint(V, (B, T), generator=torch.Generator().manual_seed(seed))


def test_nothing_to_come_is_seen():
    model, ids = build(std=0.4), some_ids()
    logits, other = model(ids), ids.clone()
    assert logits.shape == (B, T, V)
    other[:, 7:] = some_ids(1)[:, 7:]
    torch.testing.assert_close(model(other)[:, :7], logits[:, :7])
    assert not torch.allclose(model(other)[:, 7:], logits[:, 7:])


def test_dropout_drops_in_training_alone():
    model, ids = build(dropout=0.3).train(), some_ids()
    assert not torch.equal(model(ids), model(ids))
    assert torch.equal(model.eval()(ids), model(ids))


def test_it_begins_near_a_guess_and_what_is_added_is_small():
    model = build(embed_dim=64, hidden_dim=96)
    logits = model(some_ids())
    loss = nn.functional.cross_entropy(logits[:, :-1].flatten(0, 1), some_ids()[:, 1:].flatten())
    assert abs(loss.item() - torch.tensor(V).log().item()) < 0.2
    for name, parameter in model.named_parameters():
        added = name.endswith(("out_proj.weight", "down_proj.weight"))
        if parameter.dim() > 1:
            expected = 0.02 / 6**0.5 if added else 0.02
            assert parameter.std().item() == pytest.approx(expected, rel=0.1)
        else:
            assert (parameter == 1).all(), "norms"


def test_what_cannot_be_is_refused():
    for call, message in [
        (lambda: LanguageModel(0), "vocab_size 0"),
        (lambda: LanguageModel(5, num_layers=0), "num_layers 0"),
        (lambda: build(num_kv_heads=3), "divisor of num_heads"),
        (lambda: build()(torch.zeros(3, dtype=torch.int64)), r"\(B, T\), int64; got \(3,\)"),
        (lambda: build()(torch.zeros(3, 2)), "got .*float32"),
        (lambda: build()(torch.full((1, 2), V)), f"0 to {V - 1}"),
    ]:
        with pytest.raises(ValueError, match=message):
            call()


def test_its_weights_are_a_llama():
    model, ids = build(std=0.3), some_ids()
    theirs = to_llama(model)
    with torch.no_grad():
        logits = theirs(ids).logits
    # Their norms and angles are float32 in every dtype.
    torch.testing.assert_close(logits, model(ids), rtol=1e-5, atol=1e-5)
    assert theirs.get_output_embeddings().weight is theirs.get_input_embeddings().weight
