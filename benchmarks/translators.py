"""The two that learn to translate: the course's Transformer, and ``torch.nn.Transformer``.

Both have the same embedding, the same positions and the same function, and with one seed they begin
with the same weights. So trained the same way they differ in the code that computes them, and in
which numbers dropout draws.
"""

from __future__ import annotations

import math
import warnings
from typing import Any, Literal

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from chapters.ch17_transformer import DECODER_NAMES, ENCODER_NAMES, Transformer, copy_from_torch
from utils.attention import MultiHeadAttention
from utils.text import PADDING

Name = Literal["ours", "torch.nn"]


def build(vocab_size: int, settings: dict[str, Any], name: Name = "ours") -> Translator:
    """Make one of the two, whose weights depend on the seed of the moment and not on the name."""
    ours = _build_ours(vocab_size, settings)
    return ours if name == "ours" else TorchTranslator(ours, settings)


def _build_ours(vocab_size: int, settings: dict[str, Any]) -> Transformer:
    """Make ours, whose attention is ``utils.attention.MultiHeadAttention``."""
    return Transformer(
        vocab_size,
        settings["embed_dim"],
        settings["num_heads"],
        settings["hidden_dim"],
        settings["num_layers"],
        settings["dropout"],
        norm_first=True,
    )


class TorchTranslator(nn.Module):
    """``torch.nn.Transformer`` with an embedding, positions and an output layer, as it has none.

    PyTorch's blocks drop inside their feed-forward networks as well. The paper's do not, nor do
    ours: here that dropout is off.

    Parameters
    ----------
    ours : Transformer, pre-norm, whose weights it begins with
    settings : the sizes that ``ours`` was built with
    """

    padding_idx = PADDING

    def __init__(self, ours: Transformer, settings: dict[str, Any]) -> None:
        super().__init__()
        self.settings = settings
        self.embedding, self.dropout = ours.embedding, ours.dropout
        self.source_positions = ours.source_positions
        self.target_positions = ours.target_positions
        with warnings.catch_warnings():  # of a fast path that a pre-norm encoder does not have
            warnings.filterwarnings("ignore", "enable_nested_tensor")
            self.transformer = nn.Transformer(
                settings["embed_dim"],
                settings["num_heads"],
                settings["num_layers"],
                settings["num_layers"],
                settings["hidden_dim"],
                settings["dropout"],
                batch_first=True,
                norm_first=True,
            )
        for stack in (self.transformer.encoder, self.transformer.decoder):
            for layer in stack.layers:
                layer.dropout.p = 0.0
        copy_to_torch(ours, self.transformer)

    def forward(self, source: Tensor, target: Tensor) -> Tensor:
        """Give the logits of the token after each token of the target, as ``Transformer`` does."""
        T, padding = target.shape[1], source == self.padding_idx
        x = self.transformer(
            self._embed(source, self.source_positions),
            self._embed(target, self.target_positions),
            tgt_mask=torch.ones(T, T, dtype=torch.bool, device=target.device).triu(1),
            src_key_padding_mask=padding,
            memory_key_padding_mask=padding,
            tgt_is_causal=True,
        )
        return F.linear(x, self.embedding.weight)

    def _embed(self, ids: Tensor, positions: nn.Module) -> Tensor:
        scale = math.sqrt(self.embedding.embedding_dim)
        return self.dropout(positions(self.embedding(ids) * scale))


Translator = Transformer | TorchTranslator


@torch.no_grad()
def as_ours(model: Translator) -> Transformer:
    """Give ours with the weights of either: PyTorch's has no cache, and here both write with one.

    No random number is used up.
    """
    if isinstance(model, Transformer):
        return model
    weights = model.embedding.weight
    with torch.random.fork_rng(devices=[]):  # new layers draw weights, before they get these
        ours = _build_ours(len(weights), model.settings).to(weights)
        copy_from_torch(ours, model.transformer)
    ours.embedding.weight.copy_(weights)
    return ours


@torch.no_grad()
def copy_to_torch(ours: Transformer, module: nn.Transformer) -> None:
    """Give PyTorch's module the weights of both stacks of ours: ``copy_from_torch`` backwards."""
    stacks = [
        (ours.encoder, ours.encoder_norm, module.encoder, ENCODER_NAMES),
        (ours.decoder, ours.decoder_norm, module.decoder, DECODER_NAMES),
    ]
    for blocks, norm, stack, names in stacks:
        stack.norm.load_state_dict(norm.state_dict())
        for block, layer in zip(blocks, stack.layers, strict=True):
            for our_name, their_name in names.items():
                part = block.get_submodule(our_name)
                if isinstance(part, MultiHeadAttention):
                    part = part.to_torch()
                layer.get_submodule(their_name).load_state_dict(part.state_dict())
