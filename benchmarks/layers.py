"""One layer, forward and backward, as several libraries write it, in turns: the benchmark."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import pandas as pd
import torch
from torch import Tensor, nn
from tqdm import tqdm

from benchmarks.cases import Case, Peer, reference, without_biases
from benchmarks.floors import floors
from benchmarks.limits import Peak
from benchmarks.peers import build_peers, torch_peers
from benchmarks.ratios import quartiles, ratio
from benchmarks.timing import interleave

PASSES = {"forward": False, "both": True}  # both: forward and backward
TOLERANCE = {torch.float32: 1e-4, torch.bfloat16: 5e-2}  # of the largest value
FINAL = 1.25  # who takes at most so many times as long as the first of its kind is timed longer


def compare_layers(
    cases: Sequence[Case],
    device: torch.device,
    dtype: torch.dtype,
    peak: Peak,
    budget: float,
) -> tuple[pd.DataFrame, list[str]]:
    """Time every peer at every case, after checking that it gives what the others give.

    With the backward pass, causal layers are timed only where no weights are asked for.

    Parameters
    ----------
    budget : float, seconds for a case and a pass. All peers take turns for a third of it; those
        near the first of their kind (a floor, or with the same weights asked for) take turns for
        the rest, in which a round is short, and their times are from there

    Returns
    -------
    rows : DataFrame with a row for each case, pass and peer: milliseconds and the ratios to the
        fastest floor and to the fastest peer that was asked for the same, each with quartiles; the
        largest difference from the reference; operations a second
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
        found, missing = _one(case, PASSES[name], device, dtype, budget)
        for row in found:
            flops = case.flops(PASSES[name]) / (1e-3 * row["ms"])
            where: dict[str, Any] = {"case": case.name, "pass": name}
            where |= {"batch": case.batch, "queries": case.queries, "keys": case.keys}
            rows.append(where | row | {"tflops": flops / 1e12, "of_peak": flops / peak.flops})
        notes.extend(note for note in missing if note not in notes)
    return pd.DataFrame(rows), notes


def ours_and_best(group: pd.DataFrame) -> tuple[pd.Series, pd.Series]:
    """Give the rows of ours and of the fastest peer, of one case, pass and kind of question."""
    peers = group[group["kind"] == "peer"]
    return group[group["kind"] == "ours"].iloc[0], peers[peers["to_peer"] == 1.0].iloc[0]


def _one(
    case: Case, backward: bool, device: torch.device, dtype: torch.dtype, budget: float
) -> tuple[list[dict[str, Any]], list[str]]:
    """Check and time all peers at one case."""
    module = reference(case, device, dtype)
    more, missing = build_peers(case, module)
    found = [*floors(case, module), *more]
    if case.causal and backward:
        found = [peer for peer in found if peer.asked == "none"]
    peers = {f"{peer.name}, {peer.asked}": peer for peer in found}
    x = torch.randn(case.batch, case.keys, case.embed_dim, device=device, dtype=dtype)
    x.requires_grad_(backward)
    query = x
    if not case.is_self:
        query = x.detach()[:, : case.queries].clone().requires_grad_(backward)
    grad = torch.randn(query.shape, device=device, dtype=dtype) if backward else None
    for peer in found:
        peer.train(backward)
    with torch.set_grad_enabled(backward):
        differences = _differences_from_torch(case, peers, module, query, x, grad)
        steps = {key: _step(peer, query, x, grad) for key, peer in peers.items()}
        times = interleave(steps, device, budget / 3, fewest=1)
        final_steps = {key: steps[key] for key in _finalists(peers, times)}
        finals = interleave(final_steps, device, budget * 2 / 3, shortest=0.05, fewest=4)
    return _rows(peers, times, finals, differences), missing


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


def _step(peer: Peer, query: Tensor, x: Tensor, grad: Tensor | None) -> Callable[[], object]:
    """Give the function to time: a call, and the gradients of inputs and parameters if asked."""
    if grad is None:
        return lambda: peer.call(query, x)
    inputs = [x, *([] if query is x else [query]), *peer.parameters]
    return lambda: torch.autograd.grad(peer.call(query, x)[0], inputs, grad, allow_unused=True)


def _rank(peer: Peer) -> tuple[str, str]:
    """Those that are compared with each other: floors, and layers asked for the same."""
    return ("floor" if peer.kind == "floor" else "layer", peer.asked)


def _finalists(peers: dict[str, Peer], times: pd.DataFrame) -> list[str]:
    """Ours, and whoever is near the first of its kind."""
    medians = times.median()
    first: dict[tuple[str, str], float] = {}
    for key, peer in peers.items():
        if peer.kind != "ours":
            first[_rank(peer)] = min(first.get(_rank(peer), medians[key]), medians[key])
    return [
        key
        for key, peer in peers.items()
        if peer.kind == "ours" or medians[key] <= FINAL * first[_rank(peer)]
    ]


def _rows(
    peers: dict[str, Peer],
    times: pd.DataFrame,
    finals: pd.DataFrame,
    differences: dict[str, float],
) -> list[dict[str, Any]]:
    """Give a row for each peer, with times from the finals for those who were there."""
    medians = finals.median()

    def first(kind: str, asked: str) -> str:
        keys = [key for key, peer in peers.items() if (peer.kind, peer.asked) == (kind, asked)]
        return min((key for key in keys if key in finals), key=lambda key: float(medians.loc[key]))

    rows = []
    for key, peer in peers.items():
        table = finals if key in finals else times
        row: dict[str, Any] = {"name": peer.name, "kind": peer.kind, "asked": peer.asked}
        row |= quartiles(1e3 * table[key], "ms")
        row |= ratio(table, key, first("floor", "none"), "to_floor")
        row |= ratio(table, key, first("peer", peer.asked), "to_peer")
        rows.append(row | {"difference": differences[key], "rounds": len(table)})
    return rows
