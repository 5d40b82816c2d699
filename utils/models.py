"""What stands around attention in a model, and how to see what its heads look at.

Shapes: B sequences, T tokens, S keys, H heads, D = ``embed_dim``, C classes.

Sources: Vaswani and others 2017, "Attention Is All You Need", section 3.1; Xiong and others 2020,
"On Layer Normalization in the Transformer Architecture".
"""

from __future__ import annotations

import inspect
from collections import OrderedDict
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from typing import Any

from torch import Tensor, nn

from utils.attention import MultiHeadAttention


class EncoderBlock(nn.Module):
    """Attention and a feed-forward network, each added to what came in and normalised.

    Parameters
    ----------
    embed_dim, num_heads : int, D and H, as for ``MultiHeadAttention``
    hidden_dim : int, the width inside the feed-forward network, which works on each token alone
    dropout : float, of the attention weights and of what either part adds. (PyTorch's block drops
        inside the feed-forward network as well, the paper and BERT do not)
    norm_first : bool, where the layer norms stand. False: after each sum, norm(x + part(x)). True:
        before each part, x + part(norm(x)), so that the sum itself is never normalised
    eps : float, added to the variance in the layer norms
    activation : class of the module between the two linear maps
    make_attention : class, called as ``MultiHeadAttention(embed_dim, num_heads, dropout)``
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
        super().__init__()
        self.norm_first = norm_first
        self.mha = make_attention(embed_dim, num_heads, dropout)
        self.mha_norm = nn.LayerNorm(embed_dim, eps)
        self.ff = nn.Sequential(
            OrderedDict(
                up_proj=nn.Linear(embed_dim, hidden_dim),
                activation=activation(),
                down_proj=nn.Linear(hidden_dim, embed_dim),
            )
        )
        self.ff_norm = nn.LayerNorm(embed_dim, eps)
        self.dropout = nn.Dropout(dropout)

    def forward(
        self,
        x: Tensor,
        key_padding_mask: Tensor | None = None,
        need_weights: bool = False,
        attn_mask: Tensor | None = None,
    ) -> tuple[Tensor, Tensor | None]:
        """Give the new tokens, (B, T, D), and each head's weights, (B, H, T, T), or None.

        The masks are those of ``MultiHeadAttention``.
        """
        y = self._before(x, self.mha_norm)
        y, weights = self.mha(y, y, y, key_padding_mask, need_weights, attn_mask, False)
        x = self._after(x, y, self.mha_norm)
        return self._feed_forward(x), weights

    def _before(self, x: Tensor, norm: nn.Module) -> Tensor:
        """Give what a part reads."""
        return norm(x) if self.norm_first else x

    def _after(self, x: Tensor, added: Tensor, norm: nn.Module) -> Tensor:
        """Give the residual: what came in, and what a part adds."""
        x = x + self.dropout(added)
        return x if self.norm_first else norm(x)

    def _feed_forward(self, x: Tensor) -> Tensor:
        return self._after(x, self.ff(self._before(x, self.ff_norm)), self.ff_norm)


class TextClassifier(nn.Module):
    """Embed the tokens, let the first one attend to all, and classify what it gathers.

    The first token is the tokenizer's [CLS]. Only its row of the attention is used, so only that
    row is computed.

    Parameters
    ----------
    vocab_size : int, number of tokens
    embed_dim : int, width D of the embedding
    num_classes : int, C
    mha : nn.Module, called as ``torch.nn.MultiheadAttention`` with ``batch_first=True`` is
    hidden_dim : int, width of the hidden layer
    padding_idx : int or None, the id of the padding token, which is then masked; None lets the
        first token attend to padding as to any other token

    Raises
    ------
    ValueError
        if the layer has another width or is not batch first
    """

    def __init__(
        self,
        vocab_size: int,
        embed_dim: int,
        num_classes: int,
        mha: nn.Module,
        hidden_dim: int = 128,
        padding_idx: int | None = None,
    ) -> None:
        super().__init__()
        if getattr(mha, "embed_dim", embed_dim) != embed_dim:
            raise ValueError(
                f"the attention layer is {mha.embed_dim} wide and the embedding {embed_dim}; "
                "both need the same embed_dim."
            )
        if not getattr(mha, "batch_first", True):
            raise ValueError("the attention layer must be built with batch_first=True.")
        self.vocab_size, self.padding_idx = vocab_size, padding_idx
        self.embedding = nn.Embedding(vocab_size, embed_dim)
        self.mha = mha
        self.classifier = nn.Sequential(
            nn.Linear(embed_dim, hidden_dim), nn.ReLU(), nn.Linear(hidden_dim, num_classes)
        )

    def forward(self, input_ids: Tensor) -> Tensor:
        """Give the logits of each class.

        Parameters
        ----------
        input_ids : Tensor of shape (B, T), int64

        Returns
        -------
        Tensor of shape (B, C)

        Raises
        ------
        ValueError
            if the ids are not two-dimensional
        """
        if input_ids.dim() != 2:
            raise ValueError(f"input_ids has shape {tuple(input_ids.shape)}; expected (B, T).")
        x = self.embedding(input_ids)  # (B, T, D)
        padding = None if self.padding_idx is None else input_ids == self.padding_idx  # (B, T)
        query = x[:, :1]  # (B, 1, D), whose gradient autograd writes into zeros of x's size
        if self.vocab_size < input_ids.numel():
            query = self.embedding(input_ids[:, :1])  # the same, with zeros of the table's size
        first, _ = self.mha(query, x, x, key_padding_mask=padding, need_weights=False)
        return self.classifier(first.squeeze(1))  # (B, 1, D) -> (B, D) -> (B, C)


@contextmanager
def recorded_weights(model: nn.Module) -> Iterator[list[list[Tensor]]]:
    """Record the attention weights of every call, also where ``need_weights`` is False.

    What the layers return to their callers stays as it was, and after the ``with`` block, or an
    error in it, so does the model. (``decode`` is no call, and is not recorded.) In training the
    weights are those after dropout.

    Yields
    ------
    one list for each layer, to which each of its calls adds a Tensor (B, H, T, S), detached
    """
    layers = [module for module in model.modules() if isinstance(module, MultiHeadAttention)]
    records: list[list[Tensor]] = [[] for _ in layers]
    with ExitStack() as hooks:
        for layer, record in zip(layers, records, strict=True):
            recorder = _Recorder(record)
            before = layer.register_forward_pre_hook(recorder.ask, with_kwargs=True)
            # First of all hooks: what it was given is what the hooks before it asked for.
            after = layer.register_forward_hook(recorder.keep, prepend=True)
            hooks.callback(before.remove)
            hooks.callback(after.remove)
        yield records


class _Recorder:
    """Ask a layer for the weights of each head, and give its caller what it had asked for."""

    def __init__(self, record: list[Tensor]) -> None:
        self.record = record
        self.asked = (True, True)  # need_weights and average_attn_weights of the call

    def ask(
        self, layer: nn.Module, args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> tuple[tuple[Any, ...], dict[str, Any]]:
        call = inspect.signature(layer.forward).bind(*args, **kwargs)
        call.apply_defaults()
        self.asked = (call.arguments["need_weights"], call.arguments["average_attn_weights"])
        call.arguments |= {"need_weights": True, "average_attn_weights": False}
        return call.args, call.kwargs

    def keep(
        self, layer: nn.Module, args: tuple[Any, ...], result: tuple[Tensor, Tensor]
    ) -> tuple[Tensor, Tensor | None]:
        output, weights = result  # of shape (B, H, T, S), or (H, T, S) without a batch
        self.record.append(weights.detach().view(-1, *weights.shape[-3:]))
        need_weights, average = self.asked
        if not need_weights:
            return output, None
        return output, weights.mean(dim=-3) if average else weights
