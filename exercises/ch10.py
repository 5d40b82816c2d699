"""Checks of chapter 10: the same function with less work, padding, and a bag of tokens.

Shapes: B sequences, T queries, S keys, H heads, D = the tokens' width.
"""

from functools import partial
from typing import Any

import torch
from torch import Tensor, nn

from exercises.comparing import compare_numbers, compare_work
from exercises.exercise import Case, Cases, Code, FaultError, as_number, call, check, exercise, normal, require_parts, work
from exercises.mistakes import NO_BIAS, STRIDED, split, strided, wrong_orders, wrong_scales

B, H, T, S, D_HEAD, D = 2, 3, 2, 7, 4, 10  # D is not H * D_HEAD here


@exercise
def absorbed_scores() -> Cases:
    """Check ``function(q, tokens, k_weight)``: scores from keys that are never made.

    ``q`` is (B, H, T, D_head), projected; ``tokens`` (B, S, D); ``k_weight`` (H * D_head, D), the
    weight of an ``nn.Linear``. The result is (B, H, T, S), divided by the root of D_head.
    """
    draw = normal(11)
    q = draw(B, H, T, D_HEAD)
    tokens, weight, keys, stripes = _tokens_and_heads(draw)
    products = q @ keys.mT
    right = products / D_HEAD**0.5
    mistakes = wrong_scales(products, D_HEAD, width=D) | {
        "queries and keys are exchanged: (B, H, T, S).": right.mT,
        "these are the weights; give the scores, before the softmax.": right.softmax(-1),
        STRIDED: q @ stripes.mT / D_HEAD**0.5,
    }
    mistakes |= wrong_orders(keys, 1, lambda wrong: q @ wrong.mT / D_HEAD**0.5)
    # Each query goes through the weight, and then meets every token.
    enough = B * H * T * (D_HEAD * D + S * D)
    with work(enough, "a key was projected"):
        yield Case((q, tokens, weight), right, mistakes, "the result", atol=1e-4)


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
    tokens, weight, values, stripes = _tokens_and_heads(draw)
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


@check
def row_asked_for(function: Code) -> None:
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
    with torch.no_grad():
        inputs, waste = (layer, x), "more rows were computed"
        try:
            compare_work(function, inputs, every[:, -1], "the result", mistakes, enough, waste)
        except FaultError as fault:
            if any(flat):
                said = "the query has lost a dimension: x[:, -1] is (B, D), x[:, -1:] (B, 1, D)."
                raise FaultError(said) from fault
            raise
    if any(asked):
        raise FaultError("the row is right, but the weights were asked for: need_weights=False.")


@check
def padding_tokens(function: Code) -> None:
    """Check ``function(lengths, batch_size)``: padding in batches as given, and sorted by length.

    ``lengths`` is a list of ints. The result is two ints: how many padding tokens the batches hold
    when texts are taken in the order given, and when they are sorted by length first. Either end
    may come first; the smaller last batch then holds others, and the number is another.
    """
    cases = [([5, 1, 4, 2], 2), ([3, 9, 2, 7, 7, 1, 8, 6], 3), ([4, 4, 3], 2), ([6], 4)]
    results = [call(function, list(lengths), size) for lengths, size in cases]
    for result in results:
        require_parts(result, 2, "two numbers: as given, and sorted")
    by_length = [as_number(result[1], "the padding of sorted batches") for result in results]
    longest_first = by_length == [_padding(sorted(n, reverse=True), size) for n, size in cases]
    for i in range(1 if longest_first else 2):
        found = []
        for result, (lengths, size) in zip(results, cases, strict=True):
            order = sorted(lengths) if i else lengths
            what = f"for lengths {order} in batches of {size}, the padding"
            wrong = _wrong_paddings(lengths, size, is_sorted=bool(i))
            found.append((result[i], _padding(order, size), what, wrong))
        compare_numbers(found)


def _wrong_paddings(lengths: list[int], size: int, is_sorted: bool) -> dict[str, int]:
    known: dict[str, int] = {}
    ends = [sorted(lengths), sorted(lengths, reverse=True)] if is_sorted else [lengths]
    for n, order in enumerate(ends):
        end = ", longest first" if n else ""
        right, whole = _padding(order, size), order[: len(order) // size * size]
        missing = -len(order) % size * max(order[len(whole) :], default=0)
        known |= {
            f"these are all positions{end}; subtract the tokens.": right + sum(order),
            f"the last batch, which may be smaller, is left out{end}.": _padding(whole, size),
            f"the last batch, which may be smaller, is counted as full{end}.": right + missing,
        }
    other = lengths if is_sorted else sorted(lengths)
    back = other if is_sorted else other[::-1]
    return known | {
        "a batch is padded to its own longest text.": _padding(lengths, len(lengths)),
        "a batch is padded to its own longest text, and the last one is full.": (
            -(-len(lengths) // size) * size * max(lengths) - sum(lengths)
        ),
        "the two orders are the wrong way round.": _padding(other, size),
        "the two orders are the wrong way round, longest first.": _padding(back, size),
    }


@exercise
def bag_of_tokens() -> Cases:
    """Check ``function(scores, occurs, values)``: attention to the vocabulary, not to the text.

    ``scores`` is (V,), those of one query; ``occurs`` (B, V), how often each token occurs in each
    text, int64; ``values`` (V, D). The result is what the query gathers from each text, (B, D).
    """
    draw = normal(14)
    scores, values = draw(6), draw(6, 4)
    occurs = torch.tensor([[1, 3, 0, 2, 0, 1], [0, 1, 5, 0, 2, 0], [2, 0, 0, 1, 1, 4]])
    texts = [torch.arange(6).repeat_interleave(row) for row in occurs]
    right = torch.stack([scores[text].softmax(0) @ values[text] for text in texts])
    often, shares = occurs.float(), scores.softmax(0)  # of the vocabulary, each token once
    counted = often * scores.exp()
    mistakes = {
        "how often a token occurs is not used: every text gathers the same.": ((shares @ values).expand(3, 4)),
        "how often is forgotten: a token counts once, however often it occurs.": ((scores + (often > 0).log()).softmax(-1) @ values),
        "the counts are added to the scores; add their logarithms.": ((scores + often).softmax(-1) @ values),
        "the scores are multiplied by the counts; add the logarithms of these.": ((scores * often).softmax(-1) @ values),
        "a token that does not occur has a weight; with the logarithm of 0, -inf, it has none.": (
            (scores + often.log1p()).softmax(-1) @ values
        ),
        "the logarithm of 0 was made 0, so a token that does not occur weighs as if it did.": (
            (scores + often.clamp(min=1).log()).softmax(-1) @ values
        ),
        "the counts come after the softmax, so the weights no longer sum to one.": ((shares * often) @ values),
        "the exponentials are not divided by their sum.": counted @ values,
        "the softmax runs over the texts; it should run over the vocabulary.": ((scores + often.log()).softmax(0).nan_to_num() @ values),
        "this is the mean of the values; the scores are not used.": (often / often.sum(-1, keepdim=True) @ values),
    }
    yield Case((scores, occurs, values), right, mistakes, "what the query gathers")


def _padding(lengths: list[int], size: int) -> int:
    parts = [lengths[i : i + size] for i in range(0, len(lengths), size)]
    return sum(len(part) * max(part) - sum(part) for part in parts)


def _tokens_and_heads(draw: Code) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """Give tokens (B, S, D), a weight, its heads (B, H, S, D_head), and heads cut wrongly."""
    tokens, weight = draw(B, S, D), draw(H * D_HEAD, D)
    projected = tokens @ weight.T  # (B, S, H * D_head)
    return tokens, weight, split(projected, H), strided(projected, H)
