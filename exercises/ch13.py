"""Checks of chapter 13: where processes have to talk, and what each of them does.

The processes are imitated by threads, which hand each other tensors as processes would.

Shapes: N processes, B sequences, T tokens, D the model's width.
"""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from threading import Barrier, BrokenBarrierError
from typing import Any

import torch
from torch import Tensor

from exercises.exercise import Case, Cases, Code, FaultError, Prediction, Wrong, as_number, call, check, exercise, normal, refuse
from exercises.mistakes import NO_BIAS

PATIENCE = 5.0  # seconds that one waits for the others
DONE = object()  # what one that has returned hands over, so that nobody waits for it in vain
ALONE = "the processes wait for one another: all must call it equally often, in the same order."


@exercise
def placed_all_reduce() -> Cases:
    """Check ``function(heads, w_o, b_o, all_reduce)``: from a process's own heads to the output.

    ``heads`` is (B, T, D / N), the heads of this process side by side, ``w_o`` (D, D / N) its
    columns of the last projection and ``b_o`` (D,) the whole bias. ``all_reduce(x)`` gives, and
    leaves in ``x``, the sum over all processes. The result is the layer's output, (B, T, D), in
    every process.
    """
    for N, D in [(2, 8), (3, 6)]:
        draw, group = normal(N), _Group(N)
        heads, w_o, b_o = draw(2, 5, D), draw(D, D), draw(D)
        cut_heads, cut_w = heads.chunk(N, dim=-1), w_o.chunk(N, dim=-1)
        parts = [h @ w.T for h, w in zip(cut_heads, cut_w, strict=True)]
        whole, added = heads @ w_o.T, torch.stack(cut_heads).sum(dim=0)
        wrong: Wrong = {
            "the parts are not added up: call all_reduce.": [part + b_o for part in parts],
            "the parts are not added up, and the bias is missing.": parts,
            "the bias is in the sum once for each process; add it once, to the sum.": [whole + N * b_o] * N,
            NO_BIAS: [whole] * N,
            "this is the mean of the parts; the output is their sum.": [whole / N + b_o] * N,
            "the heads are added up before the projection. Heads of two processes are "
            "different things: project first, each by its own columns.": [added @ w.T + b_o for w in cut_w],
            "the output is added up again; one all-reduce has done it.": [N * whole + b_o] * N,
        }
        what = [f"the output in process {rank} of {N}" for rank in range(N)]
        given = tuple((h, w, b_o, group.adder(rank)) for rank, (h, w) in enumerate(zip(cut_heads, cut_w, strict=True)))
        yield Case(given, (whole + b_o,) * N, wrong, what, ask=group.call)
        if (most := max(group.given)) > 2 * 5 * D + 1:  # to count the processes, one may add up a 1
            raise FaultError(f"right, but {most:,} numbers go through it; {2 * 5 * D:,} do.")


@check
def balanced_ring(function: Code) -> None:
    """Check ``function(T, N)``: which tokens each process holds, so that all do as much.

    The result is a list of N lists, or a tensor (N, T / N), of positions. Query t sees the keys 0
    to t. Each token has one place, and all have as many tokens and as many pairs.
    """
    for T, N in [(8, 2), (16, 4), (24, 3)]:
        result = call(function, T, N)
        try:
            held = [sorted(int(t) for t in row) for row in result]
        except (TypeError, ValueError):
            raise FaultError("your function should return positions, a list for each process.") from None
        where = f"for T = {T}, N = {N}"
        sizes = [len(row) for row in held]
        faults = {
            f"{where} there are {len(held)} lists; there should be one a process.": len(held) != N,
            f"{where} some token has no place, or two: each needs one.": sorted(t for row in held for t in row) != list(range(T)),
            f"{where} the processes hold {', '.join(map(str, sizes))} tokens; all should hold {T // N}.": len(set(sizes)) > 1,
        }
        refuse(faults)
        pairs = [sum(t + 1 for t in row) for row in held]
        pieces = [set(range(i, i + T // (2 * N))) for i in range(0, T, T // (2 * N))]
        if len(set(pairs)) > 1:
            said = f"{where} the processes compute {', '.join(map(str, pairs))} pairs"
            if held == [list(range(r * T // N, (r + 1) * T // N)) for r in range(N)]:
                said += ": the last slice sees nearly all. Give each an early and a late part"
            elif held == [list(range(r, T, N)) for r in range(N)]:
                said += ": with every N-th token the last is a little ahead of the first, each time"
            elif held == [sorted(pieces[r] | pieces[N + r]) for r in range(N)]:
                said += ": count the late pieces from the end; the first goes with the last"
            raise FaultError(f"{said}.")


@exercise
def numbers_sent() -> Cases:
    """Check what each cut sends: N = 2, four texts of 256 tokens, D = 64.

    The prediction is a dict with ``heads``, ``texts`` and ``tokens``.
    """
    part, tokens, weights = 1 / 2, 4 * 256 * 64, 12 * 64 * 64
    right = {"heads": 8 * tokens, "texts": 2 * weights, "tokens": 2 * weights + 6 * tokens}
    short = {"heads": 8, "texts": 0, "tokens": 6}  # how many numbers of a token each sends
    grown = "the keys and values grow with the texts; the gradients of the weights do not."
    own: dict[str, dict[float, str]] = {
        "texts": {
            4 * weights: "gradients are as large as weights, however long the texts.",
            6 * weights: "and four times that: gradients do not grow with the texts.",
        },
        "tokens": {
            4 * weights + 3 * tokens: grown,
            6 * weights + 4.5 * tokens: f"N is 2 now; and {grown}",
            3 * tokens: "the gradients of the weights are missing.",
            weights: "the keys and values are missing.",
            weights + tokens: "keys and values go round three times: forward, back, and their gradients.",
        },
    }
    for name, whole in right.items():
        old = short[name] * tokens / 4 + (whole - short[name] * tokens)
        mistakes = own.get(name, {}) | {
            part * whole / 2: "an all-reduce goes round twice: a reduce-scatter, then an all-gather.",
            3 / 4 * old: "that is what the table above says; both N and T have changed.",
            part * old: "that is for texts of 64 tokens; these have 256.",
            3 / 4 * whole: "that is the factor of four processes, 3/4; now there are two.",
            whole: "a process sends half of that: with two of them (N - 1) / N is 1/2.",
        }
        told = {number: f"{name}: {said}" for number, said in mistakes.items() if number != part * whole}
        what, right_is = f"what is sent by a cut between {name}", (part * whole - 0.5, part * whole + 0.5)
        yield Prediction(what, right_is, told, 0.5, (name + ": {:,.0f} is not what is sent.").format, ask=partial(_entry, name))


def _entry(name: str, predicted: Any) -> Any:
    if not isinstance(predicted, dict) or set(predicted) != {"heads", "texts", "tokens"}:
        raise FaultError("your prediction should be a dict with heads, texts and tokens.")
    return predicted[name]


class _Group:
    """Threads that talk as processes do; what each hands over is counted."""

    def __init__(self, N: int) -> None:
        self.N, self.barrier = N, Barrier(N, timeout=PATIENCE)
        self.slots: list[Any] = [None] * N
        self.given = [0] * N

    def call(self, function: Code, *inputs: tuple[Any, ...]) -> list[Any]:
        """Call the function in all of them, and give what each returned."""

        def work(rank: int) -> Any:
            try:
                result = call(function, *inputs[rank])
                call(self._exchange, rank, DONE)
            except FaultError as fault:
                self.barrier.abort()  # nobody waits for this one
                return fault
            return result

        with ThreadPoolExecutor(self.N) as threads:
            results = list(threads.map(work, range(self.N)))
        faults = [result for result in results if isinstance(result, FaultError)]
        for fault in sorted(faults, key=lambda fault: "BrokenBarrierError" in str(fault)):
            raise FaultError(ALONE) if "BrokenBarrierError" in str(fault) else fault
        return results

    def adder(self, rank: int) -> Callable[[Any], Any]:
        """Give what one process calls to add up: it works in place, and gives the sum."""

        def all_reduce(x: Any) -> Any:
            every = self._exchange(rank, x.clone() if isinstance(x, Tensor) else x)
            if not isinstance(x, Tensor):
                return sum(as_number(number, "what is added up") for number in every)
            if any(not isinstance(y, Tensor) or y.shape != x.shape for y in every):
                raise FaultError("the processes add up tensors of different shapes.")
            return x.copy_(torch.stack(every).sum(dim=0))

        return all_reduce

    def _exchange(self, rank: int, x: Any) -> list[Any]:
        if x is not DONE:
            self.given[rank] += x.numel() if isinstance(x, Tensor) else 1
        self.slots[rank] = x
        self.barrier.wait()  # all have come
        every = list(self.slots)
        self.barrier.wait()  # all have read
        if 0 < every.count(DONE) < self.N:
            raise BrokenBarrierError  # some have returned, others wait for them
        return every
