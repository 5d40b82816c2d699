"""Checks of appendix A3: an order in which heads go, and a cut.

Shapes: H heads, D_head numbers a head.
"""

from collections.abc import Callable, Iterable
from typing import Any

import torch
from torch import Tensor

from exercises.exercise import Case, Cases, Code, FaultError, as_number, call, exercise, normal
from exercises.mistakes import STRIDED

H, D_HEAD = 3, 2
HEAD = 1  # the one that is cut out
WIDER = 9  # D, where the heads are narrower than D / H


@exercise
def greedy_order() -> Cases:
    """Check ``function(cost, num_heads)``: the heads in the order in which they go.

    ``cost`` takes the heads that are out, as a list, and returns a number. The result names each
    head once; the next to go is the one whose going leads to the least cost.
    """
    alone, apart = [0.3, 0.2, 0.4, 0.1], {(0, 3): 0.6, (1, 3): 0.38, (2, 3): 0.41}
    heads = range(len(alone))

    def cost(removed: Iterable[int]) -> float:
        out = {int(h) for h in removed}
        pairs = sum(more for pair, more in apart.items() if out.issuperset(pair))
        return sum(alone[h] for h in out) + pairs

    def in_turn(choose: Callable[..., int], told: Callable[[list[int]], float]) -> list[int]:
        gone: list[int] = []
        while left := [h for h in heads if h not in gone]:
            gone.append(choose(left, key=lambda h: told([*gone, h])))
        return gone

    right = in_turn(min, cost)
    once = sorted(heads, key=lambda h: alone[h])
    left = [sorted(set(heads) - set(right[:n])) for n in heads]
    mistakes = {
        "the heads go by their numbers; they should go by their cost. (min takes a key.)": list(heads),
        "the heads were measured once; measure the rest anew after each.": once,
        "the head that costs most goes first; take min, not max.": in_turn(max, cost),
        "the head that costs most goes first, and all were measured once.": once[::-1],
        "the order is turned; the head that goes first stands first.": right[::-1],
        "cost was given the heads that stay; it takes those that are out.": in_turn(min, lambda gone: cost(set(heads) - set(gone))),
        "these are places among the heads that are left; name the heads.": [rest.index(h) for rest, h in zip(left, right, strict=True)],
        "the last head is missing; it goes too, at whatever cost.": right[:-1],
    }

    def ask(function: Code, *given: Any) -> list[Any]:
        result = call(function, *given)
        if isinstance(result, Tensor):
            result = result.tolist()
        if not isinstance(result, list | tuple):
            raise FaultError("your function should return one list, the heads in their order.")
        if any(isinstance(entry, list | tuple) for entry in result):
            raise FaultError("an entry is a list itself; return one list of heads, the last of yours.")
        got = [as_number(h, "each entry", whole=True) for h in result]
        if len(set(got)) < len(got) and got not in mistakes.values():
            raise FaultError(f"{got} names a head twice; one that is out cannot go again.")
        return got

    yield Case((cost, len(alone)), right, mistakes, form="the order is {got}; expected {right}.", ask=ask)


@exercise
def cut_head() -> Cases:
    """Check ``function(q_weight, out_weight, h, num_heads)``: both weights without one head.

    ``q_weight`` is (H * D_head, D) and ``out_weight`` (D, H * D_head), as ``nn.Linear`` keeps
    them. Returned are ((H - 1) * D_head, D) and (D, (H - 1) * D_head).
    """
    own = torch.arange(H * D_HEAD) // D_HEAD == HEAD
    strided = torch.arange(H * D_HEAD) % H == HEAD
    # Square, so that rows and columns can be mixed up, and then with heads that are not D / H wide.
    for D in (H * D_HEAD, WIDER):
        q_weight, out_weight = normal(0)(H * D_HEAD, D), normal(1)(D, H * D_HEAD)
        names = "the query's weight", "the last projection's weight"
        rights, wrong = [], dict[str, list[Tensor | None]]()
        for i, (weight, axis, other) in enumerate([(q_weight.T, "rows", "columns"), (out_weight, "columns", "rows")]):
            name = names[i]
            back = Tensor.t if axis == "rows" else torch.clone  # weight: heads on its last axis
            wide = torch.arange(H * D_HEAD) // (D // H) == HEAD
            mistakes = {
                f"{name} still has all heads.": weight,
                f"{name} holds the head alone; it should hold all others.": weight[:, own],
                STRIDED: weight[:, ~strided],
                f"{name}: heads are counted from 0.": weight[:, D_HEAD:],
                f"{name}: the last head was cut out instead.": weight[:, :-D_HEAD],
                f"{name}: the head was set to zero; cut it out.": weight * ~own,
                f"{name} lost one number; a head has D_head of them.": weight[:, torch.arange(H * D_HEAD) != HEAD],
                f"{name} is transposed.": weight[:, ~own].T,
            }
            if D == H * D_HEAD:
                mistakes[f"{name}: its {other} were cut; a head is {axis} of it."] = weight[~own]
            else:
                said = "a head here is not D / H numbers wide, as in a layer that was cut before; there are num_heads heads in the"
                mistakes[f"{name}: {said} {axis}."] = weight[:, ~wide]
            rights.append(back(weight[:, ~own]))
            for mistake, made in mistakes.items():
                wrong.setdefault(mistake, [None, None])[i] = back(made)
        yield Case((q_weight, out_weight, HEAD, H), tuple(rights), wrong, names, "two things: the two smaller weights")
