"""Checks of chapter 17: cross-attention, smoothed loss, a step of beam search, what looks ahead.

Shapes: B pairs, T tokens of the target, S of the source, D = the width, V = the vocabulary.
"""

from collections.abc import Callable

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor

from exercises.exercise import Case, Cases, Code, FaultError, call, check, exercise, normal
from exercises.mistakes import soft, wrong_attention, wrong_means


@exercise
def cross_attention() -> Cases:
    """Check ``function(y, memory, w_q, w_k, w_v, padding)``: one head that reads another text.

    ``y`` is (B, T, D), ``memory`` (B, S, D), the weights are (D, D_head), and ``padding`` is
    (B, S), True = padding. The result is (B, T, D_head).
    """
    draw = normal(14)
    for B, T, S, D, D_head in [(4, 4, 4, 6, 4), (2, 3, 5, 4, 2)]:  # first one hides wrong axes
        y, memory, weights = draw(B, T, D), draw(B, S, D), draw(3, D, D_head)
        padding = torch.arange(S) >= S - 1 - torch.arange(B).unsqueeze(1) % 3  # (B, S)
        q, k, v = (x @ w for x, w in zip((y, memory, memory), weights, strict=True))
        y_k, y_v = y @ weights[1], y @ weights[2]
        allowed, root = ~padding.unsqueeze(1), D_head**0.5
        scores, causal = q @ k.mT / root, torch.ones(T, S, dtype=torch.bool).tril()
        mistakes = wrong_attention(q, k, v, allowed, "padding", D) | {
            "there is no causal mask here: the whole source may be read.": (soft(scores, allowed & causal) @ v),
            "the source asks; queries come from the target, keys and values from the source.": (
                soft(memory @ weights[0] @ y_k.mT / root) @ y_v
            ),
            "the target attends to itself; keys and values come from the source.": (soft(q @ y_k.mT / root) @ y_v),
        }
        if T == S:
            said = "the padding meets the queries; it belongs to the keys: padding.unsqueeze(1)."
            mistakes[said] = soft(scores, ~padding.unsqueeze(2)) @ v
            mistakes |= {
                "the mask of pair b meets query b; it needs an axis: padding.unsqueeze(1).": (soft(scores, ~padding) @ v),
                "keys and values come from y, the target; take them from memory.": (soft(q @ y_k.mT / root, allowed) @ y_v),
                "the values come from y, the target; take them from memory.": (soft(scores, allowed) @ y_v),
                "the keys come from y, the target; take them from memory.": (soft(q @ y_k.mT / root, allowed) @ v),
                "the source asks; queries come from y, keys and values from memory.": (
                    soft(memory @ weights[0] @ y_k.mT / root, allowed) @ y_v
                ),
            }
        yield Case((y, memory, *weights, padding), soft(scores, allowed) @ v, mistakes, "the output")


@exercise
def smoothed_loss() -> Cases:
    """Check ``function(logits, labels, smoothing)``: the mean cross-entropy, smoothed.

    ``logits`` is (B, T, V), ``labels`` (B, T) int64, where 0 is padding and does not count. The
    result is a number, or a tensor of one.
    """
    generator = torch.Generator().manual_seed(14)
    for smoothing in (0.1, 0.3, 0.0):
        logits = 2 * torch.randn(3, 6, 7, generator=generator)
        labels = torch.randint(1, 7, (3, 6), generator=generator)
        labels[1, 4:], labels[2, 1:] = 0, 0
        what = f"with smoothing {smoothing}, the loss"
        log_p, counts = logits.flatten(0, 1).log_softmax(-1), labels.flatten() != 0
        of_label = log_p.gather(1, labels.flatten().unsqueeze(1)).squeeze(1)
        losses = F.cross_entropy(
            logits.flatten(0, 1), labels.flatten(), label_smoothing=smoothing, reduction="none"
        )  # (B * T,), of padding too
        right = float(losses[counts].mean())
        others = (log_p.sum(1) - of_label) / 6
        values = logits.softmax(-1), logits.log_softmax(1)
        probabilities, turned = (_smoothed(x, labels, smoothing) for x in values)

        def mean(label: float, share: float, spread: Tensor) -> float:
            return float(-(label * of_label + share * spread)[counts].mean())  # noqa: B023

        mistakes = wrong_means(losses, counts, "padding", dim=0) | {
            "the labels are not smoothed.": -of_label[counts].mean(),
            "the share goes to the others alone; the label has part of it.": mean(1 - smoothing, smoothing, others),
            "the shares are exchanged: 1 - smoothing goes to the label.": (mean(smoothing, 1 - smoothing, log_p.mean(1))),
            "the label has no part of what is spread; spread it over all V.": mean(1 - smoothing, smoothing * 6 / 7, others),
            "these are probabilities; take their logs, by log_softmax.": probabilities,
            "the softmax runs over the wrong axis, the places; it should be the tokens.": turned,
            "the label still has all of its share; give it 1 - smoothing.": mean(1.0, smoothing, log_p.mean(1)),
            "the sign is wrong: a loss is minus a log-probability.": -right,
            "the share goes to each token; divide it by V.": mean(1 - smoothing, smoothing, log_p.sum(1)),
            "this is the mean of the texts' means; every label counts alike.": float(
                ((losses * counts).view(3, 6).sum(1) / counts.view(3, 6).sum(1)).mean()
            ),
            "this is the log of a mixture; mix the logs, of the label and of all tokens.": float(
                -((1 - smoothing) * of_label.exp() + smoothing / 7).log()[counts].mean()
            ),
        }
        form = "{what} is {got:.3f} instead of {right:.3f}."
        yield Case((logits, labels, smoothing), right, mistakes, what, form=form, atol=1e-4)


@exercise
def beam_step() -> Cases:
    """Check ``function(sums, steps)``: the best of all continuations.

    ``sums`` is (width,), ``steps`` (width, V), log-probabilities. The result is three tensors
    (width,), best first: the new sums, the beginning each comes from, and the token it adds.
    """
    draw = normal(14)
    for width, V in [(3, 5), (2, 9), (4, 4), (1, 6)]:
        sums = 2 * draw(width) - 4
        steps = draw(width, V).log_softmax(-1)
        everything = sums.unsqueeze(1) + steps
        best, places = everything.flatten().topk(width)
        greedy, _ = everything.max(1)
        turned = everything.T.flatten().topk(width).indices
        by_tokens = "the candidates are laid out token by token here; flatten (width, V), not (V, width)."
        of_sums = {
            "each beginning keeps its own best token; all candidates compete.": greedy,
            "each beginning keeps one, sorted; all candidates compete.": greedy.sort(descending=True).values,
            "the sums so far are missing; add them.": steps.flatten().topk(width).values,
            "these are the worst; keep the best.": (everything.flatten().topk(width, largest=False).values),
            "log-probabilities are added, not multiplied.": ((sums.unsqueeze(1) * steps).flatten().topk(width).values),
            "best first, please.": best.flip(0),
            "these are probabilities; return their logarithms.": best.exp(),
        }
        where = f"with {width} beginnings and {V} tokens, the tensor of "
        beginning = {
            "beginnings and tokens are exchanged.": places % V,
            "these are places among all width * V candidates; divide by V.": places,
            "divide by the number of tokens V, not of beginnings.": places // width,
            "these are no whole numbers; divide with //.": places / V,
        }
        token = {
            "the token is the remainder after dividing by V, not by the width.": places % width,
        }
        wrong: dict[str, tuple[Tensor | None, ...]] = {said: (made, None, None) for said, made in of_sums.items()}
        wrong |= {said: (None, made, None) for said, made in beginning.items()}
        wrong |= {said: (None, None, made) for said, made in token.items()} | {by_tokens: (None, turned // V, turned % V)}
        right, what = (best, places // V, places % V), tuple(f"{where}{name}" for name in ("new sums", "beginnings", "tokens"))
        yield Case((sums, steps), right, wrong, what, "three things: sums, beginnings and tokens")


@check
def looks_ahead(function: Code) -> None:
    """Check ``function(decode, T, vocab_size)``: whether an output depends on a later token.

    ``decode`` takes ids (B, T), int64 from 0 to ``vocab_size`` - 1, and gives logits (B, T, V). The
    result is a bool.
    """
    T, V = 7, 5
    ones = torch.ones(T, T)
    decoders = {
        "sees all that came before": (ones.tril(), False),
        "sees its own token only, which is allowed": (ones.tril().triu(), False),
        "sees the three newest tokens": (ones.tril().triu(-2), False),
        "has no mask": (ones, True),
        "sees one token ahead": (ones.tril(1), True),
        "sees nothing but what is to come": (ones.triu(1), True),
    }
    for output, token in torch.ones(T, T).triu(1).nonzero().flip(0).tolist():
        sees = ones.tril()
        sees[output, token] = 1.0
        decoders[f"lets only output {output} see token {token}"] = (sees, True)
    for name, (sees, ahead) in decoders.items():
        for seed in range(3):
            torch.manual_seed(seed)
            if _says(function, _decoder(sees, V), T, V) == ahead:
                continue
            said = f"a decoder that {name} {'does' if ahead else 'does not'} look ahead"
            if ahead:
                raise FaultError(f"{said} (beyond rounding); your function says False.")
            if _says(function, _decoder(sees, V, rounding=0.0), T, V):
                raise FaultError(f"{said}; your function says True. The output at the changed token may move: compare those before it.")
            said += " (beyond rounding, here 1e-7)"
            raise FaultError(f"{said}; your function says True. Allow a tolerance.")


def _smoothed(x: Tensor, labels: Tensor, smoothing: float) -> float:
    of_label = x.gather(2, labels.unsqueeze(2)).squeeze(2)
    return -float(((1 - smoothing) * of_label + smoothing * x.mean(2))[labels != 0].mean())


def _says(function: Code, decode: Callable[[Tensor], Tensor], T: int, V: int) -> bool:
    got = call(function, decode, T, V)
    if isinstance(got, Tensor) and got.shape in ((), (1,)):
        got = got.item()
    if not isinstance(got, bool | np.bool_):
        raise FaultError(f"return True or False; got {type(got).__name__}.")
    return bool(got)


def _decoder(sees: Tensor, vocab_size: int, rounding: float = 1e-7) -> Callable[[Tensor], Tensor]:
    table = torch.randn(vocab_size, vocab_size)

    def decode(ids: Tensor) -> Tensor:
        if ids.dim() != 2 or ids.min() < 0 or ids.max() >= vocab_size:
            raise ValueError(f"ids should be (B, T), from 0 to {vocab_size - 1}")
        T = ids.shape[1]
        logits = sees[:T, :T] @ table[ids]  # (B, T, V)
        return logits + rounding * torch.randn_like(logits)  # as another kernel would round

    return decode
