"""The Transformer: an encoder reads the source, a decoder writes the target token by token.

Its embedding is shared by source, target and output layer. It can be trained on whole targets at
once, and writes with a cache, so that no token is computed twice.

Shapes: B pairs, S tokens of the source, T of the target, D = ``embed_dim``, V = ``vocab_size``.

Source: Vaswani and others 2017, "Attention Is All You Need", section 3.

Its weights can be taken from ``torch.nn.Transformer``, name by name.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, cast

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from utils.attention import MultiHeadAttention
from utils.blocks import EncoderBlock
from utils.cache import KeyValueCache
from utils.positions import SinusoidalPositionalEncoding
from utils.text import PADDING


class DecoderBlock(EncoderBlock):
    """Causal attention to the target, attention to the source, and the feed-forward network.

    Parameters are those of ``EncoderBlock``.

    Source: Vaswani and others 2017, section 3.2.3.
    """

    def __init__(
        self,
        embed_dim: int,
        num_heads: int,
        hidden_dim: int,
        dropout: float = 0.0,
        norm_first: bool = False,
        eps: float = 1e-5,
        activation: Callable[[], nn.Module] = nn.GELU,
        make_attention: Callable[..., MultiHeadAttention] = MultiHeadAttention,
    ) -> None:
        super().__init__(
            embed_dim, num_heads, hidden_dim, dropout, norm_first, eps, activation, make_attention
        )
        self.cross_mha = make_attention(embed_dim, num_heads, dropout)
        self.cross_norm = nn.LayerNorm(embed_dim, eps)

    def forward(  # type: ignore[override]  # a decoder reads two sequences
        self,
        x: Tensor,
        memory: Tensor,
        key_padding_mask: Tensor | None = None,
        memory_key_padding_mask: Tensor | None = None,
        need_weights: bool = False,
        attn_mask: Tensor | None = None,
        memory_mask: Tensor | None = None,
        is_causal: bool = True,
    ) -> tuple[Tensor, Tensor | None, Tensor | None]:
        """Read the target so far and the source.

        Parameters
        ----------
        x : Tensor of shape (B, T, D), the target
        memory : Tensor of shape (B, S, D), what the encoder made of the source
        key_padding_mask, attn_mask : masks of the target, as ``MultiHeadAttention`` has
            them
        memory_key_padding_mask, memory_mask : the same for the source, (B, S) and (T, S)
        is_causal : bool, whether a token of the target is kept from those after it

        Returns
        -------
        output : Tensor of shape (B, T, D)
        weights, cross_weights : Tensors of shape (B, H, T, T) and (B, H, T, S), or None
        """
        y = self._before(x, self.mha_norm)
        y, weights = self.mha(y, y, y, key_padding_mask, need_weights, attn_mask, False, is_causal)
        x = self._after(x, y, self.mha_norm)
        y = self._before(x, self.cross_norm)
        y, cross_weights = self.cross_mha(
            y, memory, memory, memory_key_padding_mask, need_weights, memory_mask, False
        )
        x = self._after(x, y, self.cross_norm)
        return self._feed_forward(x), weights, cross_weights

    def project_memory(self, memory: Tensor) -> tuple[Tensor, Tensor]:
        """Give the keys and values of the source, (B, H_kv, S, D_head) each: once for all steps.

        Raises
        ------
        NotImplementedError
            if the layer does more than to project, to attend and to join its heads
        """
        mha = self.cross_mha
        if mha.between or mha.positions is not None:
            raise NotImplementedError(
                f"a layer with {mha.between or 'positions'} cannot read keys that were kept; "
                "decode without a cache."
            )
        return mha.split_heads(mha.k_proj(memory)), mha.split_heads(mha.v_proj(memory))

    def decode(
        self,
        x: Tensor,
        cache: KeyValueCache,
        memory: tuple[Tensor, Tensor],
        allowed: Tensor | None = None,
    ) -> Tensor:
        """Do what ``forward`` does for the newest tokens, with what was kept of those before.

        Parameters
        ----------
        x : Tensor of shape (B, T, D), the T tokens that follow those in the cache
        cache : keys and values of the target so far; those of ``x`` are added to it
        memory : keys and values of the source, from ``project_memory``
        allowed : Tensor of shape (B, 1, 1, S), bool, True = a token of the source, or None

        Returns
        -------
        Tensor of shape (B, T, D)
        """
        y = self.mha.decode(self._before(x, self.mha_norm), cache)
        x = self._after(x, y, self.mha_norm)
        mha, y = self.cross_mha, self._before(x, self.cross_norm)
        heads, _ = mha.attend_heads(mha.split_heads(mha.q_proj(y)), *memory, allowed)
        y = mha.out_proj(mha.join_heads(heads))
        x = self._after(x, y, self.cross_norm)
        return self._feed_forward(x)


class Transformer(nn.Module):
    """An encoder and a decoder with one embedding.

    Parameters
    ----------
    vocab_size : int, V, one vocabulary for source and target
    embed_dim : int, D
    num_heads : int, H
    hidden_dim : int, width of the feed-forward parts
    num_layers : int, blocks of the encoder, and of the decoder
    dropout : float, in the blocks, and on embeddings with their positions
    norm_first : bool, pre-norm instead of the paper's post-norm, see ``EncoderBlock``
    final_norm : bool or None, whether each stack ends with a norm; None means where the blocks
        do not end with one, which is with ``norm_first``. (``torch.nn.Transformer`` always has it)
    source_positions, target_positions : nn.Module or None, what adds positions to the embeddings of
        each side; None means the paper's sines and cosines, and ``nn.Identity()`` leaves them out.
        Their parameters stay as they are given
    is_causal : bool; False lets the target read what is yet to be written, which is a mistake
    make_attention : class, called as ``MultiHeadAttention(embed_dim, num_heads, dropout)``

    Raises
    ------
    ValueError
        if there is no token, or no block

    Source: Vaswani and others 2017, sections 3.1 to 3.5 and 5.4.
    """

    padding_idx = PADDING  # the id that is never read from the source

    def __init__(
        self,
        vocab_size: int,
        embed_dim: int = 512,
        num_heads: int = 8,
        hidden_dim: int = 2048,
        num_layers: int = 6,
        dropout: float = 0.1,
        *,
        norm_first: bool = False,
        final_norm: bool | None = None,
        source_positions: nn.Module | None = None,
        target_positions: nn.Module | None = None,
        is_causal: bool = True,
        make_attention: Callable[..., MultiHeadAttention] = MultiHeadAttention,
    ) -> None:
        super().__init__()
        if min(vocab_size, num_layers) < 1:
            raise ValueError(
                "a Transformer needs at least one token and one block on each side; got "
                f"vocab_size {vocab_size} and num_layers {num_layers}."
            )
        self.embed_dim, self.is_causal = embed_dim, is_causal
        self.embedding = nn.Embedding(vocab_size, embed_dim)
        sines = SinusoidalPositionalEncoding(embed_dim)
        self.source_positions = sines if source_positions is None else source_positions
        self.target_positions = sines if target_positions is None else target_positions
        self.dropout = nn.Dropout(dropout)
        size = (embed_dim, num_heads, hidden_dim, dropout, norm_first, 1e-5)
        parts = (nn.ReLU, make_attention)
        self.encoder = nn.ModuleList(EncoderBlock(*size, *parts) for _ in range(num_layers))
        self.decoder = nn.ModuleList(DecoderBlock(*size, *parts) for _ in range(num_layers))
        ends_with_norm = norm_first if final_norm is None else final_norm
        self.encoder_norm = nn.LayerNorm(embed_dim) if ends_with_norm else nn.Identity()
        self.decoder_norm = nn.LayerNorm(embed_dim) if ends_with_norm else nn.Identity()
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Draw embeddings as normal, every other matrix as Xavier (Glorot) uniform.

        Every bias becomes 0, every scale 1. What adds positions is left as it is.

        The embeddings' standard deviation is 1 / sqrt(D). So a row is about 1 long, and about
        sqrt(D) once it is scaled: of the order of the sines and cosines beside it, sqrt(D / 2),
        however many tokens there are. The output layer has the same matrix: of vectors that are
        sqrt(D) long, as a norm leaves them, it makes logits of about 1.

        Sources: Glorot and Bengio 2010, "Understanding the difficulty of training deep feedforward
        neural networks", section 4.2.1; Vaswani and others 2017, section 3.4 (one matrix for
        embedding and output, scaled by sqrt(D)), whose code, tensor2tensor, draws it like this.
        """
        given = {*self.source_positions.modules(), *self.target_positions.modules()}
        for module in filter(lambda module: module not in given, self.modules()):
            for name, parameter in module.named_parameters(recurse=False):
                if module is self.embedding:
                    nn.init.normal_(parameter, std=self.embed_dim**-0.5)
                elif parameter.dim() > 1:
                    nn.init.xavier_uniform_(parameter)
                elif isinstance(module, nn.LayerNorm) and name == "weight":
                    nn.init.ones_(parameter)
                else:
                    nn.init.zeros_(parameter)

    def forward(self, source: Tensor, target: Tensor) -> Tensor:
        """Give the logits of the token after each token of the target.

        Parameters
        ----------
        source : Tensor of shape (B, S), int64, padded at its end
        target : Tensor of shape (B, T), int64; padding at its end changes nothing before it

        Returns
        -------
        Tensor of shape (B, T, V)
        """
        return self.decode(target, self.encode(source), source)

    def encode(self, source: Tensor) -> Tensor:
        """Give what the encoder makes of the source, (B, S) to (B, S, D)."""
        return self.run_encoder(self.embed_source(source), source == self.padding_idx)

    def decode(self, target: Tensor, memory: Tensor, source: Tensor) -> Tensor:
        """Give the logits (B, T, V) from the target (B, T), and the source read and unread."""
        blocked = source == self.padding_idx  # (B, S)
        x, causal = self.embed_target(target), self.is_causal
        x = self.run_decoder(x, memory, memory_key_padding_mask=blocked, is_causal=causal)
        return self.logits(x)

    def embed_source(self, ids: Tensor) -> Tensor:
        """Give the scaled embeddings of a source with its positions, (B, S) to (B, S, D).

        Raises
        ------
        ValueError
            if an id is not in the vocabulary
        """
        return self._embed(ids, self.source_positions)

    def embed_target(self, ids: Tensor, start: int = 0) -> Tensor:
        """Do so for the tokens of a target that follow the first ``start``, (B, T) to (B, T, D)."""
        return self._embed(ids, self.target_positions, start)

    def _embed(self, ids: Tensor, positions: nn.Module, start: int = 0) -> Tensor:
        try:
            x = self.embedding(ids) * math.sqrt(self.embed_dim)  # (B, T, D)
        except IndexError:
            raise ValueError(f"ids go from 0 to {self.embedding.num_embeddings - 1}.") from None
        places = positions(x.new_zeros(start + ids.shape[1], self.embed_dim))[start:]
        return self.dropout(x + places)

    def logits(self, x: Tensor) -> Tensor:
        """Compare with every embedding: (B, T, D) to (B, T, V)."""
        return F.linear(x, self.embedding.weight)

    def run_encoder(
        self, x: Tensor, key_padding_mask: Tensor | None = None, attn_mask: Tensor | None = None
    ) -> Tensor:
        """Run the encoder's blocks on vectors (B, S, D)."""
        for block in self.encoder:
            x, _ = block(x, key_padding_mask, attn_mask=attn_mask)
        return self.encoder_norm(x)

    def run_decoder(self, x: Tensor, memory: Tensor, **masks: Tensor | bool | None) -> Tensor:
        """Run the decoder's blocks on vectors (B, T, D); the masks are ``DecoderBlock``'s."""
        for block in self.decoder:
            x, _, _ = block(x, memory, **masks)
        return self.decoder_norm(x)

    @torch.no_grad()
    def start(self, source: Tensor, max_length: int) -> DecodingState:
        """Read the source, (B, S), for targets of up to ``max_length`` tokens.

        Raises
        ------
        ValueError
            if the model is not causal
        """
        if not self.is_causal:
            raise ValueError(
                "a cache holds what a causal model has read, and this one reads ahead: decode "
                "without a cache (cached=False)."
            )
        memory, blocks = self.encode(source), cast(list[DecoderBlock], list(self.decoder))
        return DecodingState(
            [KeyValueCache(max_length) for _ in blocks],
            [block.project_memory(memory) for block in blocks],
            (source != self.padding_idx)[:, None, None],  # (B, 1, 1, S)
        )

    @torch.no_grad()
    def step(self, target: Tensor, state: DecodingState) -> Tensor:
        """Give the logits (B, T, V) after each of the newest T tokens of the target, (B, T).

        They are those that ``forward`` gives for the whole target.
        """
        x = self.embed_target(target, state.length)
        blocks = cast(list[DecoderBlock], list(self.decoder))
        for block, cache, memory in zip(blocks, state.caches, state.memory, strict=True):
            x = block.decode(x, cache, memory, state.allowed)
        return self.logits(self.decoder_norm(x))


class DecodingState:
    """What a decoder keeps between two tokens: keys and values of the target, and of the source.

    Parameters
    ----------
    caches : for each block, the keys and values of the target so far
    memory : for each block, the keys and values of the source, (B, H, S, D_head) each
    allowed : Tensor of shape (B, 1, 1, S), bool, True = a token of the source, no padding
    """

    def __init__(
        self, caches: list[KeyValueCache], memory: list[tuple[Tensor, Tensor]], allowed: Tensor
    ) -> None:
        self.caches, self.memory, self.allowed = caches, memory, allowed

    @property
    def length(self) -> int:
        """How many tokens of the target it holds."""
        return self.caches[0].length

    def select(self, rows: Tensor) -> None:
        """Let the targets go on from these, (B,) int64; each must have the source that it had.

        So keys and values of the sources, which are most of what is kept, stay where they are.
        """
        for cache in self.caches:
            cache.select(rows)


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
