"""What every multi-head attention layer of the course shares: its call, its checks, its weights.

A layer derives from ``AttentionLayer`` and writes one method, ``attend``. It is then built and
called as ``torch.nn.MultiheadAttention(..., batch_first=True)`` is, with the same meaning of every
argument, and its weights convert from and to that class exactly.

Shapes: B sequences, T queries, S keys, H heads, D = ``embed_dim``. D = H * D_head, unless a layer
is given a ``head_dim`` of its own; H * D_head is then the width of the joined heads.
"""

from __future__ import annotations

from typing import Self, TypedDict

import torch
from torch import Tensor, nn

from utils.attention.masks import merge_layer_masks
from utils.attention.validate import check_options, check_sizes, no_embedding
from utils.attention.weights import from_torch, to_torch


class LayerOptions(TypedDict, total=False):
    """What every layer takes by name, and hands on to ``AttentionLayer``."""

    scale: float | None
    batch_first: bool
    add_bias_kv: bool
    add_zero_attn: bool
    device: torch.device | str | None
    dtype: torch.dtype | None


class AttentionLayer(nn.Module):
    """The constructor and the call of ``torch.nn.MultiheadAttention`` around a method ``attend``.

    Parameters
    ----------
    embed_dim : int, the model's width D
    num_heads : int, H, a divisor of ``embed_dim`` if there is no ``head_dim``
    dropout : float, the share of attention weights set to zero in training
    bias : bool, whether the four projections add a bias
    kdim, vdim : int or None, the width of the keys and of the values; None means ``embed_dim``
    head_dim : int or None, D_head, the width of a head; None means ``embed_dim / num_heads``, as
        in the paper. PyTorch's layer has no such choice
    scale : float or None, what the scores are multiplied with; None means 1 / sqrt(D_head), as in
        the paper. T5 has 1.0
    batch_first, add_bias_kv, add_zero_attn : bool, as PyTorch's layer has them; only True, False
        and False are there
    device, dtype : of the parameters, as in ``torch.nn.Linear``

    Raises
    ------
    TypeError
        if a size is not a whole number
    ValueError
        if the sizes, the dropout or the scale are impossible, or PyTorch's layer has an option that
        this one has not
    """

    batch_first = True
    # torch.nn.TransformerEncoderLayer asks these before it goes past its self_attn.
    in_proj_bias = None
    _qkv_same_embed_dim = False
    # What a child puts between its heads and ``out_proj``, in words, such as "a convolution".
    between: str | None = None

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
        batch_first: bool = True,
        add_bias_kv: bool = False,
        add_zero_attn: bool = False,
        device: torch.device | str | None = None,
        dtype: torch.dtype | None = None,
    ) -> None:
        super().__init__()
        kdim, vdim = (embed_dim if width is None else width for width in (kdim, vdim))
        check_sizes(embed_dim, num_heads, head_dim, kdim, vdim)
        check_options(dropout, scale, batch_first, add_bias_kv or add_zero_attn)
        self.embed_dim, self.num_heads = embed_dim, num_heads
        self.head_dim = embed_dim // num_heads if head_dim is None else head_dim
        self.scale = scale  # None: 1 / sqrt(D_head)
        self.dropout = dropout
        self.kdim, self.vdim = kdim, vdim
        self.out_proj = nn.Linear(num_heads * self.head_dim, embed_dim, bias, device, dtype)

    def attend(
        self,
        query: Tensor,
        key: Tensor,
        value: Tensor,
        mask: Tensor | None,
        need_weights: bool,
        is_causal: bool = False,
    ) -> tuple[Tensor, Tensor | None]:
        """Return the heads side by side, (B, T, H * D_head), and the weights, (B, H, T, S) or None.

        ``mask`` broadcasts to (B, H, T, S), in the convention of ``masks``. ``is_causal``
        says that there is none but the causal one, which need not be made then.
        """
        raise NotImplementedError

    def projections(self, name: str) -> list[nn.Linear]:
        """The linear maps that, one below the other, are the projection "q", "k" or "v"."""
        raise NotImplementedError

    def reset_parameters(self) -> None:
        """Draw every weight as Xavier (Glorot) uniform, and set every bias to zero.

        Source: Glorot and Bengio 2010, "Understanding the difficulty of training deep feedforward
        neural networks", section 4.2.1.
        """
        for parameter in self.parameters():
            if parameter.dim() > 1:
                nn.init.xavier_uniform_(parameter)
            else:
                nn.init.zeros_(parameter)

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
        """Attend from ``query`` to ``key`` and return a mixture of ``value`` for each query.

        Parameters
        ----------
        query : Tensor of shape (B, T, D), or (T, D) without a batch
        key : Tensor of shape (B, S, kdim)
        value : Tensor of shape (B, S, vdim)
        key_padding_mask : Tensor of shape (B, S), True = blocked, or floats to add, or None
        need_weights : bool, whether to return the attention weights
        attn_mask : Tensor of shape (T, S), (B * H, T, S), or one of four dimensions that broadcasts
            to (B, H, T, S); True = blocked, or floats to add
        average_attn_weights : bool, average the weights over the heads
        is_causal : bool, block the keys after each query, beside any other mask. (PyTorch's
            layer takes this for a hint, and wants the causal mask in ``attn_mask`` as well.)

        Returns
        -------
        output : Tensor of shape (B, T, D)
        weights : Tensor of shape (B, T, S), or (B, H, T, S) if not averaged, or None. In training
            they are the weights after dropout, as in PyTorch's layer. The row of a query that may
            attend to nothing is zero.

        Raises
        ------
        ValueError, TypeError
            for inputs or masks whose shapes or dtypes do not fit
        """
        self._check_inputs(query, key, value)
        has_batch = query.dim() == 3
        if not has_batch:
            one_tensor = key is value  # and remains one
            query, key = query.unsqueeze(0), key.unsqueeze(0)
            value = key if one_tensor else value.unsqueeze(0)
        mask = None
        if key_padding_mask is not None or attn_mask is not None:
            sizes = (query.shape[0], self.num_heads, query.shape[1], key.shape[1])
            masks = (key_padding_mask, attn_mask, is_causal)
            mask = merge_layer_masks(*masks, sizes, query, has_batch)
            is_causal = False  # the mask says it
        heads, weights = self.attend(query, key, value, mask, need_weights, is_causal)
        output = self.out_proj(heads)  # (B, T, D)
        if weights is not None and average_attn_weights:
            weights = weights.mean(dim=1)  # (B, H, T, S) -> (B, T, S)
        if not has_batch:
            output = output.squeeze(0)
            weights = None if weights is None else weights.squeeze(0)
        return output, weights

    def _check_inputs(self, query: Tensor, key: Tensor, value: Tensor) -> None:
        tensors, widths = (query, key, value), (self.embed_dim, self.kdim, self.vdim)
        for name, x in zip(("query", "key", "value"), tensors, strict=True):
            if not isinstance(x, Tensor) or not x.is_floating_point():
                raise no_embedding(name, x)
        if query.is_nested or key.is_nested or value.is_nested:
            raise TypeError(
                "a nested tensor cannot be attended to; pad it with `.to_padded_tensor(0.0)`, and "
                "pass a key_padding_mask."
            )
        if query.dim() not in (2, 3) or not query.dim() == key.dim() == value.dim():
            raise ValueError(
                f"query, key and value have {query.dim()}, {key.dim()} and {value.dim()} "
                "dimensions; expected 3 each, (batch, length, width), or 2 each without a batch."
            )
        for name, x, width in zip(("query", "key", "value"), tensors, widths, strict=True):
            if x.shape[-1] != width:
                shape = tuple(x.shape)
                raise ValueError(f"{name} has shape {shape}; expected (batch, length, {width}).")
        if query.dim() == 3 and not query.shape[0] == key.shape[0] == value.shape[0]:
            raise ValueError(
                f"query, key and value hold {query.shape[0]}, {key.shape[0]} and {value.shape[0]} "
                "sequences; they must hold the same number (the layer is batch first)."
            )
        if key.shape[-2] != value.shape[-2]:
            raise ValueError(
                f"there are {key.shape[-2]} keys and {value.shape[-2]} values in each sequence; "
                "every key needs one value."
            )

    def _linear(self, in_features: int, out_features: int) -> nn.Linear:
        """Make a linear map with a bias where ``out_proj`` has one, on its device, in its dtype."""
        weight, bias = self.out_proj.weight, self.out_proj.bias is not None
        return nn.Linear(in_features, out_features, bias, weight.device, weight.dtype)

    def unlike_torch(self) -> str | None:
        """Say what this layer does that PyTorch's cannot, or None."""
        if self.scale not in (None, self.head_dim**-0.5):
            return f"its scale is {self.scale}, and not 1 / sqrt(head_dim)"
        if self.num_heads * self.head_dim != self.embed_dim:
            return f"its {self.num_heads} heads are {self.head_dim} wide, not embed_dim / num_heads"
        return None

    def select_heads(self, heads: list[int]) -> None:
        """Keep these heads alone, in this order, or raise ValueError where they cannot be cut."""
        raise ValueError("the heads of this layer cannot be cut out; MultiHeadAttention's can.")

    @classmethod
    def from_torch(cls, module: nn.MultiheadAttention) -> Self:
        """Build this layer with the weights, dtype, device and mode of PyTorch's, copied exactly.

        Raises
        ------
        ValueError
            for ``add_bias_kv`` or ``add_zero_attn``, or if PyTorch's layer cannot be this one
        """
        return from_torch(cls, module)

    def to_torch(self) -> nn.MultiheadAttention:
        """Build PyTorch's layer (batch first) with this layer's weights, dtype, device and mode.

        Raises
        ------
        ValueError
            if PyTorch's layer cannot be what this one is
        """
        return to_torch(self)
