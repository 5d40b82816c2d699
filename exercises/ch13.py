"""Checks of chapter 13: where processes have to talk, and what each of them does.

The processes are imitated by threads, which hand each other tensors as processes would.

Shapes: N processes, B sequences, T tokens, D the model's width.
"""

from collections.abc import Callable, Sequence
from contextlib import nullcontext
from threading import Barrier, BrokenBarrierError, Thread
from typing import Any

import torch
from torch import Tensor
from torch.multiprocessing.reductions import StorageWeakRef
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves, tree_map
from utils.tiled import merge_attention, partial_attention

from exercises.exercise import Code, FaultError, as_number, call, check, compare, normal
from exercises.mistakes import soft

PATIENCE = 5.0  # seconds that one waits for the others
JUST_COME = "pass on what has just come, and not your own again."
DONE = object()  # what one that has returned hands over, so that nobody waits for it in vain
ALONE = "the processes wait for one another: all must call it equally often, in the same order."


@check
def placed_all_reduce(function: Code) -> None:
    """Check ``function(heads, w_o, b_o, all_reduce)``: from a process's own heads to the output.

    ``heads`` is (B, T, D / N), the heads of this process side by side, ``w_o`` (D, D / N) its
    columns of the last projection and ``b_o`` (D,) the whole bias. ``all_reduce(x)`` gives, and
    leaves in ``x``, the sum over all processes. The result is the layer's output, (B, T, D), in
    every process.
    """
    for N, D in [(2, 8), (3, 6)]:
        draw = normal(N)
        heads, w_o, b_o = draw(2, 5, D), draw(D, D), draw(D)
        cut_heads, cut_w = heads.chunk(N, dim=-1), w_o.chunk(N, dim=-1)
        group = _Group(N)
        results = group.call(
            function,
            [(h.clone(), w.clone(), b_o.clone(), group.adder(rank)) for rank, (h, w) in enumerate(zip(cut_heads, cut_w, strict=True))],
        )
        parts = [h @ w.T for h, w in zip(cut_heads, cut_w, strict=True)]
        whole, added = heads @ w_o.T, torch.stack(cut_heads).sum(dim=0)
        for rank, result in enumerate(results):
            mistakes = {
                "the parts are not added up: call all_reduce.": parts[rank] + b_o,
                "the parts are not added up, and the bias is missing.": parts[rank],
                "the bias is in the sum once for each process; add it once, to the sum.": (whole + N * b_o),
                "the bias is missing.": whole,
                "this is the mean of the parts; the output is their sum.": whole / N + b_o,
                "the heads are added up before the projection. Heads of two processes are "
                "different things: project first, each by its own columns.": (added @ cut_w[rank].T + b_o),
                "the output is added up again; one all-reduce has done it.": N * whole + b_o,
            }
            compare(result, whole + b_o, f"the output in process {rank} of {N}", mistakes)
        group.refuse_more(2 * 5 * D, "right, but {given:,} numbers go through it; {enough:,} do.")


@check
def ring_of_parts(function: Code) -> None:
    """Check ``function(q, k, v, N, pass_on)``: attention to keys that live in N processes.

    ``q``, ``k``, ``v`` are (T / N, D_head), this process's own. ``pass_on(x)`` hands a tensor, or a
    list of them, to the next process, and gives what the one before handed over. The result is the
    output for the process's own queries, (T / N, D_head), without a mask.
    """
    for N in (3, 4):
        q, k, v = normal(N)(3, N * 3, 4)
        slices = q_s, k_s, v_s = [x.chunk(N) for x in (q, k, v)]
        group = _Group(N)
        inputs = [(*(x[rank].clone() for x in slices), N, group.neighbour(rank)) for rank in range(N)]
        results = group.call(function, inputs)
        whole = soft(q @ k.T / 2) @ v
        for rank, result in enumerate(results):
            mine, own = range(rank * 3, rank * 3 + 3), [rank] * N
            come = [rank - step for step in range(N)]
            again = [rank, *[rank - 1] * (N - 1)]
            outputs = torch.stack([partial_attention(q_s[rank], k_s[i], v_s[i])[0] for i in come])
            mistakes = {
                "these queries have seen their own process's keys alone: pass keys on.": outputs[0],
                "this is the plain mean of the parts; each counts by its log-sum-exp.": (outputs.mean(dim=0)),
                "the parts are added as they are; merge_attention weighs them.": outputs.sum(dim=0),
                "only the keys that came last are in it; merge all parts.": outputs[-1],
            }
            late, twice = come[:-1], [*come, rank]
            for said, queries, keys, values in [
                ("your own keys are not in it; begin with them.", own, come[1:], come[1:]),
                (f"the neighbour's keys came every time: {JUST_COME}", own, again, again),
                ("the values stay your own: pass them on with their keys.", own, come, own),
                ("the keys stay your own: pass them on with their values.", own, own, come),
                ("the queries travel too; they stay: pass on k and v alone.", come, come, come),
                ("the last slice has not come yet: N parts need N - 1 passes.", own, late, late),
                ("your own keys count twice: after N - 1 passes all have come.", own, twice, twice),
            ]:
                which = zip([*queries, rank], keys, values, strict=False)
                parts = [partial_attention(q_s[h], k_s[i], v_s[j]) for h, i, j in which]
                mistakes[said] = merge_attention(parts)[0]
            if isinstance(result, tuple):
                raise FaultError("merge_attention gives the output and its log-sum-exps; take [0].")
            compare(result, whole[mine], f"the output in process {rank} of {N}", mistakes)
        enough = (N - 1) * 2 * 3 * 4
        more = "right, but {given:,} numbers leave a process; N - 1 passes of its slice, {enough:,}"
        group.refuse_more(enough, f"{more}, are enough.")
    _refuse_gathering(function)


def _refuse_gathering(function: Code) -> None:
    """Raise ``FaultError`` where a process holds more in a long ring than in a short one."""
    most = {}
    for N in (4, 16):
        slices = [x.chunk(N) for x in normal(N)(3, N * 3, 4)]
        group = _Group(N, watched=[_Held(N * 3) for _ in range(N)])
        inputs = [(*(x[rank].clone() for x in slices), N, group.neighbour(rank)) for rank in range(N)]
        group.call(function, inputs)
        most[N] = max(held.most for held in group.watched)
        kept = max(group.kept)
        if N == 16 and (kept > 4 or any(held.gathered for held in group.watched)):
            raise FaultError(
                "right, but you gather the keys of all processes, and hold them at once. Memory is "
                "the ring's only point: attend to each slice as it comes, and let it go."
            )
    if most[16] > 1.5 * most[4]:
        raise FaultError(
            f"right, but with 16 processes you hold {most[16]:,} numbers at once, with 4 "
            f"{most[4]:,}: you keep the parts. Merge each with what you have as it comes."
        )


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
            said = "your function should return positions, a list for each process."
            raise FaultError(said) from None
        where = f"for T = {T}, N = {N}"
        if len(held) != N:
            raise FaultError(f"{where} there are {len(held)} lists; there should be one a process.")
        if sorted(t for row in held for t in row) != list(range(T)):
            raise FaultError(f"{where} some token has no place, or two: each needs one.")
        if len(set(map(len, held))) > 1:
            sizes = ", ".join(str(len(row)) for row in held)
            raise FaultError(f"{where} the processes hold {sizes} tokens; all should hold {T // N}.")
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


@check
def numbers_sent(predicted: Any) -> None:
    """Check what each cut sends: N = 2, four texts of 256 tokens, D = 64.

    The prediction is a dict with ``heads``, ``texts`` and ``tokens``.
    """
    part, tokens, weights = 1 / 2, 4 * 256 * 64, 12 * 64 * 64
    right = {"heads": 8 * tokens, "texts": 2 * weights, "tokens": 2 * weights + 6 * tokens}
    short = {"heads": 8, "texts": 0, "tokens": 6}  # how many numbers of a token each sends
    if not isinstance(predicted, dict) or set(predicted) != set(right):
        raise FaultError("your prediction should be a dict with heads, texts and tokens.")
    for name, whole in right.items():
        number = as_number(predicted[name], f"what is sent by a cut between {name}")
        old = short[name] * tokens / 4 + (whole - short[name] * tokens)
        mistakes = {
            "a process sends half of that: with two of them (N - 1) / N is 1/2.": whole,
            "that is the factor of four processes, 3/4; now there are two.": 3 / 4 * whole,
            "that is for texts of 64 tokens; these have 256.": part * old,
            "that is what the run above printed; both N and T have changed.": 3 / 4 * old,
            "an all-reduce goes round twice: a reduce-scatter, then an all-gather.": part * whole / 2,
        }
        if name == "texts":
            mistakes = {
                "gradients are as large as weights, however long the texts.": 4 * part * whole,
                "and four times that: gradients do not grow with the texts.": 3 * whole,
            } | mistakes
        if name == "tokens":
            mistakes["the gradients of the weights are missing."] = part * 6 * tokens
            mistakes["the keys and values are missing."] = part * 2 * weights
            mistakes["keys and values go round three times: forward, back, and their gradients."] = part * (2 * weights + 2 * tokens)
        if abs(number - part * whole) > 0.5:
            said = next((said for said, wrong in mistakes.items() if abs(number - wrong) <= 0.5), "")
            raise FaultError(f"{name}: {said or f'{number:,.0f} is not what is sent.'}")


class _Held(TorchDispatchMode):
    """What a process has made, or has come to it, and is still there, at each moment."""

    def __init__(self, T: int) -> None:
        super().__init__()
        self.T, self.most, self.gathered = T, 0, False
        self.alive: dict[int, tuple[StorageWeakRef, int]] = {}

    def __torch_dispatch__(self, function: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        result = function(*args, **(kwargs or {}))
        for x in tree_leaves(result):
            if isinstance(x, Tensor):
                self.note(x)
        return result

    def note(self, x: Tensor) -> None:
        storage = x.untyped_storage()
        self.alive[storage._cdata] = StorageWeakRef(storage), storage.nbytes() // x.itemsize
        self.alive = {at: (ref, size) for at, (ref, size) in self.alive.items() if not ref.expired()}
        self.most = max(self.most, sum(size for _, size in self.alive.values()))
        self.gathered |= self.T in x.shape  # keys of all, or scores for all of them


class _Group:
    """Threads that talk as processes do; what each hands over is counted."""

    def __init__(self, N: int, watched: Sequence[_Held] = ()) -> None:
        self.N, self.barrier = N, Barrier(N, timeout=PATIENCE)
        self.slots: list[Any] = [None] * N
        self.given = [0] * N
        self.watched = watched
        self.come: list[list[StorageWeakRef]] = [[] for _ in range(N)]
        self.kept = [0] * N  # how many slices that have come were there at once

    def call(self, function: Code, inputs: Sequence[tuple[Any, ...]]) -> list[Any]:
        """Call the function in all of them, and give what each returned."""
        results: list[Any] = [None] * self.N
        faults: list[FaultError] = []

        def work(rank: int) -> None:
            try:
                with self.watched[rank] if self.watched else nullcontext():
                    results[rank] = call(function, *inputs[rank])
                call(self._exchange, rank, DONE)
            except FaultError as fault:
                faults.append(fault)
                self.barrier.abort()  # nobody waits for this one

        threads = [Thread(target=work, args=(rank,)) for rank in range(self.N)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
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

    def neighbour(self, rank: int) -> Callable[[Any], Any]:
        """Give what one process calls to hand something on; what comes is its own."""

        def pass_on(x: Any) -> Any:
            come = tree_map(lambda y: y.clone() if isinstance(y, Tensor) else y, self._exchange(rank, x)[rank - 1])
            tensors = [y for y in tree_leaves(come) if isinstance(y, Tensor)]
            self.come[rank] += [StorageWeakRef(y.untyped_storage()) for y in tensors]
            self.come[rank] = [ref for ref in self.come[rank] if not ref.expired()]
            self.kept[rank] = max(self.kept[rank], len(self.come[rank]))
            return come

        return pass_on

    def _exchange(self, rank: int, x: Any) -> list[Any]:
        if x is not DONE:
            tensors = x if isinstance(x, tuple | list) else [x]
            self.given[rank] += sum(y.numel() if isinstance(y, Tensor) else 1 for y in tensors)
        self.slots[rank] = x
        self.barrier.wait()  # all have come
        every = list(self.slots)
        self.barrier.wait()  # all have read
        self.slots[rank] = None
        if 0 < every.count(DONE) < self.N:
            raise BrokenBarrierError  # some have returned, others wait for them
        return every

    def refuse_more(self, enough: float, said: str) -> None:
        """Raise ``FaultError`` where a process handed over more numbers than are needed."""
        if max(self.given) > enough:
            raise FaultError(said.format(given=max(self.given), enough=enough))
