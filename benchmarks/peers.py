"""The layer as ours, PyTorch's and other libraries' code, from the same weights.

A new peer is one entry in ``LIBRARIES``, with a function that builds its layers, and its package in
the extra ``bench`` or in ``benchmarks/requirements.txt``, which ``make bench`` installs.
"""

from __future__ import annotations

import dataclasses
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import torch
from torch import Tensor, nn

from benchmarks.cases import Answer, Asked, Case, Kind, Peer, copy_weights, projections
from utils.fast import FastMultiHeadAttention


@dataclass(frozen=True)
class Library:
    """Whose layers are compared.

    ``build`` gives its layers with the weights of PyTorch's, each asked the way its library asks
    it. It raises NotImplementedError, with the rest of a sentence on "the layers of ...", if it can
    not do the case.
    """

    name: str
    package: str  # whose version is reported
    build: Callable[[Case, nn.MultiheadAttention], Iterator[Peer]]
    kind: Kind = "peer"


def build_peers(case: Case, module: nn.MultiheadAttention) -> tuple[list[Peer], list[str]]:
    """Give the layers of all libraries that can do the case, and say which are missing, and why.

    A layer is called after its library, and after its own name if it has one: "BERT, sdpa".
    """
    found: list[Peer] = []
    missing: list[str] = []
    for library in LIBRARIES:
        try:
            for peer in library.build(case, module):
                name = ", ".join(filter(None, (library.name, peer.name)))
                found.append(dataclasses.replace(peer, name=name, kind=library.kind))
        except ImportError as error:
            what = f"The layer of {library.package} is missing: {error}."
            missing.append(f"{what} `make bench` installs it.")
        except NotImplementedError as error:
            missing.append(f"The layers of {library.package} {error}.")
    return found, missing


def _ours(case: Case, module: nn.MultiheadAttention) -> Iterator[Peer]:
    """Our layer, asked for no weights, for their mean over the heads, and for all of them.

    It is the fast one: where it projects keys and values, it is ``MultiHeadAttention``.
    """
    yield from _three(FastMultiHeadAttention.from_torch(module), case, None)


def torch_peers(case: Case, module: nn.MultiheadAttention) -> Iterator[Peer]:
    """PyTorch's layer, asked for the same three."""
    mask = None
    if case.causal:  # PyTorch's layer wants the mask as well as the hint
        sizes = (case.queries, case.keys)
        mask = torch.ones(sizes, dtype=torch.bool, device=module.out_proj.weight.device).triu(1)
    yield from _three(module, case, mask)


def _three(layer: nn.Module, case: Case, mask: Tensor | None) -> Iterator[Peer]:
    """A layer with the call of PyTorch's, asked for the three kinds of weights."""
    kinds: tuple[Asked, ...] = ("none", "mean", "all")
    for asked in kinds:

        def call(query: Tensor, x: Tensor, asked: str = asked) -> Answer:
            how = {"need_weights": asked != "none", "average_attn_weights": asked == "mean"}
            return layer(query, x, x, attn_mask=mask, is_causal=case.causal, **how)

        yield Peer("", asked, call, layer)


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
        copy_weights(linears, projections(module))

        def call(
            query: Tensor, x: Tensor, attention: nn.Module = attention, dense: nn.Module = dense
        ) -> Answer:
            if case.is_self:
                heads, weights = attention(x)
            else:
                heads, weights = attention(query, encoder_hidden_states=x)
            return dense(heads), weights

        yield Peer(way, asked, call, nn.ModuleList([attention, dense]))


def _x_transformers(case: Case, module: nn.MultiheadAttention) -> Iterator[Peer]:
    """The ``Attention`` of x-transformers, which adds no biases."""
    with warnings.catch_warnings():  # of what it builds on
        warnings.simplefilter("ignore", DeprecationWarning)
        from x_transformers import Attention

    ways: dict[str, Asked] = {"flash": "none", "eager": "all"}
    for way, asked in ways.items():
        layer = Attention(
            case.embed_dim,
            dim_head=case.embed_dim // case.num_heads,
            heads=case.num_heads,
            causal=case.causal,
            flash=way == "flash",
        ).to(module.out_proj.weight)
        linears = (layer.to_q, layer.to_k, layer.to_v, layer.to_out)
        copy_weights(linears, projections(module))

        def call(query: Tensor, x: Tensor, layer: nn.Module = layer, asked: str = asked) -> Answer:
            context = None if case.is_self else x
            if asked == "none":
                return layer(query, context=context), None
            output, more = layer(query, context=context, return_intermediates=True)
            return output, more.post_softmax_attn

        yield Peer(way, asked, call, layer, biased=False)


def _llms_from_scratch(case: Case, module: nn.MultiheadAttention) -> Iterator[Peer]:
    """The book's class, the nearest to ours, and its fused bonus, the fastest; both causal."""
    from llms_from_scratch import ch03

    if not case.causal:
        raise NotImplementedError("are causal, and so compared only where ours is causal as well")

    D, T, H = case.embed_dim, case.keys, case.num_heads
    like = module.out_proj.weight
    nearest = ch03.MultiHeadAttention(D, D, T, 0.0, H, qkv_bias=True).to(like)
    linears = (nearest.W_query, nearest.W_key, nearest.W_value, nearest.out_proj)
    copy_weights(linears, projections(module))
    fastest = ch03.PyTorchMultiHeadAttention(D, D, H, qkv_bias=True).to(like)
    packed = (module.in_proj_weight, module.in_proj_bias)
    copy_weights((fastest.qkv, fastest.proj), (packed, projections(module)[-1]))
    for way, layer in {"book": nearest, "fused": fastest}.items():

        def call(query: Tensor, x: Tensor, layer: nn.Module = layer) -> Answer:
            return layer(x), None

        yield Peer(way, "none", call, layer)


LIBRARIES = (
    Library("ours", "torch", _ours, kind="ours"),
    Library("torch.nn", "torch", torch_peers),
    Library("BERT", "transformers", _bert),
    Library("x-transformers", "x-transformers", _x_transformers),
    Library("llms-from-scratch", "llms-from-scratch", _llms_from_scratch),
)
