"""Checks of chapter 3: two heads by hand, what each head adds, and the whole loop."""

import math
from typing import Any

import torch
from torch import Tensor

from exercises.exercise import Case, Cases, Code, FaultError, call, check, compare, exercise, normal, require_parts
from exercises.mistakes import (
    STRIDED,
    UNSWAPPED,
    VALUES_0,
    soft,
    strided,
    wrong_attention,
    wrong_orders,
    wrong_projections,
)

B, T, S, H, D_HEAD, KDIM, VDIM = 2, 4, 5, 3, 2, 7, 8
D = H * D_HEAD


@check
def couriers(function: Code) -> None:
    """Check two heads that are set by hand to win the game with the guests.

    ``function()`` returns ``heads``, two triples (w_q, w_k, w_v) of shapes (12, D_head),
    (6, D_head) and (6, D_value), and ``w_o``, (2 D_value, 12).
    """
    heads, w_o = _matrices(call(function))
    asked = torch.tensor([(a, c) for a in range(6) for c in range(6) if a != c])  # (T, 2)
    query = torch.eye(6)[asked].flatten(1)  # (T, 12)
    cards = normal(6)(64, 6, 6)  # (B, S, 6)
    weights = [soft(query @ w_q @ w_k.T / w_q.shape[1] ** 0.5) for w_q, w_k, _ in heads]
    brought = [w @ (cards @ w_v) for w, (_, _, w_v) in zip(weights, heads, strict=True)]
    answer = torch.cat(brought, dim=-1) @ w_o  # (B, T, 12)
    wanted = cards[:, asked].flatten(2)  # (B, T, 2, 6) -> (B, T, 12)
    error = (answer - wanted).square().mean().item()
    if error < 0.01:
        return
    for h, weight in enumerate(weights):
        on_names = weight.gather(1, asked).mean(dim=0)  # (2,)
        if on_names.min() > 0.3:
            first, second = on_names.tolist()
            raise FaultError(
                f"head {h} hears both names, and gives them {first:.2f} and {second:.2f} of its "
                "weight; let it hear one of them: six of the twelve rows of its w_q are zero."
            )
        if on_names.min() < 0.05 and on_names.max() < 0.3:
            raise FaultError(
                f"head {h} turns away from the name that it hears; the product of query and key "
                "should be largest, not smallest, where the names agree."
            )
        if (most := weight.max(dim=-1).values.min().item()) < 0.9:
            raise FaultError(
                f"for one question the largest weight of head {h} is only {most:.2f}; make its scores larger, so that the softmax decides."
            )
    if torch.equal(*(weight.argmax(dim=-1) for weight in weights)):
        raise FaultError("both heads go to the same guest; send one to each name.")
    if (answer - wanted.roll(6, dims=-1)).square().mean().item() < 0.01:
        raise FaultError("the cards arrive in the wrong order; the first name's card comes first.")
    raise FaultError(
        f"the error is {error:.2f}. Each head goes to one guest; see that w_v and w_o bring all six numbers of the card to their place."
    )


@check
def contributions_of_heads(function: Code) -> None:
    """Check what each head adds to the output.

    ``function(outputs, w_o)`` takes a list of H tensors (B, T, D_head) and a matrix (D, D). It
    returns the contribution of each head, (H, B, T, D); their sum is the output without bias.
    """
    outputs, w_o = list(normal(5)(H, B, T, D_HEAD)), _inputs()[-2]
    stacked = torch.stack(outputs)  # (H, B, T, D_head)
    blocks = w_o.view(H, 1, D_HEAD, D)
    expected = stacked @ blocks  # (H, B, T, D)
    mistakes = {
        "this is the sum over the heads; keep them apart, (H, B, T, D).": expected.sum(dim=0),
        "the axis of the heads should come first, (H, B, T, D).": expected.transpose(0, 1),
        "head h takes columns of w_o; it should take rows.": stacked @ w_o.T.reshape(blocks.shape),
        STRIDED: stacked @ strided(w_o.T, H).mT.unsqueeze(1),
    } | wrong_orders(blocks, 0, lambda wrong: stacked @ wrong)
    try:
        got = call(function, list(outputs), w_o)
    except FaultError as fault:
        raise _counted_wrongly(function, fault) from None
    compare(got, expected, "the tensor of contributions", mistakes)


@exercise
def loop_over_heads() -> Cases:
    """Check multi-head attention as a loop over heads.

    ``function(query, key, value, heads, w_o, b_o, allowed)`` takes query, key, value and a list of
    H triples (w_q, w_k, w_v) as in ``one_head``, w_o (D, D), b_o (D,), and a mask (T, S), bool,
    True = may attend, with a True in each row. It returns the output, (B, T, D), and the weights
    of each head, (B, H, T, S).
    """
    query, key, value, heads, w_o, b_o = _inputs()
    allowed = torch.ones(T, S).tril().bool()
    projected = [_project(query, key, value, head) for head in heads]
    q, k, v = (torch.stack(parts, dim=1) for parts in zip(*projected, strict=True))  # (B, H, …)
    weights = soft(q @ k.mT / D_HEAD**0.5, allowed)  # (B, H, T, S)
    mistakes: dict[str, Any] = {
        "the weights are averaged over the heads; keep them apart, (B, H, T, S).": weights.mean(1),
        "the axis of the heads should come second, (B, H, T, S).": weights.transpose(0, 1),
    }
    mistakes |= wrong_orders(weights, 1) | wrong_attention(q, k, None, allowed, width=D)
    scores = q @ k.mT / D_HEAD**0.5
    added = "the mask of True and False is added to the scores, as 1 and 0; fill with -inf."
    mistakes[added] = soft(scores + allowed)
    late = "minus infinity is filled in after the softmax; it should be before."
    mistakes[late] = soft(scores).masked_fill(~allowed, -math.inf)
    outputs = list((weights @ v).unbind(1))  # H times (B, T, D_head)
    of_output = _wrong_outputs(outputs, w_o, b_o)
    of_output[VALUES_0] = torch.cat(list((weights @ v[:, :1]).unbind(1)), dim=-1) @ w_o + b_o
    wrong = {said: (of_output.get(said), mistakes.get(said)) for said in mistakes | of_output}
    right = torch.cat(outputs, dim=-1) @ w_o + b_o, weights
    given, what = (query, key, value, heads, w_o, b_o, allowed), ("the output", "the tensor of weights")
    yield Case(given, right, wrong, what, "two things: the output and the weights", order=(1, 0))


def _counted_wrongly(function: Code, fault: FaultError) -> FaultError:
    """Name the mistake of ``w_o.split(H)``: it runs only where H and D_head are the same number."""
    try:
        call(function, [torch.ones(B, T, 2) for _ in range(2)], torch.ones(4, 4))
    except FaultError:
        return fault
    return FaultError(
        "w_o is cut into pieces of the wrong size. There are H pieces, and each has D_head rows: w_o.split(D_head), or w_o.chunk(H)."
    )


def _inputs() -> tuple[Tensor, Tensor, Tensor, list[tuple[Tensor, ...]], Tensor, Tensor]:
    """Query, key, value, the projections of each head, the last projection and its bias."""
    draw = normal(4)
    heads = [tuple(draw(width, D_HEAD) for width in (D, KDIM, VDIM)) for _ in range(H)]
    return draw(B, T, D), draw(B, S, KDIM), draw(B, S, VDIM), heads, draw(D, D), draw(D)


def _project(query: Tensor, key: Tensor, value: Tensor, head: tuple[Tensor, ...]) -> list[Tensor]:
    return [x @ w for x, w in zip((query, key, value), head, strict=True)]


def _matrices(result: Any) -> tuple[list[tuple[Tensor, Tensor, Tensor]], Tensor]:
    """The heads and the last projection of the game, once their shapes are right."""
    require_parts(result, 2, "two things: the heads and w_o")
    heads, w_o = result
    if not isinstance(w_o, Tensor):
        raise FaultError(f"w_o should be a tensor of shape (12, 12); got {type(w_o).__name__}.")
    require_parts(heads, 2, "two heads")
    triples = []
    for h, head in enumerate(heads):
        require_parts(head, 3, f"three matrices for head {h}: w_q, w_k and w_v")
        if not all(isinstance(matrix, Tensor) and matrix.dim() == 2 for matrix in head):
            raise FaultError(f"each of the three matrices of head {h} should be a 2-d tensor.")
        w_q, w_k, w_v = (matrix.detach().to(w_o.dtype) for matrix in head)
        if (w_q.shape[0], w_k.shape, w_v.shape[0]) != (12, (6, w_q.shape[-1]), 6):
            shapes = ", ".join(str(tuple(w.shape)) for w in (w_q, w_k, w_v))
            raise FaultError(f"the matrices of head {h} have the shapes {shapes}; expected (12, D_head), (6, D_head) and (6, D_value).")
        triples.append((w_q, w_k, w_v))
    joined = sum(w_v.shape[1] for _, _, w_v in triples)
    if tuple(w_o.shape) != (joined, 12):
        raise FaultError(f"w_o has shape {tuple(w_o.shape)}; expected ({joined}, 12).")
    return triples, w_o.detach()


def _wrong_outputs(outputs: list[Tensor], w_o: Tensor, b_o: Tensor) -> dict[str, Tensor]:
    """Mistakes on the way from the heads, H times (B, T, D_head), to the output (B, T, D)."""
    joined = torch.cat(outputs, dim=-1)
    mixed = {
        STRIDED: torch.stack(outputs, -1).flatten(2),
        UNSWAPPED: torch.stack(outputs).reshape(B, T, D),
    } | wrong_orders(torch.stack(outputs), 0, lambda heads: torch.cat(heads.unbind(), dim=-1))
    block = w_o[: outputs[0].shape[-1]]
    return wrong_projections(joined, w_o, b_o) | {
        "the last projection is missing; only its bias is added.": joined + b_o,
        "the last head is joined with itself; join all heads.": torch.cat(outputs[-1:] * len(outputs), dim=-1) @ w_o + b_o,
        "every head goes through the rows of head 0 of w_o.": sum(o @ block for o in outputs) + b_o,
        "the bias b_o is added for each head; add it once.": joined @ w_o + H * b_o,
        **{said: wrong @ w_o + b_o for said, wrong in mixed.items()},
    }
