"""The same layer as other libraries write it, from the same weights.

Each is asked the way its library asks it. Where a library's layer cannot be asked for something,
or is not installed, it is missing, and a sentence says why.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator

from torch import Tensor, nn

from benchmarks.cases import Case
from benchmarks.peers import Answer, Asked, Peer
from benchmarks.shared_weights import Projection, copy_all, copy_weights, parameters, projections


def library_peers(case: Case, module: nn.MultiheadAttention) -> tuple[list[Peer], list[str]]:
    """Give the layers of other libraries that can do the case, and say which are missing."""
    found: list[Peer] = []
    missing: list[str] = []
    for library, peers in SOURCES.items():
        try:
            found.extend(peers(case, module))
        except ImportError as error:
            missing.append(f"The layer of {library} is missing: {error}. `make bench` installs it.")
        except NotImplementedError as error:
            missing.append(f"The layers of {library} {error}.")
    return found, missing


def _bert(case: Case, module: nn.MultiheadAttention) -> Iterator[Peer]:
    """BERT's attention and the projection after it; not its dropout, residual and norm."""
    from transformers import BertConfig
    from transformers.models.bert import modeling_bert

    ways: dict[str, Asked] = {"sdpa": "none"}
    if not case.causal:  # the eager attention has no causal mask of its own: its model hands it one
        ways["eager"] = "all"
    for way, asked in ways.items():
        config = BertConfig(
            hidden_size=case.embed_dim,
            num_attention_heads=case.num_heads,
            attention_probs_dropout_prob=0.0,
        )
        config._attn_implementation = way
        kind = modeling_bert.BertSelfAttention if case.is_self else modeling_bert.BertCrossAttention
        attention = kind(config, is_causal=case.causal).to(module.out_proj.weight)
        dense = modeling_bert.BertSelfOutput(config).dense.to(module.out_proj.weight)
        linears = (attention.query, attention.key, attention.value, dense)
        copy_all(linears, module)

        def call(
            query: Tensor, x: Tensor, attention: nn.Module = attention, dense: nn.Module = dense
        ) -> Answer:
            if case.is_self:
                heads, weights = attention(x)
            else:
                heads, weights = attention(query, encoder_hidden_states=x)
            return dense(heads), weights

        used: list[nn.Module] = [attention, dense]
        yield Peer(f"BERT, {way}", "peer", asked, call, parameters(*used), used)


def _x_transformers(case: Case, module: nn.MultiheadAttention) -> Iterator[Peer]:
    """The ``Attention`` of x-transformers, which adds no biases."""
    with warnings.catch_warnings():  # of what it builds on
        warnings.simplefilter("ignore", DeprecationWarning)
        from x_transformers import Attention

    ways: dict[str, tuple[bool, Asked]] = {
        "flash": (True, "none"),
        "eager": (False, "all"),
    }
    for way, (flash, asked) in ways.items():
        layer = Attention(
            case.embed_dim,
            dim_head=case.embed_dim // case.num_heads,
            heads=case.num_heads,
            causal=case.causal,
            flash=flash,
        ).to(module.out_proj.weight)
        linears = (layer.to_q, layer.to_k, layer.to_v, layer.to_out)
        copy_all(linears, module)

        def call(query: Tensor, x: Tensor, layer: nn.Module = layer, asked: str = asked) -> Answer:
            context = None if case.is_self else x
            if asked == "none":
                return layer(query, context=context), None
            output, more = layer(query, context=context, return_intermediates=True)
            return output, more.post_softmax_attn

        name = f"x-transformers, {way}"
        yield Peer(name, "peer", asked, call, parameters(layer), [layer], biased=False)


def _llms_from_scratch(case: Case, module: nn.MultiheadAttention) -> Iterator[Peer]:
    """The book's class, the nearest to ours, and its fused bonus, the fastest; both causal."""
    from llms_from_scratch import ch03

    if not case.causal:
        raise NotImplementedError("are causal, and so compared only where ours is causal as well")

    D, T, H = case.embed_dim, case.keys, case.num_heads
    like = module.out_proj.weight
    nearest = ch03.MultiHeadAttention(D, D, T, 0.0, H, qkv_bias=True).to(like)
    linears = (nearest.W_query, nearest.W_key, nearest.W_value, nearest.out_proj)
    copy_all(linears, module)
    fastest = ch03.PyTorchMultiHeadAttention(D, D, H, qkv_bias=True).to(like)
    copy_weights(fastest.qkv, Projection(module.in_proj_weight, module.in_proj_bias))
    copy_weights(fastest.proj, projections(module)["out"])
    for way, layer in {"book": nearest, "fused": fastest}.items():

        def call(query: Tensor, x: Tensor, layer: nn.Module = layer) -> Answer:
            return layer(x), None

        name = f"llms-from-scratch, {way}"
        yield Peer(name, "peer", "none", call, parameters(layer), [layer])


SOURCES: dict[str, Callable[[Case, nn.MultiheadAttention], Iterator[Peer]]] = {
    "transformers": _bert,
    "x-transformers": _x_transformers,
    "llms-from-scratch": _llms_from_scratch,
}
