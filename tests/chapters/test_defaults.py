"""What nobody asked for does not happen: no dropout, no other temperature."""

import torch

from chapters.ch18_model import LanguageModel
from chapters.ch18_sampling import write
from utils.models import EncoderBlock


def test_a_block_drops_nothing_by_itself():
    block, x = EncoderBlock(8, 2, 16), torch.randn(2, 5, 8)
    torch.testing.assert_close(block.train()(x)[0], block.eval()(x)[0])


def test_a_text_is_drawn_at_temperature_one():
    model, ids = LanguageModel(20, 8, 2, 1), torch.randint(20, (4, 3))
    for parameter in model.parameters():
        torch.nn.init.normal_(parameter)  # far from even, so that another temperature shows
    written, expected = (
        torch.stack(list(write(model, ids, 12, seed=0, **call)))
        for call in ({}, {"temperature": 1.0})
    )
    assert torch.equal(written, expected)
