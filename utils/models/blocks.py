"""The blocks of a Transformer: attention and a feed-forward part, each with a residual and a norm.

A block adds what attention gathers, and then what a small network makes of each token, to what came
in. An ``EncoderBlock`` attends to its own sequence; a ``DecoderBlock`` to its own up to each token,
then to the encoder's.

Shapes: B sequences, T tokens, S tokens of the encoder, H heads, D = ``embed_dim``.

Sources: Vaswani and others 2017, "Attention Is All You Need", section 3.1; Xiong and others 2020,
"On Layer Normalization in the Transformer Architecture".
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable

from torch import Tensor, nn

from utils.attention import KeyValueCache, MultiHeadAttention


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

        The masks are those of ``AttentionLayer``.
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
        key_padding_mask, attn_mask : masks of the target, as ``AttentionLayer`` has
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
        return self.cross_mha.project_memory(memory)

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
        y = self.cross_mha.attend_memory(self._before(x, self.cross_norm), memory, allowed)
        x = self._after(x, y, self.cross_norm)
        return self._feed_forward(x)
