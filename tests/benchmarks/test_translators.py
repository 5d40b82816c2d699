"""Ours and PyTorch's begin alike, give the same, and are told apart by nothing but their code."""

import pytest
import torch

from benchmarks import translation
from benchmarks.subwords import encode_pairs, pad
from benchmarks.translators import TorchTranslator, as_ours, build
from utils.attention import MultiHeadAttention
from utils.models import Transformer
from utils.training import translation_loss

CPU = torch.device("cpu")
SETTINGS = {"embed_dim": 16, "num_heads": 2, "hidden_dim": 24, "num_layers": 2, "dropout": 0.0}
V = 300


def both(**changes):
    found = []
    for name in ("ours", "torch.nn"):
        torch.manual_seed(7)
        found.append(build(V, SETTINGS | changes, name))
    return found


@pytest.fixture
def batch(subwords, sentences):
    return pad(encode_pairs(subwords, *sentences["validation"]), range(9))


def test_every_attention_of_ours_is_ours_and_none_of_the_peers():
    chosen = translation.translation_settings(CPU)
    ours, peer = (build(50, chosen, name) for name in ("ours", "torch.nn"))
    layers = [m for name, m in ours.named_modules() if name.endswith("mha")]
    assert len(layers) == 3 * chosen["num_layers"]
    assert all(type(layer) is MultiHeadAttention for layer in layers)
    assert not any(isinstance(m, torch.nn.MultiheadAttention) for m in ours.modules())
    theirs = [m for m in peer.modules() if isinstance(m, torch.nn.MultiheadAttention)]
    assert len(theirs) == 3 * chosen["num_layers"]
    assert not any(isinstance(m, MultiHeadAttention) for m in peer.modules())


def test_with_one_seed_both_begin_with_the_same_function(batch):
    ours, peer = (model.double() for model in both())
    assert batch[0].eq(ours.padding_idx).any()
    losses = [translation_loss(model, *batch, 0.1) for model in (ours, peer)]
    torch.testing.assert_close(*losses, rtol=1e-12, atol=0)
    for loss in losses:
        loss.backward()
    sizes = [sum(p.numel() for p in model.parameters()) for model in (ours, peer)]
    assert sizes[0] == sizes[1]
    torch.testing.assert_close(ours.embedding.weight.grad, peer.embedding.weight.grad)
    lengths = [
        sum(p.grad.pow(2).sum() for p in model.parameters()).sqrt() for model in (ours, peer)
    ]
    torch.testing.assert_close(*lengths, rtol=1e-10, atol=0)
    block, layer = ours.decoder[1], peer.transformer.decoder.layers[1]
    torch.testing.assert_close(block.ff.up_proj.weight.grad, layer.linear1.weight.grad)


@pytest.mark.parametrize("name", ["ours", "torch.nn"])
def test_what_is_yet_to_come_and_what_is_padding_is_not_read(name, batch):
    torch.manual_seed(7)
    model, (source, target) = build(V, SETTINGS, name).double().eval(), batch
    expected = model(source, target)
    other = target.clone()
    other[:, 5:] = 9
    torch.testing.assert_close(model(source, other)[:, :5], expected[:, :5])
    longer = torch.nn.functional.pad(source, (0, 3), value=model.padding_idx)
    torch.testing.assert_close(model(longer, target), expected)


def test_both_drop_at_the_same_places():
    ours, peer = both(dropout=0.3)
    dropped = []
    for model in (ours, peer):
        modules = [m.p for m in model.modules() if isinstance(m, torch.nn.Dropout)]
        attention = [m.dropout for m in model.modules() if hasattr(m, "num_heads")]
        dropped.append((max(modules), attention))
    assert dropped[0] == dropped[1] == (0.3, [0.3] * 6)
    for stack in (peer.transformer.encoder, peer.transformer.decoder):
        for layer in stack.layers:
            assert layer.dropout.p == 0, "inside the feed-forward network"
            assert layer.dropout1.p == layer.dropout2.p == 0.3


def test_the_mean_output_under_dropout_is_the_same(batch):
    """If one dropped anywhere else, the noise of its outputs would have another size."""
    spreads = []
    for model in both(dropout=0.3):
        with torch.no_grad():
            torch.manual_seed(1)
            outputs = torch.stack([model.train()(*batch) for _ in range(60)])
        spreads.append(outputs.std(0).mean().item())
    assert spreads[0] == pytest.approx(spreads[1], rel=0.03)


def test_the_weights_of_the_peer_write_with_ours(batch):
    torch.manual_seed(3)
    peer = build(V, SETTINGS, "torch.nn")
    assert isinstance(peer, TorchTranslator)
    with torch.no_grad():
        for parameter in peer.parameters():
            parameter.add_(0.1 * torch.randn_like(parameter))
    state = torch.get_rng_state()
    ours = as_ours(peer)
    assert torch.equal(torch.get_rng_state(), state), "no random number is used up"
    assert isinstance(ours, Transformer)
    torch.testing.assert_close(ours.eval()(*batch), peer.eval()(*batch), rtol=1e-4, atol=1e-5)
    assert as_ours(ours) is ours
    before = ours.embedding.weight.clone()
    with torch.no_grad():
        peer.embedding.weight.zero_()
    assert torch.equal(ours.embedding.weight, before), "a copy"


def test_it_says_nothing_of_a_fast_path_that_there_is_not(recwarn):
    build(V, SETTINGS, "torch.nn")
    assert not recwarn.list
