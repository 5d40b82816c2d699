"""The model that chapter 17 writes in its cells is PyTorch's, with the same weights."""

import torch
from torch import nn

from utils.attention import MultiHeadAttention

NAMES = {"mha": "self_attn", "cross_mha": "multihead_attn", "mha_norm": "norm1"}
NAMES |= {"ff.up_proj": "linear1", "ff.down_proj": "linear2", "ff_norm": "norm2"}
LATER = {"cross_norm": "norm2", "ff_norm": "norm3"}  # in the decoder


def test_blocks_are_those_of_torch(Transformer):
    D, H = 16, 2
    ours = Transformer(9, D, H, L=2).double().eval()
    stacks = nn.Transformer(D, H, 2, 2, 2 * D, 0.0, batch_first=True, norm_first=True).double()
    for parameter in ours.parameters():
        nn.init.normal_(parameter, std=0.5)
    for side, names in (("encoder", NAMES), ("decoder", NAMES | LATER)):
        stack = getattr(stacks, side)
        stack.norm.load_state_dict(getattr(ours, f"{side}_norm").state_dict())
        for block, layer in zip(getattr(ours, side), stack.layers, strict=True):
            for mine, theirs in names.items():
                if mine == "cross_mha" and side == "encoder":
                    continue
                part = block.get_submodule(mine)
                part = part.to_torch() if isinstance(part, MultiHeadAttention) else part
                layer.get_submodule(theirs).load_state_dict(part.state_dict())
    source, target = torch.randint(1, 9, (3, 7)), torch.randint(1, 9, (3, 5))
    source[1, 4:] = 0
    later = torch.ones(5, 5, dtype=torch.bool).triu(1)
    padding = source == 0
    expected = stacks(ours.embed(source), ours.embed(target), tgt_mask=later,
                      src_key_padding_mask=padding, memory_key_padding_mask=padding)  # fmt: skip
    logits = ours.decode(target, ours.encode(source), source)
    torch.testing.assert_close(logits, expected @ ours.embedding.weight.T)
