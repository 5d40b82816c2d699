"""Multi-head attention: the masks, the definition, the layer. Read it from top to bottom.

To PyTorch's layer, True in a mask means *blocked*; to its ``scaled_dot_product_attention`` it means
*allowed*. Here True means **allowed** everywhere except in the masks that a caller gives the layer:
``turn_masks`` inverts those once. A mask of floats is added to the scores: 0 allows, -inf blocks.

Shapes: B sequences, T queries, S keys, H heads, H_kv heads of keys and values, D = ``embed_dim``,
which is H * D_head unless the layer is given a ``head_dim``.

Source: Vaswani and others 2017, "Attention Is All You Need", sections 3.2.1 to 3.2.3.
"""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from utils import refusals, torch_weights
from utils.cache import KeyValueCache
from utils.refusals import FLOATS, MASK_DTYPES

# Masks: which query may attend to which key.


def causal_mask(T: int, S: int, device: torch.device | None = None, start: int = 0) -> Tensor:
    """Let query t, at position ``start`` + t, attend to keys 0 … start + t: (T, S) bool."""
    return torch.ones(T, S, dtype=torch.bool, device=device).tril(start)


# The definition.


def masked_softmax(scores: Tensor, mask: Tensor | None) -> Tensor:
    """Softmax of scores (..., T, S) over the allowed keys; zeros in a row where none is allowed.

    ``mask`` broadcasts to the scores: bool (True = allowed), or floats to add, or None.
    """
    if mask is None:
        return scores.softmax(dim=-1)
    if getattr(mask, "dtype", None) not in MASK_DTYPES:
        raise refusals.no_mask("mask", mask, true_means="allowed")
    if mask.dtype == torch.bool:  # rows whose softmax would be 0 / 0 are seen in it: (..., T, 1)
        empty = ~mask.any(dim=-1, keepdim=True)
        scores = scores.masked_fill(~(mask | empty), -torch.inf)
    else:
        scores = scores + mask.to(scores.dtype)
        empty = (scores == -torch.inf).all(dim=-1, keepdim=True)
        scores = scores.masked_fill(empty, 0.0)
    return scores.softmax(dim=-1).masked_fill(empty, 0.0)


def scaled_dot_product_attention(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    attn_mask: Tensor | None = None,
    dropout_p: float = 0.0,
    is_causal: bool = False,
    scale: float | None = None,
) -> tuple[Tensor, Tensor]:
    """Compute softmax(Q K^T / sqrt(D_head)) V, and return the weights as well.

    Called as ``torch.nn.functional.scaled_dot_product_attention`` is. Query (..., T, D_head), key
    (..., S, D_head) and value (..., S, D_value) give the output (..., T, D_value), with zeros for a
    query that may attend to nothing, and the weights (..., T, S), after dropout. ``attn_mask``
    broadcasts to (..., T, S): bool, True = allowed, or floats to add. ``scale`` multiplies the
    scores; None means 1 / sqrt(D_head).

    Raises ValueError or TypeError for shapes, dtypes or a mask that do not fit, or NaN in the mask.
    """
    for x in (query, key, value):
        if getattr(x, "dtype", None) not in FLOATS or x.dim() < 2:
            raise refusals.no_products(query, key, value)
    fit = query.shape[-1] == key.shape[-1] and key.shape[-2] == value.shape[-2]
    one_dtype = query.dtype == key.dtype == value.dtype
    if not fit or not (one_dtype or torch.is_autocast_enabled(query.device.type)):
        raise refusals.no_products(query, key, value)
    scores = query @ key.mT * (query.shape[-1] ** -0.5 if scale is None else scale)  # (..., T, S)
    if attn_mask is not None:
        check_mask("attn_mask", attn_mask, scores.shape, true_means="allowed")
    if is_causal:
        causal = causal_mask(query.shape[-2], key.shape[-2], query.device)
        attn_mask = combine_masks(attn_mask, causal)
    weights = F.dropout(masked_softmax(scores, attn_mask), dropout_p)
    return weights @ value, weights


class MultiHeadAttention(nn.Module):
    """Multi-head attention, called as ``torch.nn.MultiheadAttention(..., batch_first=True)`` is.

    It always calls its ``q_proj``, ``k_proj``, ``v_proj`` and ``out_proj``, so hooks on them fire
    and a replacement is used. Raises TypeError or ValueError for impossible sizes and options.

    Parameters
    ----------
    head_dim : int, D_head; None means D / H
    scale : float, what the scores are multiplied by; None means 1 / sqrt(D_head)
    positions : module, called with queries, keys and mask (in ``decode`` also with the position of
        the first query, unless it is 0); returns the three as they are to be used
    num_kv_heads : int, H_kv, a divisor of H; None means H. Each head of keys and values serves
        H / H_kv heads of queries ("grouped-query attention", GQA; Ainslie and others 2023)
    """

    batch_first = True
    in_proj_bias, _qkv_same_embed_dim = None, False  # nn.TransformerEncoderLayer looks for them

    def __init__(
        self,
        embed_dim: int,
        num_heads: int,
        dropout: float = 0.0,
        bias: bool = True,
        kdim: int | None = None,
        vdim: int | None = None,
        *,
        head_dim: int | None = None,
        scale: float | None = None,
        positions: nn.Module | None = None,
        num_kv_heads: int | None = None,
        batch_first: bool = True,
        add_bias_kv: bool = False,
        add_zero_attn: bool = False,
        device: torch.device | str | None = None,
        dtype: torch.dtype | None = None,
    ) -> None:
        super().__init__()
        refusals.check_options(dropout, scale, batch_first, add_bias_kv or add_zero_attn)
        self.embed_dim, self.num_heads, self.dropout = embed_dim, num_heads, dropout
        self.scale, self.positions = scale, positions
        self.kdim, self.vdim = (embed_dim if width is None else width for width in (kdim, vdim))
        self.num_kv_heads = H_kv = num_heads if num_kv_heads is None else num_kv_heads
        refusals.check_sizes(embed_dim, num_heads, head_dim, self.kdim, self.vdim, H_kv)
        self.head_dim = embed_dim // num_heads if head_dim is None else head_dim
        # First, since ``linear`` makes the others like it.
        self.out_proj = nn.Linear(num_heads * self.head_dim, embed_dim, bias, device, dtype)
        self.add_projections()
        self.reset_parameters()

    def add_projections(self) -> None:
        """Make the linear maps of query, key and value, one each for all heads."""
        self.q_proj = self.linear(self.embed_dim, self.num_heads * self.head_dim)
        self.k_proj = self.linear(self.kdim, self.num_kv_heads * self.head_dim)
        self.v_proj = self.linear(self.vdim, self.num_kv_heads * self.head_dim)

    def linear(self, in_features: int, out_features: int) -> nn.Linear:
        """Make a linear map like ``out_proj``: with a bias or without, on its device, its dtype."""
        weight, bias = self.out_proj.weight, self.out_proj.bias is not None
        return nn.Linear(in_features, out_features, bias, weight.device, weight.dtype)

    def reset_parameters(self) -> None:
        """Draw the projections' weights as Xavier (Glorot) uniform, and set biases to zero."""
        for name, parameter in self.named_parameters():
            if not name.startswith("positions."):
                (nn.init.xavier_uniform_ if parameter.dim() > 1 else nn.init.zeros_)(parameter)

    def forward(
        self,
        query: Tensor,
        key: Tensor,
        value: Tensor,
        key_padding_mask: Tensor | None = None,
        need_weights: bool = True,
        attn_mask: Tensor | None = None,
        average_attn_weights: bool = True,
        is_causal: bool = False,
    ) -> tuple[Tensor, Tensor | None]:
        """Attend from ``query`` to ``key``, and return a mixture of ``value`` for each query.

        Query (B, T, D), key (B, S, kdim) and value (B, S, vdim), or all without B, give the output
        (B, T, D) and the weights after dropout: (B, T, S), (B, H, T, S) if not averaged, or None.
        ``key_padding_mask`` is (B, S), ``attn_mask`` (T, S), (B * H, T, S), or four dimensions that
        broadcast to (B, H, T, S): True = blocked, or floats to add. ``is_causal`` blocks the keys
        after each query, on top of any other mask. (To PyTorch's layer it is only a hint.)

        Raises ValueError or TypeError for inputs or masks whose shapes or dtypes do not fit.
        """
        for x, width in ((query, self.embed_dim), (key, self.kdim), (value, self.vdim)):
            is_input = getattr(x, "dtype", None) in FLOATS and not x.is_nested
            if not is_input or x.dim() not in (2, 3) or x.shape[-1] != width:
                raise refusals.no_input(self, query, key, value)
        has_batch, pair_up = query.dim() == 3, key.shape[:-1] == value.shape[:-1]
        if not pair_up or query.dim() != key.dim() or query.shape[:-2] != key.shape[:-2]:
            raise refusals.no_input(self, query, key, value)
        if not has_batch:
            one_tensor = key is value  # and remains one: `fast.py` then computes one gradient
            query, key = query.unsqueeze(0), key.unsqueeze(0)
            value = key if one_tensor else value.unsqueeze(0)
        mask = self.turn_masks(query, key, key_padding_mask, attn_mask, has_batch)
        heads, weights = self.attend(
            query, key, value, mask, need_weights=need_weights, is_causal=is_causal
        )
        output = self.out_proj(heads)  # (B, T, H * D_head) -> (B, T, D)
        if weights is not None and average_attn_weights:
            weights = weights.mean(dim=1)  # (B, H, T, S) -> (B, T, S)
        if not has_batch:
            output, weights = output.squeeze(0), None if weights is None else weights.squeeze(0)
        return output, weights

    def turn_masks(
        self, query: Tensor, key: Tensor, padding: Tensor | None, attn: Tensor | None, batched: bool
    ) -> Tensor | None:
        """Make one mask of the caller's two, True = allowed, that broadcasts to (B, H, T, S)."""
        (B, T), S, H = query.shape[:2], key.shape[1], self.num_heads
        allowed = None
        for name, mask in (("key_padding_mask", padding), ("attn_mask", attn)):
            if mask is None:
                continue
            shape = getattr(mask, "shape", None)
            if name == "key_padding_mask" and shape == ((B, S) if batched else (S,)):
                mask = mask.view(B, 1, 1, S)
            elif name == "attn_mask" and shape == (T, S):
                mask = mask.view(1, 1, T, S)
            elif name == "attn_mask" and shape == (B * H, T, S):
                mask = mask.view(B, H, T, S)
            elif not (name == "attn_mask" and shape is not None and len(shape) == 4):
                raise refusals.no_layer_mask(name, mask, (B, H, T, S), batched)
            check_mask(name, mask, (B, H, T, S), true_means="blocked")
            mask = ~mask if mask.dtype == torch.bool else mask.to(query.dtype)
            allowed = mask if allowed is None else combine_masks(allowed, mask)
        return allowed

    def attend(
        self,
        query: Tensor,
        key: Tensor,
        value: Tensor,
        mask: Tensor | None,
        *,
        need_weights: bool,
        is_causal: bool,
    ) -> tuple[Tensor, Tensor | None]:
        """Give the heads side by side, (B, T, H * D_head), and the weights, (B, H, T, S) or None.

        ``mask`` broadcasts to (B, H, T, S), True = allowed; ``is_causal`` applies as well. A
        subclass that goes another way (``naive``, ``fast``) overrides this one.
        """
        q = self.split_heads(self.q_proj(query))  # (B, T, D) -> (B, H, T, D_head)
        k = self.split_heads(self.k_proj(key))  # (B, S, kdim) -> (B, H_kv, S, D_head)
        v = self.split_heads(self.v_proj(value))  # (B, S, vdim) -> (B, H_kv, S, D_head)
        if self.positions is not None:
            q, k, mask = self.positions(q, k, mask)
        dropout_p = self.dropout if self.training else 0.0
        heads, weights = self.attend_heads(q, k, v, mask, dropout_p, is_causal, need_weights)
        return self.join_heads(heads), weights

    def split_heads(self, x: Tensor) -> Tensor:
        """(B, T, H * D_head) -> (B, H, T, D_head)."""
        return x.unflatten(-1, (-1, self.head_dim)).transpose(1, 2)

    def join_heads(self, heads: Tensor) -> Tensor:
        """(B, H, T, D_head) -> (B, T, H * D_head)."""
        return heads.transpose(1, 2).flatten(2)

    def attend_heads(
        self,
        q: Tensor,
        k: Tensor,
        v: Tensor,
        mask: Tensor | None = None,
        dropout_p: float = 0.0,
        is_causal: bool = False,
        need_weights: bool = False,
    ) -> tuple[Tensor, Tensor | None]:
        """From q (B, H, T, D_head), k and v (B, H_kv, S, D_head) to the heads (B, H, T, D_head).

        ``mask`` has four dimensions. The weights, (B, H, T, S), cost memory and time: without them
        the fused kernel runs, which gives zeros for a query without keys as well.
        """
        sharing = self.num_heads // self.num_kv_heads  # heads of queries to one of keys
        if need_weights:
            if sharing > 1:  # (B, H_kv, S, D_head) -> (B, H, S, D_head)
                k, v = k.repeat_interleave(sharing, dim=1), v.repeat_interleave(sharing, dim=1)
            return scaled_dot_product_attention(q, k, v, mask, dropout_p, is_causal, self.scale)
        if is_causal and mask is not None:  # the kernel takes one or the other
            mask = combine_masks(mask, causal_mask(q.shape[2], k.shape[2], q.device))
            is_causal = False
        one_query = sharing > 1 and q.shape[2] == 1 and not is_causal
        if one_query:  # heads that share a key become queries of one head, and no key is copied
            q = q.unflatten(1, (-1, sharing)).squeeze(3)  # (B, H_kv, H / H_kv, D_head)
            if mask is not None and mask.shape[1] > 1:
                mask = mask.unflatten(1, (-1, sharing)).squeeze(3)
        heads = F.scaled_dot_product_attention(
            q, k, v, mask, dropout_p, is_causal, scale=self.scale, enable_gqa=sharing > 1
        )
        return heads.flatten(1, 2).unsqueeze(2) if one_query else heads, None

    @torch.no_grad()
    def decode(self, x: Tensor, cache: KeyValueCache) -> Tensor:
        """Let new tokens, (B, T, D), attend to all tokens so far, whose keys the cache holds.

        Without dropout, what ``forward(x, x, x, is_causal=True)`` gives for all at once. Raises
        ValueError if ``x`` does not fit or the cache is full.
        """
        refusals.check_decoding(self, x)
        q, k, v = map(self.split_heads, (self.q_proj(x), self.k_proj(x), self.v_proj(x)))
        start, T, mask = cache.length, x.shape[1], None
        if start and T > 1:  # a single query, the last token, sees all keys
            mask = causal_mask(T, start + T, q.device, start)
        if self.positions is not None:
            q, k, mask = self.positions(q, k, mask, start) if start else self.positions(q, k, mask)
        k, v = cache.append(k, v)  # (B, H_kv, S, D_head), S = start + T
        heads, _ = self.attend_heads(q, k, v, mask, is_causal=start == 0)
        return self.out_proj(self.join_heads(heads))

    def projections(self, name: str) -> list[nn.Linear]:
        """For ``torch_weights``: the maps whose stacked rows are the projection "q", "k" or "v"."""
        return [getattr(self, f"{name}_proj")]

    # Weights from and to PyTorch's layer, copied exactly.
    from_torch = classmethod(torch_weights.from_torch)  # type: ignore[var-annotated]
    to_torch = torch_weights.to_torch


# Bookkeeping of masks. What does not fit is seen in this file, and told in ``refusals``.


def to_additive(mask: Tensor, dtype: torch.dtype) -> Tensor:
    """Write a mask as numbers to add: 0 allows, -inf blocks. Raises TypeError for integers."""
    if getattr(mask, "dtype", None) not in MASK_DTYPES:
        raise refusals.no_mask("mask", mask, true_means="allowed")
    if mask.dtype != torch.bool:
        return mask.to(dtype)
    return torch.zeros(mask.shape, dtype=dtype, device=mask.device).masked_fill(~mask, -torch.inf)


def combine_masks(first: Tensor | None, second: Tensor | None) -> Tensor | None:
    """Allow what both masks allow; None allows everything; with one float, the result is float."""
    for mask in (first, second):
        if mask is not None and getattr(mask, "dtype", None) not in MASK_DTYPES:
            raise refusals.no_mask("mask", mask, true_means="allowed")
    if first is None or second is None:
        return second if first is None else first
    if first.dtype == second.dtype == torch.bool:
        return first & second
    dtype = torch.promote_types(first.dtype, second.dtype)  # bool and float give float
    return to_additive(first, dtype) + to_additive(second, dtype)


def check_mask(name: str, mask: Tensor, shape: tuple[int, ...], true_means: str) -> None:
    """Raise unless ``mask`` is a mask that broadcasts to scores of this shape, (..., T, S)."""
    fits = getattr(mask, "dtype", None) in MASK_DTYPES and mask.dim() <= len(shape)
    for side, full in zip(reversed(mask.shape if fits else ()), reversed(shape), strict=False):
        fits = fits and side in (1, full)
    if not fits:
        raise refusals.no_mask(name, mask, true_means, shape)
    if mask.is_floating_point():
        refusals.check_numbers(name, mask)
