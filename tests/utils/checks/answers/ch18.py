"""The checks of chapter 18 accept what is right, however written, and name what is wrong."""

from itertools import pairwise

import numpy as np
import torch
import torch.nn.functional as F

from utils.checks import ch18


def by_places(probabilities, p):
    ordered, places = probabilities.sort(descending=True)
    stays = ordered.cumsum(0) - ordered < p
    kept = torch.zeros_like(probabilities)
    kept[places[stays]] = ordered[stays]
    return kept / kept.sum()


def one_by_one(probabilities, p):
    kept, total = torch.zeros(len(probabilities)), 0.0
    for i in sorted(range(len(kept)), key=lambda i: -probabilities[i].item()):
        if total < p:
            kept[i] = probabilities[i]
            total += probabilities[i].item()
    return kept / total


def by_count(probabilities, p, more=1, descending=True):
    """Keep those whose sum is at most p, and so many more."""
    ordered, places = probabilities.sort(descending=descending)
    count = int((ordered.cumsum(0) <= p).sum()) + more
    kept = torch.zeros_like(probabilities)
    kept[places[:count]] = ordered[:count]
    return kept / kept.sum()


def in_a_loop(word, merges):
    pieces = list(word)
    while known := [pair for pair in pairwise(pieces) if pair in merges]:
        pieces = joined(pieces, min(known, key=merges.index))
    return pieces


def in_the_order_learnt(word, merges):
    pieces = list(word)
    for pair in merges:
        pieces = joined(pieces, pair)
    return tuple(pieces)


def joined(pieces, pair):
    new, i = [], 0
    while i < len(pieces):
        if tuple(pieces[i : i + 2]) == pair:
            new.append(pieces[i] + pieces[i + 1])
            i += 2
        else:
            new.append(pieces[i])
            i += 1
    return new


def leftmost(word, merges):
    pieces = list(word)
    while known := [i for i, pair in enumerate(pairwise(pieces)) if pair in merges]:
        pieces[known[0] : known[0] + 2] = [pieces[known[0]] + pieces[known[0] + 1]]
    return pieces


def longest_first(word, merges):
    known, pieces = {a + b for a, b in merges} | set(word), []
    while word:
        size = max(n for n in range(1, len(word) + 1) if word[:n] in known)
        pieces.append(word[:size])
        word = word[size:]
    return pieces


def with_cross_entropy(logits, ids):
    return F.cross_entropy(logits[:, :-1].flatten(0, 1), ids[:, 1:].flatten()).exp()


def in_numpy(logits, ids):
    return np.float64(with_cross_entropy(logits.double(), ids).item())


def by_powers_of_two(logits, ids):
    nats = F.cross_entropy(logits[:, :-1].mT, ids[:, 1:])
    return (2 ** (nats / np.log(2))).item()


def losses(logits, ids):
    return F.cross_entropy(logits[:, :-1].mT, ids[:, 1:], reduction="none")


def by_diagonal(weights):
    n = weights.shape[-1] // 2
    return weights.diagonal(1 - n, dim1=-2, dim2=-1)[..., 1:].mean(dim=(0, 2))


def in_loops(weights):
    B, H, T, _ = weights.shape
    total = torch.zeros(H)
    for b in range(B):
        for t in range(T // 2, T):
            total += weights[b, :, t, t - T // 2 + 1]
    return total / (B * (T // 2))


def diagonal(offset, weights, skip=0):
    return weights.diagonal(offset, dim1=-2, dim2=-1)[..., skip:].mean(dim=(0, 2))


def by_counting(ids, end):
    is_end = (ids == end).long()
    text = is_end.cumsum(0) - is_end
    return (text.unsqueeze(1) == text).tril()


def causal(ids):
    return torch.ones(len(ids), len(ids), dtype=torch.bool).tril()


RIGHT = {
    ch18.top_p: [by_places, one_by_one],
    ch18.merged_word: [in_a_loop, in_the_order_learnt],
    ch18.perplexity: [in_numpy, by_powers_of_two],
    ch18.induction_score: [by_diagonal, in_loops],
    ch18.row_mask: [by_counting],
}

WRONG = {
    ch18.top_p: [
        (lambda x, p: by_count(x, p, more=0), "the token that passes p is missing: keep"),
        (
            by_places,
            {"kept[places[stays]] = ordered[stays]": "kept = probabilities * stays"},
            "in the order of the probabilities",
        ),
        (
            by_places,
            {"kept[places[stays]] = ordered[stays]": "kept = ordered * stays"},
            "these are sorted",
        ),
        (lambda x, p: x * (by_places(x, p) > 0), "does not sum to one: divide"),
        (lambda x, p: by_count(x, p, more=2), "one token too many"),
        (lambda x, p: by_count(x, p, descending=False), "least probable tokens are kept"),
        (
            lambda x, p: x.masked_fill(by_places(x, p) == 0, -torch.inf).softmax(0),
            "a softmax of probabilities is flatter",
        ),
        (lambda x, p: x.clone(), "nothing is left out"),
        (lambda x, p: x.square(), "the result is wrong at"),
        (lambda x, p: None, "should be a tensor"),
    ],
    ch18.merged_word: [
        (in_a_loop, {"min(known, key=merges.index)": "known[0]"}, "the first pair from the left"),
        (leftmost, "as soon as it is met, from the left"),
        (lambda word, merges: in_a_loop(word, merges[::-1]), "learnt last comes first"),
        (longest_first, "as WordPiece does"),
        (in_a_loop, {"while": "if"}, "one merge is not enough"),
        (
            in_the_order_learnt,
            {
                "joined(pieces, pair)": "[a + b * ((a, b) == pair) "
                "for a, b in pairwise([*pieces, ''])]"
            },
            "a letter is used twice",
        ),
        (lambda word, merges: list(word), "nothing is merged"),
        (lambda word, merges: in_a_loop(word, merges)[:1], "letters are lost"),
        (lambda word, merges: " ".join(word), "return a list of strings"),
        (lambda word, merges: in_a_loop(word, merges[:2]), "becomes"),
    ],
    ch18.perplexity: [
        (
            lambda x, ids: F.cross_entropy(x.flatten(0, 1), ids.flatten()).exp(),
            "nothing is shifted",
        ),
        (lambda x, ids: F.cross_entropy(x[:, 1:].mT, ids[:, :-1]).exp(), "shifted the wrong way"),
        (lambda x, ids: F.cross_entropy(x.mT, ids.roll(-1, 1)).exp(), "asked for the first"),
        (lambda x, ids: losses(x, ids).exp().mean(), "each token's perplexity is averaged"),
        (lambda x, ids: losses(x, ids).mean(1).exp().mean(), "each text's perplexity is averaged"),
        (lambda x, ids: losses(x, ids).mean(), "this is the mean loss"),
        (lambda x, ids: 2 ** losses(x, ids).mean(), "not 2"),
        (lambda x, ids: losses(x, ids).sum().exp(), "the sum of the losses"),
        (lambda x, ids: (-losses(x, ids).mean()).exp(), "the sign is wrong"),
        (
            lambda x, ids: (-x[:, :-1].gather(2, ids[:, 1:, None]).mean()).exp(),
            "the log_softmax is missing",
        ),
        (lambda x, ids: 1 / (-losses(x, ids)).exp().mean(), "the probabilities are averaged"),
        (lambda x, ids: losses(x, ids), "should be a number; got Tensor of shape"),
        (lambda x, ids: 1.0, "for 2 texts, the perplexity is 1 instead of"),
    ],
    ch18.induction_score: [
        (lambda w: diagonal(-(w.shape[-1] // 2), w), "this is the first copy itself"),
        (in_loops, {"// 2 + 1]": "// 2 - 1]"}, "this is the token before the first copy"),
        (lambda w: diagonal(1 - w.shape[-1] // 2, w), "the last token of the first half counts"),
        (lambda w: by_diagonal(w.mT), "queries and keys are exchanged"),
        (lambda w: by_diagonal(w) * (w.shape[-1] // 2), "this is the sum over the queries"),
        (lambda w: by_diagonal(w).mean(), "one number for all heads"),
        (
            lambda w: torch.stack([by_diagonal(text[None]) for text in w]),
            "a number for each text and head",
        ),
        (lambda w: w.mean(dim=(0, 2, 3)), "the score is wrong at"),
    ],
    ch18.row_mask: [
        (lambda ids, end: causal(ids), "a text leaks into the next one"),
        (lambda ids, end: by_counting(ids, end) | by_counting(ids, end).T, "later tokens leak"),
        (by_counting, {"cumsum(0) - is_end": "cumsum(0)"}, "goes with the next one"),
        (
            lambda ids, end: (
                by_counting(ids, end)
                & (((ids == end)[:, None] == (ids == end)) | torch.eye(len(ids)).bool())
            ),
            "stands alone",
        ),
        (lambda ids, end: by_counting(ids, end) & (ids != end), "the end of a text is hidden"),
        (
            lambda ids, end: by_counting(ids, end) & (ids != end) & (ids != end)[:, None],
            "is left out",
        ),
        (lambda ids, end: by_counting(ids, end).tril(-1), "does not see itself"),
        (lambda ids, end: by_counting(ids, end).T, "transposed"),
        (lambda ids, end: ~by_counting(ids, end), "True means allowed"),
        (lambda ids, end: by_counting(ids, end).float(), "dtype torch.float32"),
        (lambda ids, end: causal(ids).triu(), "blocked instead of allowed"),
    ],
}
