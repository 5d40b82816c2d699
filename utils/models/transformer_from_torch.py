"""Copy the weights of ``torch.nn.Transformer`` into the course's, name by name."""

from __future__ import annotations

from typing import Any

import torch
import torch.nn.functional as F
from torch import nn

from utils.attention import MultiHeadAttention
from utils.models.transformer import Transformer

ENCODER_NAMES = {  # ours, and those of torch.nn.TransformerEncoderLayer
    "mha": "self_attn",
    "mha_norm": "norm1",
    "ff.up_proj": "linear1",
    "ff.down_proj": "linear2",
    "ff_norm": "norm2",
}
DECODER_NAMES = ENCODER_NAMES | {  # and of torch.nn.TransformerDecoderLayer
    "cross_mha": "multihead_attn",
    "cross_norm": "norm2",
    "ff_norm": "norm3",
}


@torch.no_grad()
def copy_from_torch(model: Transformer, module: nn.Transformer) -> None:
    """Give both stacks of ``model`` the weights of PyTorch's. The embedding stays as it is.

    ``model`` must have been built with the same sizes, and with ``final_norm=True``: PyTorch's
    stacks always end with a norm.

    Raises
    ------
    ValueError
        if the two do not have the same parts, or would compute something else with them
    RuntimeError
        if a part has another shape
    """
    stacks = [
        (model.encoder, model.encoder_norm, module.encoder, ENCODER_NAMES),
        (model.decoder, model.decoder_norm, module.decoder, DECODER_NAMES),
    ]
    for blocks, norm, stack, names in stacks:
        layers = stack.layers
        if len(blocks) != len(layers) or type(norm) is not type(stack.norm):
            raise ValueError(
                f"the stacks have {len(blocks)} and {len(layers)} blocks and end with "
                f"{type(norm).__name__} and {type(stack.norm).__name__}; they must be the same."
            )
        norm.load_state_dict(stack.norm.state_dict())
        for block, layer in zip(blocks, layers, strict=True):
            _require_the_same_function(block, layer)
            for ours, theirs in names.items():
                part = layer.get_submodule(theirs)
                if isinstance(part, nn.MultiheadAttention):
                    part = MultiHeadAttention.from_torch(part)
                block.get_submodule(ours).load_state_dict(part.state_dict())


def _require_the_same_function(block: Any, layer: Any) -> None:
    """Refuse what the names and shapes of the weights do not tell."""
    if block.norm_first != layer.norm_first:
        raise ValueError("one has its norms before its parts, the other after them.")
    if block.mha.num_heads != layer.self_attn.num_heads:
        raise ValueError(
            f"one has {block.mha.num_heads} heads, the other {layer.self_attn.num_heads}."
        )
    if block.mha_norm.eps != layer.norm1.eps:
        raise ValueError("the two differ in what their norms add to the variance (eps).")
    theirs = layer.activation
    if theirs not in (F.relu, torch.relu) and not isinstance(theirs, nn.ReLU):
        raise ValueError("PyTorch's block has another activation than ReLU.")
