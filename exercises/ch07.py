"""Checks of chapter 7: the classifier's size, a mean as a layer, even weights, near-duplicates."""

import operator
from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor, nn
from utils.attention import MultiHeadAttention
from utils.classifier import TextClassifier
from utils.fast import FastMultiHeadAttention

from exercises.comparing import compare_numbers
from exercises.exercise import Case, Cases, Code, FaultError, call, check, compare, exercise, normal, require_parts
from exercises.mistakes import wrong_means


@exercise
def classifier_size() -> Cases:
    """Check the number of parameters of ``TextClassifier``.

    ``function(vocab_size, embed_dim, num_heads, hidden_dim, num_classes)`` takes and returns ints.
    """
    found = []
    for sizes in [(1000, 64, 8, 128, 5), (50, 12, 3, 7, 2), (50, 12, 1, 7, 2)]:
        V, D, H, hidden_dim, C = sizes
        model = TextClassifier(V, D, C, MultiHeadAttention(D, H), hidden_dim)
        right = sum(parameter.numel() for parameter in model.parameters())
        mistakes = {
            "the bias of each of the attention's four projections is missing.": right - 4 * D,
            "the attention's last projection is missing.": right - D * D - D,
            "the embedding is missing.": right - V * D,
            "the two biases of the classifier are missing.": right - hidden_dim - C,
            "the classifier's hidden layer is missing.": right - D * hidden_dim - hidden_dim,
            "the classifier has a hidden layer; yours leads from D to the classes at once.": right
            - (D + 1) * hidden_dim
            + (D - hidden_dim) * C,
            "the hidden layer is hidden_dim × hidden_dim; it reads D numbers.": right + (hidden_dim - D) * hidden_dim,
            "all biases are missing.": right - 4 * D - hidden_dim - C,
            "an embedding is a table of V × D numbers; it has no bias.": right + D,
            "an embedding is a table of V × D numbers, without a bias for each token.": right + V,
        }
        where = f"with {V} tokens, D = {D} and H = {H}"
        found.append((yield Case(sizes, right, mistakes, where, form="{what}: {got} instead of {right}.")))
    three, one = found[1:]
    if isinstance(one, int | float) and isinstance(three, int | float) and abs(one - three) > 0:
        raise FaultError(
            f"your number changes with H ({one:,} with one head, {three:,} with three), and the "
            "model's does not: H heads share the width, each has D/H numbers, and together their "
            "matrices are D × D as those of one head are."
        )


@check
def mean_layer(layer: nn.Module) -> None:
    """Check a layer that gives the mean of the values that are not blocked.

    ``layer(query, key, value, key_padding_mask=None, need_weights=True)`` takes query (B, T, D),
    key and value (B, S, D) and the mask (B, S), bool, True = blocked. It returns the mean of the
    values, (B, 1, D), and None. Where every key is blocked the mean is zero.
    """
    if isinstance(layer, type):
        raise FaultError(f"this is the class {layer.__name__}, and the check calls a layer: make one, {layer.__name__}().")
    value = torch.tensor([[1.0, 2.0], [3.0, 4.0], [9.0, 9.0]]).repeat(3, 1, 1)  # (B, S, D)
    blocked = torch.tensor([[0, 0, 1], [0, 0, 0], [1, 1, 1]]).bool()  # (B, S)
    query = torch.tensor([[[5.0, 5.0]]]).expand(3, 1, 2)  # (B, T, D)
    expected = torch.tensor([[[2.0, 3.0]], [[13 / 3, 5.0]], [[0.0, 0.0]]])
    counts = ~blocked.unsqueeze(-1)  # (B, S, 1)
    mistakes = wrong_means(value, counts, "blocked", dim=1, keepdim=True) | {
        "this is the query.": query,
        "this is the first value, not the mean.": value[:, :1],
    }
    result = call(layer, query, value, value, key_padding_mask=blocked)
    got = _first(result)
    if result[1] is not None:
        raise FaultError("the second thing you return should be None: this layer has no weights.")
    if isinstance(got, Tensor) and got.dim() and got.isnan().any() and not got[:2].isnan().any():
        raise FaultError("where every key is blocked, the mean is 0/0; it should be zero.")
    compare(got, expected, "the output", mistakes)
    try:
        got = _first(call(layer, query, value, value, need_weights=False))
    except FaultError as error:
        raise FaultError(f"with key_padding_mask=None nothing is blocked, but {error}") from error
    compare(got, value.mean(dim=1, keepdim=True), "the output without a mask")


@check
def even_weights(function: Code) -> None:
    """Check a function that makes the weights of a ``FastMultiHeadAttention`` even, for good.

    ``function(layer)`` changes the layer. Then each key that is not blocked has the same weight,
    whatever is asked, after a step of training too; values and last projection are as they were.
    """
    draw = normal(0)
    layer: Any = FastMultiHeadAttention(8, 2)
    with torch.no_grad():
        for parameter in layer.parameters():
            parameter.copy_(draw(parameter.shape))
    before = {name: p.detach().clone() for name, p in layer.named_parameters()}
    returned = call(function, layer)
    layer = returned if isinstance(returned, MultiHeadAttention) else layer
    for name, old in before.items():
        now = dict(layer.named_parameters()).get(name)
        if name.startswith(("v_proj", "out_proj")) and (now is None or not torch.equal(now, old)):
            raise FaultError(f"{name} has changed; only queries and keys make the weights.")
    query, x = draw(2, 1, 8), draw(2, 5, 8)  # (B, T, D), (B, S, D)
    if not _is_even(layer, query, x):
        if all(torch.equal(p, before[name]) for name, p in layer.named_parameters()):
            frozen = any(not p.requires_grad for p in layer.parameters())
            raise FaultError(
                "what you froze keeps the numbers it was drawn with, and some keys have more "
                "weight than others: set it to zero as well, nn.init.zeros_(p)."
                if frozen
                else "the layer is as it was: some keys have more weight than others. (p = ... "
                "gives the name p to another tensor; nn.init.zeros_(p) writes into this one.)"
            )
        biased = bool(layer.q_proj.bias.any()) and not bool(layer.q_proj.weight.any())
        raise FaultError(
            "the query's bias is still there, and a query of b alone scores the keys differently."
            if biased
            else "a query of equal numbers still scores the keys differently: only zeros do not."
            if any(p.unique().numel() == 1 and p.any() for p in layer.q_proj.parameters())
            else "some keys have more weight than others."
        )
    trained = [parameter for parameter in layer.parameters() if parameter.requires_grad]
    if not any(parameter is layer.v_proj.weight for parameter in trained):
        raise FaultError("the values are frozen too; they should go on learning.")
    optimizer = torch.optim.AdamW(trained, lr=0.1)
    for _ in range(2):
        output, _ = layer(query, x, x, need_weights=False)
        optimizer.zero_grad()
        output.square().sum().backward()
        optimizer.step()
    if not _is_even(layer, query, x):
        raise FaultError(
            "they are even now, but two steps of training make them uneven again: what you set "
            "still learns. Freeze it, requires_grad_(False), the bias too."
        )


@torch.no_grad()
def _is_even(layer: Any, query: Tensor, x: Tensor) -> bool:
    blocked = torch.tensor([[0, 0, 0, 0, 0], [0, 0, 0, 1, 1]]).bool()  # (B, S)
    _, weights = call(layer, query, x, x, key_padding_mask=blocked, average_attn_weights=False)
    allowed = (~blocked).float()[:, None, None]  # (B, 1, 1, S)
    return torch.allclose(weights, (allowed / allowed.sum(-1, keepdim=True)).expand_as(weights))


@check
def share_seen(function: Code) -> None:
    """Check the share of a text's runs of eight words that another text holds.

    ``function(words, other)`` takes two lists of words and returns a float. A run that occurs twice
    counts once; a text of fewer than eight words is one run.
    """
    long, other = "abcdefghijkl", "xbcdefghijkyzuvwst"  # 5 runs and 11; three are in both
    twice = "abcdefgh" * 2 + "zy"
    cases = []
    for first, second in [(long, other), (other, long), (twice, "abcdefghzy")]:
        words, others = list(first), list(second)
        got, wrong = call(function, words, others), _wrong_shares(words, others)
        cases.append((got, _share(words, others), f"the share of {len(words)} words", wrong))
    compare_numbers(cases)
    try:
        same, none = (float(function(list("abc"), list(text))) for text in ("abc", "xabc"))
    except Exception as error:  # the reader's code may raise anything
        said = "a text of three words, fewer than eight, has no share yet"
        raise FaultError(f"{said} ({type(error).__name__}); take all of it as one run.") from error
    if (same, none) != (1.0, 0.0):
        raise FaultError(
            f"a text of three words is one run: its share should be 1 in the same text and 0 in another; got {same:g} and {none:g}."
        )


def _runs(words: Sequence[str], n: int = 8) -> list[tuple[str, ...]]:
    return [tuple(words[i : i + n]) for i in range(max(len(words) - n, 0) + 1)]


def _share(words: Sequence[str], other: Sequence[str]) -> float:
    own, there = set(_runs(words)), set(_runs(other))
    return len(own & there) / len(own)


def _wrong_shares(words: Sequence[str], other: Sequence[str]) -> dict[str, float]:
    own, there = set(_runs(words)), set(_runs(other))
    shared, listed = len(own & there), _runs(words)
    seven, nine = (len({*_runs(words, n)} & {*_runs(other, n)}) / len({*_runs(words, n)})
                   for n in (7, 9))  # fmt: skip

    def taken(step: int) -> float:
        mine, its = ({tuple(t[i : i + 8]) for i in range(0, len(t), step)} for t in (words, other))
        return len(mine & its) / len(mine)

    return {
        "the runs at the end are shorter than eight words; the last begins at len(words) - 8.": (taken(1)),
        "your runs do not overlap; one begins at every word.": taken(8),
        "this divides by the runs of both texts; divide by those of the text itself.": shared / len(own | there),
        "this divides by the runs of the other text; divide by those of the text itself.": shared / len(there),
        "a run that occurs twice counts twice; make a set of the runs.": sum(run in there for run in listed) / len(listed),
        "you compare runs in the same place; one may stand anywhere in the other text.": sum(map(operator.eq, listed, _runs(other)))
        / len(listed),
        "the last run is missing: there are len(words) - 7 of them.": len(set(listed[:-1]) & set(_runs(other)[:-1]))
        / len(set(listed[:-1])),
        "this is a percentage; a share lies between 0 and 1.": 100 * shared / len(own),
        "your runs have seven words; words[i : i + 8] has eight.": seven,
        "your runs have nine words; words[i : i + 8] has eight.": nine,
        "these are single words; compare runs of eight.": len(set(words) & set(other)) / len(set(words)),
    }


def _first(result: Any) -> Any:
    require_parts(result, 2, "two things: a layer's output and the weights, here None")
    return result[0]
