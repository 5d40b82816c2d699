"""Where each published tensor of all-MiniLM-L6-v2 goes in the course's encoder, and its shape."""

from __future__ import annotations

V, D, HIDDEN, L = 30_522, 384, 1_536, 6  # tokens, width, feed-forward width, blocks

Shape = tuple[int, ...]
_EMBEDDINGS = [
    ("embeddings.word_embeddings.weight", "tokens.weight", (V, D)),
    ("embeddings.position_embeddings.weight", "positions.weight", (512, D)),
    ("embeddings.token_type_embeddings.weight", "types.weight", (2, D)),
    ("embeddings.LayerNorm.weight", "norm.weight", (D,)),
    ("embeddings.LayerNorm.bias", "norm.bias", (D,)),
]
_BLOCK: list[tuple[str, str, Shape]] = [  # each has a weight of this shape and a bias of its rows
    ("attention.self.query", "mha.q_proj", (D, D)),
    ("attention.self.key", "mha.k_proj", (D, D)),
    ("attention.self.value", "mha.v_proj", (D, D)),
    ("attention.output.dense", "mha.out_proj", (D, D)),
    ("attention.output.LayerNorm", "mha_norm", (D,)),
    ("intermediate.dense", "ff.up_proj", (HIDDEN, D)),
    ("output.dense", "ff.down_proj", (D, HIDDEN)),
    ("output.LayerNorm", "ff_norm", (D,)),
]
TABLE: list[tuple[str, str, Shape]] = _EMBEDDINGS + [
    (f"encoder.layer.{i}.{old}.{kind}", f"blocks.{i}.{new}.{kind}", size)
    for i in range(L)
    for old, new, shape in _BLOCK
    for kind, size in (("weight", shape), ("bias", shape[:1]))
]
UNUSED = {  # what a sentence embedding has no use for
    "embeddings.position_ids": "the numbers 0 to 511",
    "pooler.dense.weight": "BERT's layer on [CLS], which mean pooling replaces",
    "pooler.dense.bias": "the same layer's bias",
}
