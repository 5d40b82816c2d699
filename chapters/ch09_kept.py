"""What autograd keeps for the backward pass, counted without a clock."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any
from weakref import WeakSet

from torch import Tensor, nn
from torch.autograd.graph import Node, saved_tensors_hooks
from torch.utils._pytree import tree_leaves


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
