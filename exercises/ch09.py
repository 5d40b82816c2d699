"""Checks of chapter 9: what a layer's parameters and work depend on, and what a head can express.

Shapes: B sequences, T queries, S keys, H heads, D = H * D_head.
"""

from typing import Any

import torch
from torch import Tensor, nn

from exercises.comparing import compare_numbers
from exercises.exercise import Case, Cases, Code, FaultError, call, check, compare, exercise, normal, require_parts
from exercises.mistakes import LAYER_TRANSPOSED, STRIDED, strided, wrong_orders

NARROW = "a head is D / H wide, so all of them are D."


@exercise
def parameter_count() -> Cases:
    """Check ``function(embed_dim, num_heads, kdim, vdim, bias)``: the parameters of a layer.

    The layer is ``torch.nn.MultiheadAttention`` with these arguments; the result is an int.
    """
    cases = [(512, 8, 512, 512, True), (12, 1, 12, 12, True), (12, 6, 12, 12, True)]
    cases += [(12, 3, 12, 12, False), (12, 3, 5, 8, True), (6, 2, 9, 4, False)]
    for D, H, kdim, vdim, bias in cases:
        layer = nn.MultiheadAttention(D, H, bias=bias, kdim=kdim, vdim=vdim)
        right = sum(parameter.numel() for parameter in layer.parameters())
        matrices, vectors, last = D * (2 * D + kdim + vdim), 4 * D * bias, D * D + D * bias
        mistakes = {
            "the biases are missing.": matrices,
            "there are biases in the count, and bias is False.": matrices + 4 * D,
            "the bias of the last projection is missing.": matrices + 3 * D * bias,
            "only the last bias is counted; query, key and value have one each, too.": matrices + D * bias,
            "the last projection is missing.": right - last,
            "the matrices of keys and values are not square: they give D numbers, not as many as come in.": 2 * D * D
            + kdim**2
            + vdim**2
            + vectors,
            "kdim and vdim are not used.": 4 * D * D + vectors,
            f"the biases are missing, and the weights grow with num_heads; {NARROW}": matrices * H,
            f"kdim and vdim are not used, and it grows with num_heads; {NARROW}": 4 * D * D * H + vectors,
            "the biases of key and value have D numbers each.": matrices + (2 * D + kdim + vdim) * bias,
            f"it grows with num_heads; {NARROW}": right * H,
            f"the weights grow with num_heads; {NARROW}": matrices * H + vectors,
            f"q, k and v grow with num_heads; {NARROW}": (right - last) * H + last,
            f"each head is D wide here; {NARROW}": (right - D * bias) * H + D * bias,
            "this is one head's share; the layer has num_heads of them.": right // H,
            "these are three square matrices; the last projection and the biases are missing, and kdim and vdim are not used.": 3 * D * D,
            "the last projection is D by D, whatever vdim is.": right - D * D + D * vdim,
        }
        what = f"for D = {D}, H = {H}, kdim = {kdim}, vdim = {vdim}, bias = {bias}, the count"
        yield Case((D, H, kdim, vdim, bias), right, mistakes, what)


@check
def weights_of_head(function: Code) -> None:
    """Check ``function(in_proj_weight, num_heads, h)``: the three projections of head h, as views.

    ``in_proj_weight`` is that of PyTorch's layer, (3 * D, D). The result is three tensors
    (D_head, D), for query, key and value, which share their memory with it. Heads count from 0.
    """
    H, D_head = 6, 3
    D = H * D_head
    packed = torch.arange(1.0, 1 + 3 * D * D).view(3 * D, D)  # (3 * D, D)
    thirds, blocks = packed.view(3, D, D), packed.view(3, H, D_head, D)
    names = ["query", "key", "value"]
    for h in (4, 0, 2):
        rows = slice(h * D_head, (h + 1) * D_head)
        result = call(function, packed, H, h)
        result = [*torch.atleast_1d(result)] if isinstance(result, Tensor) else result
        require_parts(result, 3, "three tensors: query, key and value")
        for i, (name, got) in enumerate(zip(names, result, strict=True)):
            mistakes = {f"these rows belong to the {names[j]}.": blocks[j, h] for j in range(3)}
            across = thirds[i, :, h * D_head : (h + 1) * D_head]
            mistakes |= {
                "heads count from 0; these rows are the head before.": blocks[i, h - 1],
                "heads count from 0; these rows are the head after.": blocks[i, (h + 1) % H],
                "the slice starts one row too early.": thirds[i].roll(1, 0)[rows],
                "the slice starts one row too late.": thirds[i].roll(-1, 0)[rows],
                "the slice ends one row too early; Python leaves out the end.": blocks[i, h, :-1],
                "heads are cut across the columns; take rows, (D_head, D).": across,
                "these are columns, turned; the rows belong to heads, so nothing is turned.": (across.T),
                "this starts at h * num_heads; head h starts at h * D_head.": (thirds[i, h * H : (h + 1) * H]),
                "head h starts at h * D_head, not at h * num_heads.": (thirds[i, h * H : h * H + D_head]),
                LAYER_TRANSPOSED: blocks[i, h].T,
                STRIDED: strided(thirds[i].T, H)[h].T,
                "cut query, key and value first, then heads.": packed.view(H, 3, -1, D)[h, i],
            }
            mistakes |= {said: heads[h] for said, heads in wrong_orders(blocks[i], 0).items()}
            compare(got, blocks[i, h], f"for head {h}, the weight of the {name}", mistakes)
            if got.untyped_storage().data_ptr() != packed.untyped_storage().data_ptr():
                raise FaultError(f"the weight of the {name} is a copy; return a view, by slicing.")


@check
def multiply_adds(function: Code) -> None:
    """Check ``function(B, T, S, D, H)``: multiply-adds of cross-attention, forward.

    The result is two ints: those of the four projections, and those of attention (both products,
    all heads). A product of (n, m) with (m, p) takes n * m * p.
    """
    found: list[list[Any]] = [[], []]
    cases = [(1, 10, 6, 8, 1), (1, 10, 30, 8, 4), (3, 20, 20, 16, 2), (2, 128, 50, 512, 8)]
    for B, T, S, D, H in cases:
        result = call(function, B, T, S, D, H)
        require_parts(result, 2, "two numbers: projections and attention")
        square, pairs = B * D * D, B * T * S * D
        projections, attention = rights = 2 * square * (T + S), 2 * pairs
        flops = "count a multiplication and its addition as one."
        wrong = (
            {
                flops: 2 * projections,
                "all four projections are counted with T tokens; keys and values have S.": (4 * square * T),
                "all four projections are counted with S tokens; queries have T.": 4 * square * S,
                "the last projection is missing: it meets the T tokens of the output.": (square * (T + 2 * S)),
                "keys and values need a projection each.": square * (2 * T + S),
                "the last projection meets T tokens, as the queries do, not S.": (square * (T + 3 * S)),
                "these are two projections; there are four.": square * (T + S),
                "the projections do not grow with H; a head is D / H wide.": projections * H,
                "this is one head's share, D by D_head; all H heads together are D wide.": (projections // H),
                "matrices of D_head by D_head are too small: tokens come D wide, and all heads together are D wide.": projections // H**2,
                "every token of every sequence is projected: B of them.": projections // B,
            },
            {
                flops: 2 * attention,
                "there are two products, for the scores and for the mixing.": pairs,
                "a head is D / H wide, so all heads do what one of width D does.": attention * H,
                "this is one head; there are H.": attention // H,
                "each of the T queries meets S keys: T * S pairs, not T * T.": 2 * B * T * T * D,
                "each of the T queries meets S keys: T * S pairs, not S * S.": 2 * B * S * S * D,
                "the scores of one sequence are T by S: the work grows with T * S.": (B * (T + S) * D),
                "queries meet only keys: T * S pairs, not (T + S) * (T + S).": (2 * B * (T + S) ** 2 * D),
                "the number of sequences, B, is missing.": 2 * T * S * D,
                "the scores, too, are T * S, not T * T.": B * D * T * (T + S),
                "the softmax is in the count; only products make multiply-adds.": (attention + B * H * T * S),
            },
        )
        for i, name in enumerate(["the projections' work", "attention's work"]):
            what = f"for B = {B}, T = {T}, S = {S}, D = {D}, H = {H}, {name}"
            found[i].append((result[i], rights[i], what, wrong[i]))
    for both in found:
        compare_numbers(both)


@check
def low_rank_scores(function: Code) -> None:
    """Check ``function(scores, r)``: the queries and keys of a head of width r, and their error.

    ``scores`` is (T, S). The result is Q (T, r), K (S, r) and a number: Q K^T / sqrt(r) is as close
    to the scores as r allows, and the number is how far off it is, as a Frobenius norm.
    """
    draw, errors = normal(6), []
    for T, S, r in [(5, 7, 2), (6, 4, 1), (5, 5, 3)]:
        scores = draw(T, S)
        result = call(function, scores.clone(), r)
        require_parts(result, 3, "three things: Q, K and the error")
        q, k, error = result
        for name, got, shape in [("Q", q, (T, r)), ("K", k, (S, r))]:
            if not isinstance(got, Tensor) or got.shape != shape:
                has = f"has shape {tuple(got.shape)}" if isinstance(got, Tensor) else "is no tensor"
                raise FaultError(f"for scores {(T, S)}, r = {r}: {name} should be {shape}; it {has}.")
        q, k = q.detach().double(), k.detach().double()
        U, sizes, Vh = torch.linalg.svd(scores, full_matrices=False)
        best = U[:, :r] * sizes[:r] @ Vh[:r]
        last = U[:, -r:] * sizes[-r:] @ Vh[-r:]
        mistakes = {
            "the scale is missing: the scores are Q K^T / sqrt(r).": best / r**0.5,
            "the root of r divides where it should multiply: the layer divides already.": best / r,
            "Q takes r where it should take its root.": best * r**0.5,
            "these are columns of the scores, taken as they are; take the factors of the SVD.": (scores[:, :r] @ scores[:r] / r**0.5),
            "the singular values are used twice: once in all.": U[:, :r] * sizes[:r] ** 2 @ Vh[:r],
            "the singular values are not used.": U[:, :r] @ Vh[:r],
            "the smallest singular values are kept; keep the largest.": last,
        }
        made = q @ k.mT / r**0.5
        for mistake, wrong in mistakes.items():
            if torch.allclose(made, wrong.double(), atol=1e-4) and not torch.equal(wrong, best):
                raise FaultError(mistake)
        off, least = (float((scores - each).norm()) for each in (made, best))
        if not off <= least + 1e-4:
            raise FaultError(
                f"for r = {r}, Q K^T / sqrt(r) is {off:.3g} away from the scores (the root of the sum of squares); {least:.3g} is possible."
            )
        left = sizes[r:]
        mistakes = {
            "the error is squared; take the root.": (left**2).sum(),
            "this is the largest singular value left out; the norm takes all.": left.max(),
            "this is the sum of the singular values left out; sum their squares.": left.sum(),
            "this is the norm of what is kept; the error is what is left out.": sizes[:r].norm(),
            "this is a mean of squares; sum them, and take the root.": (left**2).sum() / (T * S),
            "this is the root of the mean square; take the root of the sum.": (left.norm() / (T * S) ** 0.5),
            "this is the mean of the singular values left out; sum their squares.": left.mean(),
            "this is the mean square of the singular values left out; sum, and take the root.": ((left**2).mean()),
            "the error is a share of the scores; give it as it is.": left.norm() / scores.norm(),
        }
        mistakes["the error is that of Q K^T before it is divided by the root of r."] = (scores - best * r**0.5).norm()
        errors.append((error, float(left.norm()), f"for r = {r}, the error", mistakes))
    compare_numbers(errors, "{what} is {got:.4g}; expected {right:.4g}.", atol=1e-4)
