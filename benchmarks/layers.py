"""One layer, forward and backward, as several libraries write it, in turns: the benchmark."""

from __future__ import annotations

import copy
from collections.abc import Callable, Sequence
from typing import Any

import pandas as pd
import torch
from torch import Tensor, nn
from tqdm import tqdm

from benchmarks.cases import CASES, QUICK_CASES, Case, Peer, reference
from benchmarks.floors import floors
from benchmarks.peers import build_peers, torch_peers
from benchmarks.timing import interleave, spread

PASSES = {"forward": False, "both": True}  # both: forward and backward
TOLERANCE = {torch.float32: 1e-4, torch.bfloat16: 5e-2}  # of the largest value
BUDGET = 12.0  # seconds for a case and a pass


def measure(device: torch.device, quick: bool) -> tuple[dict[str, Any], dict[str, pd.DataFrame]]:
    """Give settings and tables, for the file: of all cases, in bfloat16 on a GPU."""
    dtype = torch.bfloat16 if device.type == "cuda" else torch.float32
    cases, budget = (QUICK_CASES, 0.0) if quick else (CASES, BUDGET)
    rows, notes = compare_layers(cases, device, dtype, budget)
    settings = {"dtype": str(dtype).removeprefix("torch."), "budget": budget, "notes": notes}
    return settings, {"layers": rows}


def compare_layers(
    cases: Sequence[Case], device: torch.device, dtype: torch.dtype, budget: float
) -> tuple[pd.DataFrame, list[str]]:
    """Time every peer at every case, after checking that it gives what the others give.

    With the backward pass, causal layers are timed only where no weights are asked for.

    Returns
    -------
    rows : DataFrame with a row for each case, pass and peer: milliseconds and the ratios to the
        fastest floor and to the fastest peer that was asked for the same, each with quartiles; and
        the largest difference from PyTorch's layer
    notes : list of str, which peers are missing, and why

    Raises
    ------
    ArithmeticError
        if a peer's output or gradient is not that of PyTorch's layer
    """
    rows: list[dict[str, Any]] = []
    notes: list[str] = []
    jobs = [(case, name) for case in cases for name in PASSES]
    for case, name in tqdm(jobs, desc="layers", ncols=78):
        module = reference(case, device, dtype)
        others, missing = build_peers(case, module)
        notes += [note for note in missing if note not in notes]
        found = [*floors(case, module), *others]
        if case.causal and PASSES[name]:
            found = [peer for peer in found if peer.asked == "none"]
        where = {"case": case.name, "pass": name, "queries": case.queries}
        for row in _one(case, found, module, PASSES[name], budget):
            rows.append(where | row)
    return pd.DataFrame(rows), notes


def _one(
    case: Case, found: list[Peer], module: nn.MultiheadAttention, backward: bool, budget: float
) -> list[dict[str, Any]]:
    """Check and time all peers at one case; give a row for each."""
    peers = {f"{peer.name}, {peer.asked}": peer for peer in found}
    like = module.out_proj.weight.detach()
    x = like.new_empty(case.batch, case.keys, case.embed_dim).normal_().requires_grad_(backward)
    query = x
    if not case.is_self:
        query = x.detach()[:, : case.queries].clone().requires_grad_(backward)
    grad = torch.randn_like(query) if backward else None
    for peer in found:
        peer.module.train(backward)
    with torch.set_grad_enabled(backward):
        differences = _differences_from_torch(case, peers, module, query, x, grad)
        steps = {key: _step(peer, query, x, grad) for key, peer in peers.items()}
        times = interleave(steps, like.device, budget)
    medians = times.median()

    def first(kind: str, asked: str) -> str:
        keys = [key for key, peer in peers.items() if (peer.kind, peer.asked) == (kind, asked)]
        return min(keys, key=lambda key: float(medians[key]))

    return [
        {
            **{"name": peer.name, "kind": peer.kind, "asked": peer.asked},
            **spread(1e3 * times[key], "ms"),
            **spread(times[key] / times[first("floor", "none")], "to_floor"),
            **spread(times[key] / times[first("peer", peer.asked)], "to_peer"),
            **{"difference": differences[key], "rounds": len(times)},
        }
        for key, peer in peers.items()
    ]


def _differences_from_torch(
    case: Case,
    peers: dict[str, Peer],
    module: nn.MultiheadAttention,
    query: Tensor,
    x: Tensor,
    grad: Tensor | None,
) -> dict[str, float]:
    """Give the largest difference of outputs, weights and gradients from PyTorch's layer.

    A peer whose projections add no biases is compared with PyTorch's layer with biases of zero.
    Without ``grad``, of the output's shape, no gradients are compared.
    """
    inputs = [x] if query is x else [x, query]

    def results(peer: Peer) -> list[Tensor]:
        output, weights = peer.call(query, x)
        found = [output, *([] if weights is None else [weights])]
        if grad is not None:
            found += torch.autograd.grad(output, inputs, grad)
        return [tensor.detach() for tensor in found]

    modules = {True: module, False: copy.deepcopy(module)}  # with biases, or with none
    for bias in (modules[False].in_proj_bias, modules[False].out_proj.bias):
        nn.init.zeros_(bias)
    expected = {
        (peer.asked, biased): results(peer)
        for biased in modules
        for peer in torch_peers(case, modules[biased].train(grad is not None))
    }
    differences = {}
    for key, peer in peers.items():
        differences[key] = 0.0
        for got, wanted in zip(results(peer), expected[peer.asked, peer.biased], strict=True):
            gap = (got - wanted).abs().max().item()
            if not gap <= TOLERANCE[x.dtype] * max(1.0, wanted.abs().max().item()):
                raise ArithmeticError(f"{key} at {case.name} is another function: off by {gap:.1e}")
            differences[key] = max(differences[key], gap)
    return differences


def _step(peer: Peer, query: Tensor, x: Tensor, grad: Tensor | None) -> Callable[[], object]:
    """Give the function to time: a call, and the gradients of inputs and parameters if asked."""
    if grad is None:
        return lambda: peer.call(query, x)
    inputs = [x, *([] if query is x else [query]), *peer.module.parameters()]
    return lambda: torch.autograd.grad(peer.call(query, x)[0], inputs, grad, allow_unused=True)
