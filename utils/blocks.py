"""What stands around attention in a model: a small network, residuals and norms.

Shapes: B sequences, T tokens, H heads, D = ``embed_dim``.

Sources: Vaswani and others 2017, "Attention Is All You Need", section 3.1; Xiong and others 2020,
"On Layer Normalization in the Transformer Architecture".
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable

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
