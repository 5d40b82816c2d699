"""What every multi-head attention layer of the course shares: its call, its checks, its weights.

A layer derives from ``AttentionLayer`` and writes one method, ``attend``. It is then built and
called as ``torch.nn.MultiheadAttention(..., batch_first=True)`` is, with the same meaning of every
argument, and its weights convert from and to that class exactly.

Shapes: B sequences, T queries, S keys, H heads, D = ``embed_dim``. D = H * D_head, unless a layer
is given a ``head_dim`` of its own; H * D_head is then the width of the joined heads.
"""

from __future__ import annotations

import math
from numbers import Integral
from typing import Any, Self, TypedDict

import torch
from torch import Tensor, nn

from utils.masks import merge_layer_masks


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
        if ``embed_dim`` is not a multiple of ``num_heads`` and no ``head_dim`` is given, a size or
        the dropout is impossible, or an option of PyTorch's is asked for that this layer has not
    """

    batch_first = True
    # torch.nn.TransformerEncoderLayer asks these before it goes past its self_attn.
    in_proj_bias = None
    _qkv_same_embed_dim = False

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
        sizes = {"embed_dim": embed_dim, "num_heads": num_heads, "kdim": kdim, "vdim": vdim}
        for name, size in (sizes | {"head_dim": 1 if head_dim is None else head_dim}).items():
            check_whole(name, size)
        if not batch_first:
            raise ValueError(
                "this layer is batch first: give it (batch, length, width), for which "
                "x.transpose(0, 1) turns what is (length, batch, width)."
            )
        if add_bias_kv or add_zero_attn:
            raise ValueError(_NO_BIAS_KV)
        if embed_dim < 1 or num_heads < 1 or (head_dim is None and embed_dim % num_heads):
            raise ValueError(
                f"embed_dim ({embed_dim}) must be a positive multiple of num_heads ({num_heads}): "
                "each head gets embed_dim / num_heads dimensions."
            )
        if head_dim is not None and head_dim < 1:
            raise ValueError(f"head_dim ({head_dim}) must be at least 1.")
        if scale is not None and not 0.0 < scale < math.inf:
            raise ValueError(f"scale ({scale}) must be a positive number, or None.")
        if not 0.0 <= dropout <= 1.0:
            raise ValueError(f"dropout is a probability between 0 and 1; got {dropout}.")
        if kdim < 1 or vdim < 1:
            raise ValueError(f"kdim ({kdim}) and vdim ({vdim}) must be at least 1.")
        self.embed_dim = embed_dim
        self.num_heads = num_heads
        self.head_dim = embed_dim // num_heads if head_dim is None else head_dim
        self.scale = scale  # None: 1 / sqrt(D_head)
        self.dropout = dropout
        self.kdim, self.vdim = kdim, vdim
        inner_dim = num_heads * self.head_dim
        self.out_proj = nn.Linear(inner_dim, embed_dim, bias, device, dtype)

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

        ``mask`` broadcasts to (B, H, T, S), in the convention of ``utils.masks``. ``is_causal``
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
        has_batch = query.dim() == 3
        if not has_batch:
            one_tensor = key is value  # and remains one
            query, key = query.unsqueeze(0), key.unsqueeze(0)
            value = key if one_tensor else value.unsqueeze(0)
        self._check_inputs(query, key, value)
        mask = None
        if key_padding_mask is not None or attn_mask is not None:
            sizes = (query.shape[0], self.num_heads, query.shape[1], key.shape[1])
            mask = merge_layer_masks(
                key_padding_mask, attn_mask, is_causal, sizes, query, has_batch
            )
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
        widths = (self.embed_dim, self.kdim, self.vdim)
        tensors = {"query": query, "key": key, "value": value}
        for (name, x), width in zip(tensors.items(), widths, strict=True):
            if x.shape[-1] != width:
                raise ValueError(
                    f"{name} has shape {tuple(x.shape)}; expected (batch, length, {width})."
                )
        if not query.shape[0] == key.shape[0] == value.shape[0]:
            sequences = f"{query.shape[0]}, {key.shape[0]} and {value.shape[0]}"
            raise ValueError(
                f"query, key and value hold {sequences} sequences; "
                "they must hold the same number (the layer is batch first)."
            )
        if key.shape[1] != value.shape[1]:
            raise ValueError(
                f"there are {key.shape[1]} keys and {value.shape[1]} values in each sequence; "
                "every key needs one value."
            )

    def _linear(self, in_features: int, out_features: int) -> nn.Linear:
        """Make a linear map with a bias where ``out_proj`` has one, on its device, in its dtype."""
        weight, bias = self.out_proj.weight, self.out_proj.bias is not None
        return nn.Linear(in_features, out_features, bias, weight.device, weight.dtype)

    def check_weights(self) -> None:
        """Refuse a layer whose weights do not say all that it does.

        Raises
        ------
        ValueError
            if a projection is no plain ``torch.nn.Linear``, or only some of them have a bias
        """
        parts = [*(part for name in "qkv" for part in self.projections(name)), self.out_proj]
        if not all(map(is_plain_linear, parts)):
            raise ValueError(
                "a projection is no plain torch.nn.Linear: merge or remove adapters, hooks, "
                "pruning and parametrisations before the weights are copied."
            )
        if len({part.bias is None for part in parts}) > 1:
            raise ValueError("only some of the projections have a bias: give all one, or none.")

    def _check_convertible(self) -> None:
        self.check_weights()
        if self.scale not in (None, self.head_dim**-0.5):
            raise ValueError(
                f"this layer's scale is {self.scale}; PyTorch's layer has no other than "
                "1 / sqrt(head_dim)."
            )
        if self.num_heads * self.head_dim != self.embed_dim:
            raise ValueError(
                f"this layer's {self.num_heads} heads are {self.head_dim} wide; heads of PyTorch's "
                "layer are embed_dim / num_heads wide, so the weights have no place there."
            )

    @classmethod
    def from_torch(cls, module: nn.MultiheadAttention) -> Self:
        """Build this layer with the weights, dtype, device and mode of PyTorch's, copied exactly.

        Raises
        ------
        ValueError
            for a module with ``add_bias_kv`` or ``add_zero_attn``, which are not in the paper, or
            if this layer is of a kind that PyTorch's cannot be
        """
        if module.bias_k is not None or module.add_zero_attn:
            raise ValueError(_NO_BIAS_KV)
        bias = module.in_proj_bias is not None
        size = (module.embed_dim, module.num_heads)
        layer = cls(*size, module.dropout, bias, module.kdim, module.vdim)
        layer._check_convertible()
        layer.to(module.out_proj.weight).train(module.training)
        with torch.no_grad():
            for name, weight, packed_bias in _torch_projections(module):
                parts = layer.projections(name)
                for part, rows in zip(parts, weight.chunk(len(parts)), strict=True):
                    part.weight.copy_(rows)
                if packed_bias is not None:
                    for part, rows in zip(parts, packed_bias.chunk(len(parts)), strict=True):
                        part.bias.copy_(rows)
        layer.out_proj.load_state_dict(module.out_proj.state_dict())
        return layer

    def to_torch(self) -> nn.MultiheadAttention:
        """Build PyTorch's layer (batch first) with this layer's weights, dtype, device and mode.

        Raises
        ------
        ValueError
            if PyTorch's layer cannot be what this one is
        """
        self._check_convertible()
        weight, bias = self.out_proj.weight, self.out_proj.bias
        module = nn.MultiheadAttention(
            self.embed_dim,
            self.num_heads,
            self.dropout,
            bias=bias is not None,
            kdim=self.kdim,
            vdim=self.vdim,
            batch_first=True,
            device=weight.device,
            dtype=weight.dtype,
        ).train(self.training)
        with torch.no_grad():
            for name, packed, packed_bias in _torch_projections(module):
                parts = self.projections(name)
                packed.copy_(torch.cat([part.weight for part in parts]))
                if packed_bias is not None:
                    packed_bias.copy_(torch.cat([part.bias for part in parts]))
        module.out_proj.load_state_dict(self.out_proj.state_dict())
        return module


_NO_BIAS_KV = (
    "add_bias_kv and add_zero_attn have no counterpart in this layer: the paper has neither."
)


def check_whole(name: str, size: Any) -> None:
    """Refuse a size that is not a whole number."""
    if isinstance(size, bool):
        raise TypeError(
            f"{name} is {size}, and takes a whole number. (PyTorch's constructor has add_bias_kv "
            "and add_zero_attn before kdim and vdim: give by name what comes after bias.)"
        )
    if not isinstance(size, Integral):
        raise TypeError(f"{name} is {size!r}, and takes a whole number.")


def is_plain_linear(module: nn.Module) -> bool:
    """Say whether calling this module does what its weight and its bias say, and nothing else.

    A parametrisation changes the class of the module; ``torch.nn.utils.prune`` and its like, and
    libraries that move weights between devices, use hooks or put a ``forward`` into the instance;
    a quantised weight is a tensor of another class.
    """
    if type(module) is not nn.Linear or "forward" in vars(module):
        return False
    hooks = (
        module._forward_pre_hooks,
        module._forward_hooks,
        module._backward_pre_hooks,
        module._backward_hooks,
    )
    return type(module.weight) in (nn.Parameter, Tensor) and not any(hooks)


def _torch_projections(module: nn.MultiheadAttention) -> list[tuple[str, Tensor, Tensor | None]]:
    """Name, weight (D, width) and bias (D,) of the three projections of PyTorch's layer, as views.

    PyTorch packs the three weights below each other in one (3 * D, D) where all widths are D.
    """
    if module.in_proj_weight is not None:
        weights = module.in_proj_weight.chunk(3)
    else:
        weights = (module.q_proj_weight, module.k_proj_weight, module.v_proj_weight)
    bias = module.in_proj_bias
    biases = (None, None, None) if bias is None else bias.chunk(3)
    return list(zip("qkv", weights, biases, strict=True))
