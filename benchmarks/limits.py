"""What a layer must do at least, and what the machine can do at most.

Multiply-adds come from a formula, the machine's peak from a measurement. Together they say how far
a measured time is from the floor.

Shapes: B sequences, T queries, S keys, H heads, D = ``embed_dim``.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch

from benchmarks.timing import seconds
from utils.fast import products_of_orders

TRIES = 7


def multiply_adds(
    B: int,
    T: int,
    S: int,
    D: int,
    num_heads: int,
    *,
    absorbed: bool | None = None,
    causal: bool = False,
    head_dim: int | None = None,
    kdim: int | None = None,
    vdim: int | None = None,
    num_kv_heads: int | None = None,
) -> int:
    """Count the multiply-adds of a multi-head attention layer's products, forward.

    Products of matrices can be bracketed in two ways (chapter 10), which ``products_of_orders``
    counts. Both have, for each sequence, T * D * E for the queries and T * E * D for the last
    projection, with E = H * D_head.

    Parameters
    ----------
    B, T, S, D, num_heads : int, sequences, queries, keys, the model's width and H
    absorbed : bool or None, which of the two ways; None takes the one that needs less
    causal : bool, count only the pairs of a query with keys up to its own: the first query sees
        S - T + 1 keys, the last one all S
    head_dim, kdim, vdim, num_kv_heads : int or None, as in ``MultiHeadAttention``

    Returns
    -------
    int; an operation as machines count it is half of a multiply-add, and a backward pass has two
    products for each of the forward pass

    Raises
    ------
    ValueError
        for a causal count with more queries than keys, or if D is no multiple of ``num_heads`` and
        no ``head_dim`` is given
    """
    if causal and T > S:
        raise ValueError(f"a causal count needs a key for each query; got T = {T} and S = {S}.")
    if head_dim is None and D % num_heads:
        raise ValueError(f"D ({D}) is no multiple of num_heads ({num_heads}); give head_dim.")
    head_dim = D // num_heads if head_dim is None else head_dim
    num_kv_heads = num_heads if num_kv_heads is None else num_kv_heads
    width = (D if kdim is None else kdim) + (D if vdim is None else vdim)
    pairs = T * (S - T) + T * (T + 1) // 2 if causal else T * S
    orders = products_of_orders(T, S, pairs, width, num_heads, num_kv_heads, head_dim)
    between = min(orders) if absorbed is None else orders[absorbed]
    return B * (2 * T * D * num_heads * head_dim + between)


@dataclass(frozen=True)
class Peak:
    """The best of several tries at a product of large matrices, and at copying a large array."""

    flops: float  # operations a second; a multiply-add is two
    bytes: float  # read or written a second


def measure_peak(device: torch.device, dtype: torch.dtype, quick: bool = False) -> Peak:
    """Measure both peaks of a device, with the number of threads that is set.

    Parameters
    ----------
    device : where to measure
    dtype : of the matrices that are multiplied; what is copied is float32, 128 MiB on a processor.
        (One whose caches hold about as much copies faster than its memory.)
    quick : bool, take small matrices and arrays, to see that it runs; the numbers mean nothing
    """
    width = 256 if quick else 8192 if device.type == "cuda" else 2048
    numbers = 2**16 if quick else 2**28 if device.type == "cuda" else 2**25
    x = torch.randn(width, width, device=device, dtype=dtype)
    product = torch.empty_like(x)
    array = torch.ones(numbers, device=device)  # float32
    copy = torch.empty_like(array)

    def multiply() -> None:
        torch.mm(x, x, out=product)

    multiply()
    multiplying = min(seconds(multiply, device) for _ in range(TRIES))
    copying = min(seconds(lambda: copy.copy_(array), device) for _ in range(TRIES))
    return Peak(flops=2 * width**3 / multiplying, bytes=2 * 4 * numbers / copying)
