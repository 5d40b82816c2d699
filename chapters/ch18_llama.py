"""The same weights under other names: a ``LanguageModel`` as ``transformers``' Llama."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from chapters.ch18_model import LanguageModel

if TYPE_CHECKING:
    from transformers import LlamaForCausalLM

_BLOCK = {
    "mha_norm": "input_layernorm",
    "mha.q_proj": "self_attn.q_proj",
    "mha.k_proj": "self_attn.k_proj",
    "mha.v_proj": "self_attn.v_proj",
    "mha.out_proj": "self_attn.o_proj",
    "ff_norm": "post_attention_layernorm",
    "ff.gate_proj": "mlp.gate_proj",
    "ff.up_proj": "mlp.up_proj",
    "ff.down_proj": "mlp.down_proj",
}


def to_llama(model: LanguageModel) -> LlamaForCausalLM:
    """Build ``transformers``' model with a copy of these weights, in evaluation mode.

    Its logits are those of ``model``, up to the rounding of its norms, which it computes in float32
    whatever the dtype.
    """
    from transformers import LlamaConfig, LlamaForCausalLM

    block: Any = model.blocks[0]
    config = LlamaConfig(
        vocab_size=model.embedding.num_embeddings,
        hidden_size=model.embedding.embedding_dim,
        intermediate_size=block.ff.up_proj.out_features,
        num_hidden_layers=len(model.blocks),
        num_attention_heads=block.mha.num_heads,
        num_key_value_heads=block.mha.num_kv_heads,
        rms_norm_eps=block.mha_norm.eps,
        rope_parameters={"rope_type": "default", "rope_theta": block.mha.positions.base},
        tie_word_embeddings=True,
        bos_token_id=None,
        eos_token_id=None,
    )
    theirs: Any = LlamaForCausalLM(config)
    theirs = theirs.to(model.embedding.weight)
    names = {"embedding": "model.embed_tokens", "norm": "model.norm"} | {
        f"blocks.{i}.{ours}": f"model.layers.{i}.{theirs}"
        for i in range(len(model.blocks))
        for ours, theirs in _BLOCK.items()
    }
    weights = model.state_dict()
    found = {f"{theirs}.weight": weights[f"{ours}.weight"] for ours, theirs in names.items()}
    theirs.load_state_dict(found | {"lm_head.weight": weights["embedding.weight"]})
    return theirs.eval()
