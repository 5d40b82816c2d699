"""What a layer must do at least, what a computation did, and what the machine can do at most.

Multiply-adds come from a formula; operations, bytes moved and calls are counted, without a clock;
the memory kept for the backward pass comes from autograd itself; and the machine's peak from a
measurement. Together they say how far a measured time is from the floor.

Shapes: B sequences, T queries, S keys, H heads, D = ``embed_dim``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple
from weakref import WeakSet

import torch
from torch import Tensor, nn
from torch._ops import OpOverload
from torch.autograd.graph import Node, saved_tensors_hooks
from torch.utils import flop_counter
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves

from utils.fast import products_of_orders
from utils.timing import seconds

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


class _Kept:
    """What autograd holds in the place of a saved tensor; it lives as long as that is kept."""

    def __init__(self, tensor: Tensor) -> None:
        self.tensor = tensor.detach()  # with its history it would keep itself alive


def kept_bytes(function: Callable[[], Any]) -> int:
    """Count the bytes that autograd keeps for the backward pass of what a function returns.

    Each piece of memory counts once, however often it is saved, and whole, also where only a view
    of it is saved. Parameters do not count: they are there in any case.

    Parameters
    ----------
    function : called once, without arguments. It returns a tensor, or tensors in tuples, lists or
        dicts; what led to none of them is not kept, and not counted
    """
    kept: WeakSet[_Kept] = WeakSet()

    def pack(tensor: Tensor) -> _Kept:
        held = _Kept(tensor)
        kept.add(held)
        return held

    with saved_tensors_hooks(pack, lambda held: held.tensor):
        output = function()  # as long as it is here, so is what it needs to go back
    storages = [held.tensor.untyped_storage() for held in kept]
    sizes = {storage.data_ptr(): storage.nbytes() for storage in storages}
    for parameter in _parameters(output):
        sizes.pop(parameter.untyped_storage().data_ptr(), None)
    return sum(sizes.values())


def _parameters(output: Any) -> Iterator[nn.Parameter]:
    """Give the parameters on which the tensors depend, by following the graph back."""
    tensors = [leaf for leaf in tree_leaves(output) if isinstance(leaf, Tensor)]
    waiting: list[Node | None] = [tensor.grad_fn for tensor in tensors]
    seen: set[Node] = set()
    while waiting:
        node = waiting.pop()
        if node is None or node in seen:
            continue
        seen.add(node)
        leaf = getattr(node, "variable", None)  # where a gradient is gathered
        if isinstance(leaf, nn.Parameter):
            yield leaf
        waiting += [before for before, _ in node.next_functions]


@dataclass(frozen=True)
class Peak:
    """The best of several tries at a product of large matrices, and at copying a large array."""

    flops: float  # operations a second; a multiply-add is two
    bytes: float  # read or written a second

    @property
    def ridge(self) -> float:
        """Operations for each byte from which on the products, not the memory, are the limit."""
        return self.flops / self.bytes


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


WRITE_ONLY = ("copy_", "fill_", "zero_")  # these do not read what they overwrite


class Counts(NamedTuple):
    """What a computation did, forward and backward, as far as the function called both."""

    operations: int  # of products; a multiply-add is two
    moved: int  # bytes that its calls read and wrote
    calls: int  # of operators that moved something


def count(function: Callable[[], object]) -> Counts:
    """Call a function once, and count what PyTorch's operators do in it.

    It is a count from outside, at each call that autograd and Python leave to the machine: the
    sizes of the tensors that the call takes and gives. What stays in the processor's caches counts
    as if it went to memory, and what a fused or compiled call does inside is not seen. A call that
    gives only another view of the same memory, or memory without contents, counts as nothing.

    Parameters
    ----------
    function : called once, without arguments. Call it before if its first call does more: an
        optimiser makes its state then
    """
    counter = flop_counter.FlopCounterMode(display=False, custom_mapping=_FUSED)
    with _Recorder() as recorder, counter:
        function()
    return Counts(counter.get_total_flops(), recorder.moved, recorder.calls)


class _Recorder(TorchDispatchMode):
    """See each call below autograd, and add up the bytes that it reads and writes."""

    def __init__(self) -> None:
        super().__init__()
        self.moved = self.calls = 0

    def __torch_dispatch__(
        self, function: OpOverload, types: Any, args: Any = (), kwargs: Any = None
    ) -> Any:
        kwargs = kwargs or {}
        result = function(*args, **kwargs)
        schema, name = function._schema, function.overloadpacket.__name__
        taken, written = _taken(schema, args, kwargs), _tensors(result)
        if not schema.is_mutable:
            places = {t.untyped_storage().data_ptr() for t, _ in taken}
            if "empty" in name or all(t.untyped_storage().data_ptr() in places for t in written):
                return result  # memory without contents; or a view, or no tensor at all
        read = [t for t, argument in taken if not _is_overwritten(argument, name)]
        if schema.is_mutable and not written:  # such as a fused optimiser: it gives nothing back
            written = [t for t, argument in taken if _is_written(argument)]
        self.calls += 1
        self.moved += sum(t.nbytes for t in read + written)
        return result


def _taken(schema: Any, args: Any, kwargs: Any) -> list[tuple[Tensor, Any]]:
    """Give the tensors that a call takes, each with its argument in the operator's schema."""
    by_name = {argument.name: argument for argument in schema.arguments}
    given = list(zip(schema.arguments, args, strict=False))
    given += [(by_name[name], value) for name, value in kwargs.items()]
    return [(t, argument) for argument, value in given for t in _tensors(value)]


def _is_written(argument: Any) -> bool:
    return argument.alias_info is not None and argument.alias_info.is_write


def _is_overwritten(argument: Any, name: str) -> bool:
    return _is_written(argument) and (argument.is_out or name in WRITE_ONLY)


def _tensors(tree: Any) -> list[Tensor]:
    return [leaf for leaf in tree_leaves(tree) if isinstance(leaf, Tensor)]


def _fused_forward(q: Any, k: Any, v: Any, *_: Any, **__: Any) -> int:
    return flop_counter.sdpa_flop_count(q, k, v)


def _fused_backward(grad: Any, q: Any, k: Any, v: Any, *_: Any, **__: Any) -> int:
    return flop_counter.sdpa_backward_flop_count(grad, q, k, v)


# PyTorch's counter knows the fused kernels of GPUs; this is the one of CPUs.
_FUSED = {
    torch.ops.aten._scaled_dot_product_flash_attention_for_cpu: _fused_forward,
    torch.ops.aten._scaled_dot_product_flash_attention_for_cpu_backward: _fused_backward,
}
