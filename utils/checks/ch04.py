"""Checks of chapter 4: one head, how heads are joined, what each adds, and the whole loop."""

from typing import Any

import torch
from torch import Tensor

from utils.checks.comparing import Code, call, check, compare, normal, require_parts
from utils.checks.mistakes import (
    STRIDED,
    UNSWAPPED,
    VALUES_0,
    soft,
    strided,
    wrong_attention,
    wrong_orders,
    wrong_projections,
)

__all__ = ["contributions_of_heads", "join_and_project", "loop_over_heads", "one_head"]

B, T, S, H, D_HEAD, KDIM, VDIM = 2, 4, 5, 3, 2, 7, 8
D = H * D_HEAD


@check
def one_head(function: Code) -> None:
    """Check one head of attention.

    ``function(query, key, value, w_q, w_k, w_v)`` takes query (B, T, D), key (B, S, kdim), value
    (B, S, vdim), and the projections (D, D_head), (kdim, D_head) and (vdim, D_head). It returns the
    output, (B, T, D_head), and the weights, (B, T, S).
    """
    query, key, value, heads, _, _ = _inputs()
    q, k, v = _project(query, key, value, heads[0])
    weights = soft(q @ k.mT / D_HEAD**0.5)  # (B, T, S)
    got, mistakes = (
        _two(call(function, query, key, value, *heads[0])),
        wrong_attention(q, k, width=D),
    )
    compare(got[1], weights, "the tensor of weights", mistakes)
    unprojected = {"w_v is not used.": weights @ value}
    compare(got[0], weights @ v, "the output", unprojected | wrong_attention(q, k, v))


@check
def join_and_project(function: Code) -> None:
    """Check the joining of the heads and the last projection.

    ``function(outputs, w_o, b_o)`` takes a list of H tensors (B, T, D_head), a matrix (D, D) and a
    bias (D,). It returns the heads side by side times the matrix plus the bias, (B, T, D).
    """
    outputs, (w_o, b_o) = _outputs(), _inputs()[-2:]
    expected, mistakes = torch.cat(outputs, -1) @ w_o + b_o, _wrong_outputs(outputs, w_o, b_o)
    compare(call(function, list(outputs), w_o, b_o), expected, "the output", mistakes)


@check
def contributions_of_heads(function: Code) -> None:
    """Check what each head adds to the output.

    ``function(outputs, w_o)`` takes a list of H tensors (B, T, D_head) and a matrix (D, D). It
    returns the contribution of each head, (H, B, T, D); their sum is the output without bias.
    """
    outputs, w_o = _outputs(), _inputs()[-2]
    stacked = torch.stack(outputs)  # (H, B, T, D_head)
    blocks = w_o.view(H, 1, D_HEAD, D)
    expected = stacked @ blocks  # (H, B, T, D)
    mistakes = {
        "this is the sum over the heads; keep them apart, (H, B, T, D).": expected.sum(dim=0),
        "the axis of the heads should come first, (H, B, T, D).": expected.transpose(0, 1),
        "head h takes columns of w_o; it should take rows.": stacked @ w_o.T.reshape(blocks.shape),
        STRIDED: stacked @ strided(w_o.T, H).mT.unsqueeze(1),
    } | wrong_orders(blocks, 0, lambda wrong: stacked @ wrong)
    compare(call(function, list(outputs), w_o), expected, "the tensor of contributions", mistakes)


@check
def loop_over_heads(function: Code) -> None:
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
    got = _two(call(function, query, key, value, heads, w_o, b_o, allowed))
    mistakes = {
        "the weights are averaged over the heads; keep them apart, (B, H, T, S).": weights.mean(1),
        "the axis of the heads should come second, (B, H, T, S).": weights.transpose(0, 1),
    }
    mistakes |= wrong_orders(weights, 1) | wrong_attention(q, k, None, allowed, width=D)
    compare(got[1], weights, "the tensor of weights", mistakes)
    outputs = list((weights @ v).unbind(1))  # H times (B, T, D_head)
    mistakes = _wrong_outputs(outputs, w_o, b_o)
    mistakes[VALUES_0] = torch.cat(list((weights @ v[:, :1]).unbind(1)), dim=-1) @ w_o + b_o
    compare(got[0], torch.cat(outputs, dim=-1) @ w_o + b_o, "the output", mistakes)


def _inputs() -> tuple[Tensor, Tensor, Tensor, list[tuple[Tensor, ...]], Tensor, Tensor]:
    """Query, key, value, the projections of each head, the last projection and its bias."""
    draw = normal(4)
    heads = [tuple(draw(width, D_HEAD) for width in (D, KDIM, VDIM)) for _ in range(H)]
    return draw(B, T, D), draw(B, S, KDIM), draw(B, S, VDIM), heads, draw(D, D), draw(D)


def _outputs() -> list[Tensor]:
    return list(normal(5)(H, B, T, D_HEAD))


def _project(query: Tensor, key: Tensor, value: Tensor, head: tuple[Tensor, ...]) -> list[Tensor]:
    return [x @ w for x, w in zip((query, key, value), head, strict=True)]


def _two(result: Any) -> Any:
    require_parts(result, 2, "two things: the output and the weights")
    return result


def _wrong_outputs(outputs: list[Tensor], w_o: Tensor, b_o: Tensor) -> dict[str, Tensor]:
    """Mistakes on the way from the heads, H times (B, T, D_head), to the output (B, T, D)."""
    joined = torch.cat(outputs, dim=-1)
    mixed = {
        STRIDED: torch.stack(outputs, -1).flatten(2),
        UNSWAPPED: torch.stack(outputs).reshape(B, T, D),
    } | wrong_orders(torch.stack(outputs), 0, lambda heads: torch.cat(heads.unbind(), dim=-1))
    return wrong_projections(joined, w_o, b_o) | {
        "the bias b_o is added for each head; add it once.": joined @ w_o + H * b_o,
        **{said: wrong @ w_o + b_o for said, wrong in mixed.items()},
    }
