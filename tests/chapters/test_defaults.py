"""What nobody asked for does not happen: no dropout, no other temperature."""

import pytest
import torch

from chapters.ch17_transformer import DecoderBlock
from chapters.ch18_model import LanguageModel
from chapters.ch18_sampling import write
from utils.blocks import EncoderBlock


@pytest.mark.parametrize("block_class", [EncoderBlock, DecoderBlock])
def test_a_block_drops_nothing_by_itself(block_class):
    block, x = block_class(8, 2, 16), torch.randn(2, 5, 8)
    given = (x,) if block_class is EncoderBlock else (x, x)
    training = block.train()(*given)[0]
    torch.testing.assert_close(training, block.eval()(*given)[0])


def test_a_text_is_drawn_at_temperature_one():
    model, ids = LanguageModel(20, 8, 2, 1), torch.randint(20, (4, 3))
    for parameter in model.parameters():
        torch.nn.init.normal_(parameter)  # far from even, so that another temperature shows
    written, expected = (
        torch.stack(list(write(model, ids, 12, seed=0, **call)))
        for call in ({}, {"temperature": 1.0})
    )
    assert torch.equal(written, expected)
