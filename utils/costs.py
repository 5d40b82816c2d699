"""What a computation did: operations, bytes moved and calls, counted without a clock."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import torch
from torch import Tensor
from torch._ops import OpOverload
from torch.utils import flop_counter
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves

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
