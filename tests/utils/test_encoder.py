"""Blocks against PyTorch's own encoder layer, and what the norms and the mask do."""

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import nn

from utils.minilm import TextEncoder
from utils.models import EncoderBlock


def to_torch(block):
    """Give PyTorch's layer with the block's weights."""
    theirs = nn.TransformerEncoderLayer(
        16, 4, 32, block.dropout.p, nn.GELU(), batch_first=True, norm_first=block.norm_first
    )
    theirs.self_attn.load_state_dict(block.mha.to_torch().state_dict())
    for old, new in [(block.ff[0], theirs.linear1), (block.ff[2], theirs.linear2),
                     (block.mha_norm, theirs.norm1), (block.ff_norm, theirs.norm2)]:  # fmt: skip
        new.load_state_dict(old.state_dict())
    return theirs.train(block.training)


def shaken_block(norm_first, dropout=0.0):
    block = EncoderBlock(16, 4, 32, dropout, norm_first)
    with torch.no_grad():
        for parameter in block.parameters():
            parameter.add_(0.3 * torch.randn_like(parameter))  # no bias is 0, no norm's weight 1
    return block


@settings(max_examples=8)
@given(norm_first=st.booleans(), B=st.integers(1, 3), T=st.integers(1, 9), seed=st.integers(0, 99))
def test_a_block_is_pytorchs_forward_and_backward(norm_first, B, T, seed):
    torch.manual_seed(seed)
    block = shaken_block(norm_first).double()
    theirs = to_torch(block).double()
    x = torch.randn(B, T, 16, dtype=torch.double, requires_grad=True)
    padding = torch.arange(T) >= torch.randint(1, T + 1, (B, 1))
    expected = theirs(x, src_key_padding_mask=padding)
    direction = torch.randn_like(x)
    (gradient,) = torch.autograd.grad((expected * direction).sum(), x)
    for need_weights in (True, False):
        output, weights = block(x, padding, need_weights)
        torch.testing.assert_close(output, expected)
        assert (weights is not None) == need_weights
        (found,) = torch.autograd.grad((output * direction).sum(), x)
        torch.testing.assert_close(found, gradient)


def test_dropout_acts_in_training_only():
    block, x = EncoderBlock(16, 4, 32, dropout=0.5), torch.randn(2, 7, 16)
    assert not torch.equal(block(x)[0], block(x)[0])
    assert torch.equal(block.eval()(x)[0], block(x)[0])
    assert block.mha.dropout == 0.5
    plain = EncoderBlock(16, 4, 32)
    assert torch.equal(plain(x)[0], plain.eval()(x)[0]), "nothing is dropped that nobody asked for"


def test_ids_that_do_not_fit_are_refused():
    encoder = TextEncoder(50, 16, 4, 32, 3, max_length=12)
    assert encoder(torch.zeros(2, 12, dtype=torch.long)).shape == (2, 12, 16)
    for shape in [(3,), (2, 13), (1, 2, 3)]:
        with pytest.raises(ValueError, match=r"expected \(B, T\)"):
            encoder(torch.zeros(shape, dtype=torch.long))
