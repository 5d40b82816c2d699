"""Checks of chapter 10: the same function with less work.

Shapes: B sequences, T queries, S keys, H heads, D = the tokens' width.
"""

from functools import partial
from typing import Any

import torch
from torch import nn

from exercises.exercise import Case, Cases, FaultError, Prediction, exercise, work
from exercises.mistakes import NO_BIAS, STRIDED, split, strided, wrong_orders

B, H, T, S, D_HEAD, D = 2, 3, 2, 7, 4, 10  # D is not H * D_HEAD here


@exercise
def absorbed_values() -> Cases:
    """Check ``function(weights, tokens, v_weight, v_bias)``: heads from values never made.

    ``weights`` is (B, H, T, S), and its rows need not sum to one; ``tokens`` (B, S, D);
    ``v_weight`` (H * D_head, D) and ``v_bias`` (H * D_head,). The result is (B, H, T, D_head).
    """
    random = torch.Generator().manual_seed(12)
    weights = torch.randn(B, H, T, S, generator=random).softmax(dim=-1)
    weights = weights * (torch.rand(B, H, T, S, generator=random) < 0.7) / 0.7
    draw = partial(torch.randn, generator=random)
    tokens, weight = draw(B, S, D), draw(H * D_HEAD, D)
    projected = tokens @ weight.T  # (B, S, H * D_head)
    values, stripes = split(projected, H), strided(projected, H)
    bias = draw(H * D_HEAD)
    mixed, sums = weights @ values, weights.sum(-1, keepdim=True)  # (B, H, T, D_head)
    shift = bias.view(H, 1, D_HEAD)
    right = mixed + sums * shift
    mistakes = {
        NO_BIAS: mixed,
        "the bias is added once for each query; the sum of its weights counts.": mixed + shift,
        "the bias is added for each token; the weights share it out.": mixed + S * shift,
        "the weights were made to sum to one; take them as they are.": mixed / sums + shift,
        STRIDED: weights @ stripes + sums * shift,
        "the heads stand side by side; give (B, H, T, D_head).": right.transpose(1, 2).flatten(2),
        "heads and queries are swapped.": right.transpose(1, 2),
    } | wrong_orders(values, 1, lambda wrong: weights @ wrong + sums * shift)
    # Each row mixes the tokens, then goes through the weight; sum and bias may be products too.
    enough = B * H * T * (S * D + D * D_HEAD + S + D_HEAD)
    with work(enough, "a value was projected"):
        yield Case((weights, tokens, weight, bias), right, mistakes, "the result", atol=1e-4)


@exercise
def row_asked_for() -> Cases:
    """Check ``function(layer, x)``: the last row of self-attention, without the other rows.

    ``layer`` is an ``nn.MultiheadAttention``, batch first, and ``x`` (B, T, D). The result is the
    last row of ``layer(x, x, x)[0]``, (B, D).
    """
    rows, length, width = 3, 11, 12
    random = torch.Generator().manual_seed(13)
    layer = nn.MultiheadAttention(width, 3, batch_first=True)
    for parameter in layer.parameters():
        nn.init.normal_(parameter, std=0.5, generator=random)
    x = torch.randn(rows, length, width, generator=random)
    with torch.no_grad():
        every, alone = layer(x, x, x)[0], layer(*[x[:, -1:]] * 3)[0][:, 0]
    mistakes = {
        "this is the first row; give the last.": every[:, 0],
        "these are all rows; give the last alone, (B, D).": every,
        "the row is right, and has a dimension too many: give (B, D).": every[:, -1:],
        "the last token attends to itself alone; every token is a key.": alone,
    }
    asked: list[bool] = []
    flat: list[bool] = []

    def note(_: nn.Module, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        asked.append(kwargs.get("need_weights", args[4] if len(args) > 4 else True))
        flat.append(bool(args) and args[0].dim() < x.dim())

    layer.register_forward_pre_hook(note, with_kwargs=True)
    # One query and one output, keys and values for all tokens, and one row of both products.
    enough = rows * (2 * width**2 + 2 * length * width**2 + 2 * length * width)
    try:
        with torch.no_grad(), work(enough, "more rows were computed"):
            yield Case((layer, x), every[:, -1], mistakes, "the result", atol=1e-4)
    except FaultError as fault:
        if any(flat):
            raise FaultError("the query has lost a dimension: x[:, -1] is (B, D), x[:, -1:] (B, 1, D).") from fault
        raise
    if any(asked):
        raise FaultError("the row is right, but the weights were asked for: need_weights=False.")


@exercise
def queries_absorbed() -> Cases:
    """Check up to how many queries absorption needs fewer multiply-adds: S = 512, D = 64, H = 8.

    The number at which both orders need as many, 8.98, is right as well as the 8 below it.
    """
    S, D, H = 512, 64, 8
    equal = S * D / (D + S * (H - 1))
    mistakes = {
        S: "with all 512 queries absorption is the dearer order: scores and mixtures grow with n times D times H.",
        D: "an absorbed query meets all D numbers of a token in each head: n S D H for the scores alone.",
        S * D / (D + S * H): "a projected query meets the keys as well: 2 n S D belong to the first order.",
        S * D / (D + S * D): "a token has D numbers, and there are H heads; D times D is too many.",
        S * D / (S * (H - 1)): "bringing the queries there and back has a price, 2 n D D.",
        9: "with nine queries absorption needs more; up to how many does it need less?",
        1: "one query is not all: with two it still needs fewer.",
    }

    def other(n: float) -> str:
        side = "fewer" if n < equal else "more"
        return f"with {n:g} queries absorption needs {side} multiply-adds. Write both counts, and set them equal."

    yield Prediction("the number of queries", (equal - 1, equal + 0.01), mistakes, 0.15, other)
