"""No time counts before it is shown that all layers are the same function."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from benchmarks.cases import Case
from benchmarks.peers import Peer, torch_peers
from benchmarks.shared_weights import without_biases

TOLERANCE = {torch.float32: 1e-4, torch.bfloat16: 5e-2}  # of the largest value


def differences_from_torch(
    case: Case,
    peers: dict[str, Peer],
    module: nn.MultiheadAttention,
    query: Tensor,
    x: Tensor,
    grad: Tensor | None,
) -> dict[str, float]:
    """Give the largest difference of outputs, weights and gradients from PyTorch's layer.

    A peer whose projections add no biases is compared with PyTorch's layer with biases of zero.

    Parameters
    ----------
    peers : the layers, by name, ready to be called with ``query`` and ``x``
    grad : Tensor of the output's shape, to be led back to both; None compares no gradients

    Raises
    ------
    ArithmeticError
        if one is further off than rounding explains, so that it is another function
    """
    expected: dict[tuple[str, bool], list[Tensor]] = {}
    modules = {True: module, False: without_biases(module)}

    def results(peer: Peer) -> list[Tensor]:
        output, weights = peer.call(query, x)
        found = [output, *([] if weights is None else [weights])]
        if grad is not None:
            inputs = [x] if query is x else [x, query]
            found += torch.autograd.grad(output, inputs, grad)
        return [tensor.detach() for tensor in found]

    differences = {}
    for key, peer in peers.items():
        kind = (peer.asked, peer.biased)
        if kind not in expected:
            candidates = torch_peers(case, modules[peer.biased])
            torch_peer = next(other for other in candidates if other.asked == peer.asked)
            torch_peer.train(grad is not None)
            expected[kind] = results(torch_peer)
        differences[key] = 0.0
        for got, wanted in zip(results(peer), expected[kind], strict=True):
            gap = (got - wanted).abs().max().item()
            if not gap <= TOLERANCE[x.dtype] * max(1.0, wanted.abs().max().item()):
                raise ArithmeticError(f"{key} at {case.name} is another function: off by {gap:.1e}")
            differences[key] = max(differences[key], gap)
    return differences
