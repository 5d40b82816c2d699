"""The checks of chapter 15 accept what is right, however written, and name what is wrong."""

import math

import torch
import torch.nn.functional as F

from utils.checks import ch15
from utils.models import UNUSED, WEIGHT_NAMES


def by_torch(x, weight, eps):
    return F.rms_norm(x, x.shape[-1:], weight, eps)


def by_hand(x, weight, eps):
    return weight * x * (x.square().mean(-1, keepdim=True) + eps).rsqrt()


def by_length(x, weight, eps):
    D = x.shape[-1]
    return D**0.5 * x / torch.sqrt((x * x).sum(2, keepdim=True) + D * eps) * weight


def norm(axis=-1, centre=False, mean=True, inside=True, root=True, weighted=True, eps_factor=1):
    """RMSNorm with one thing wrong."""

    def function(x, weight, eps):
        eps = eps * eps_factor
        x = x - x.mean(axis, keepdim=True) if centre else x
        squares = x.square().sum(axis, keepdim=True) / (x.shape[axis] if mean else 1)
        size = (squares + eps).sqrt() if inside else squares.sqrt() + eps
        scaled = x / (size if root else squares + eps)
        return scaled * weight if weighted else scaled

    return function


def by_deviation(x, weight, eps):
    return weight * x / (x.var(-1, correction=0, keepdim=True) + eps).sqrt()


def in_lines(x, attend, ff, first, second, norm_first):
    if norm_first:
        x = x + attend(first(x))
        return x + ff(second(x))
    x = first(x + attend(x))
    return second(x + ff(x))


def in_a_loop(x, attend, ff, first, second, norm_first):
    for part, norm in [(attend, first), (ff, second)]:
        x = x + part(norm(x)) if norm_first else norm(x + part(x))
    return x


def nested(x, attend, ff, first, second, norm_first):
    def add(x, part, norm):
        return torch.add(x, part(norm(x))) if norm_first else norm(part(x) + x)

    return add(add(x, attend, first), ff, second)


def turned(x, attend, ff, first, second, norm_first):
    return in_lines(x, attend, ff, first, second, not norm_first)


def always_pre(x, attend, ff, first, second, norm_first):
    return in_lines(x, attend, ff, first, second, True)


def always_post(x, attend, ff, first, second, norm_first):
    return in_lines(x, attend, ff, first, second, False)


def no_residual(x, attend, ff, first, second, norm_first):
    if norm_first:
        return ff(second(attend(first(x))))
    return second(ff(first(attend(x))))


def both_read_the_old(x, attend, ff, first, second, norm_first):
    if norm_first:
        return x + attend(first(x)) + ff(second(x))
    return second(first(x + attend(x)) + ff(x))


def normed_parts(x, attend, ff, first, second, norm_first):
    x = x + first(attend(x))
    return x + second(ff(x))


def one_norm(x, attend, ff, first, second, norm_first):
    return in_lines(x, attend, ff, first, first, norm_first)


def other_norm(x, attend, ff, first, second, norm_first):
    return in_lines(x, attend, ff, second, second, norm_first)


def swapped_norms(x, attend, ff, first, second, norm_first):
    return in_lines(x, attend, ff, second, first, norm_first)


def swapped_parts(x, attend, ff, first, second, norm_first):
    return in_lines(x, ff, attend, first, second, norm_first)


def from_the_start(x, attend, ff, first, second, norm_first):
    if norm_first:
        return x + ff(second(x + attend(first(x))))
    return second(x + ff(first(x + attend(x))))


def keeps_the_normed(x, attend, ff, first, second, norm_first):
    if not norm_first:
        return in_lines(x, attend, ff, first, second, False)
    x = first(x) + attend(first(x))
    return second(x) + ff(second(x))


def normed_sums(x, attend, ff, first, second, norm_first):
    if not norm_first:
        return in_lines(x, attend, ff, first, second, False)
    x = first(x + attend(first(x)))
    return second(x + ff(second(x)))


def no_norm(x, attend, ff, first, second, norm_first):
    x = x + attend(x)
    return x + ff(x)


def only_attention(x, attend, ff, first, second, norm_first):
    return x + attend(first(x)) if norm_first else first(x + attend(x))


NAMES = WEIGHT_NAMES


def by_rules(old):
    if old in UNUSED:
        return None
    embeddings = {"word_embeddings": "tokens", "position_embeddings": "positions"}
    embeddings |= {"token_type_embeddings": "types", "LayerNorm": "norm"}
    parts = {"attention.self.query": "mha.q_proj", "attention.self.key": "mha.k_proj"}
    parts |= {"attention.self.value": "mha.v_proj", "attention.output.dense": "mha.out_proj"}
    parts |= {"attention.output.LayerNorm": "mha_norm", "intermediate.dense": "ff.up_proj"}
    parts |= {"output.dense": "ff.down_proj", "output.LayerNorm": "ff_norm"}
    stem, _, kind = old.rpartition(".")
    if stem.startswith("embeddings."):
        return f"{embeddings[stem.removeprefix('embeddings.')]}.{kind}"
    _, _, number, part = stem.split(".", 3)
    return f"blocks.{number}.{parts[part]}.{kind}"


def by_replacing(old):
    if "pooler" in old or "position_ids" in old:
        return None
    for a, b in [
        ("embeddings.word_embeddings", "tokens"), ("embeddings.position_embeddings", "positions"),
        ("embeddings.token_type_embeddings", "types"), ("embeddings.LayerNorm", "norm"),
        ("encoder.layer", "blocks"), ("attention.output.LayerNorm", "mha_norm"),
        ("output.LayerNorm", "ff_norm"), ("attention.output.dense", "mha.out_proj"),
        ("attention.self.query", "mha.q_proj"), ("attention.self.key", "mha.k_proj"),
        ("attention.self.value", "mha.v_proj"), ("intermediate.dense", "ff.up_proj"),
        ("output.dense", "ff.down_proj"),
    ]:  # fmt: skip
        old = old.replace(a, b)
    return old


def ends_first(old):
    if old in UNUSED:
        return None
    return by_replacing(old.replace("output.dense", "ff.down_proj"))


def by_diagonal(weights, padding, offset):
    T = weights.shape[-1]
    on_key = weights.diagonal(offset, 2, 3)  # (B, H, T - |offset|)
    queries = ~padding[:, max(0, -offset) : T - max(0, offset)]
    keys = ~padding[:, max(0, offset) : T - max(0, -offset)]
    real = (queries & keys).unsqueeze(1)
    return (on_key * real).sum((0, 2)) / real.sum()


def by_mask(weights, padding, offset):
    place = torch.arange(weights.shape[-1])
    pairs = (place == place.unsqueeze(1) + offset) & ~padding[:, None] & ~padding[:, :, None]
    return weights.transpose(0, 1)[:, pairs].mean(1)


def in_loops(weights, padding, offset):
    B, H = weights.shape[:2]
    found = [[] for _ in range(H)]
    for b in range(B):
        length = int((~padding[b]).sum())
        for t in range(length):
            if 0 <= t + offset < length:
                for h in range(H):
                    found[h].append(weights[b, h, t, t + offset])
    return torch.stack([torch.stack(values).mean() for values in found])


def by_pairs(weights, padding, offset):
    place, real = torch.arange(weights.shape[-1]), ~padding
    pairs = (place - place[:, None] == offset) & real[:, None] & real[:, :, None]  # (B, T, T)
    return weights * pairs[:, None]


def queries_only(weights, padding, offset):
    place = torch.arange(weights.shape[-1])
    pairs = (place - place[:, None] == offset) & ~padding[:, :, None]
    return (weights * pairs[:, None]).sum((0, 2, 3)) / pairs.sum()


def keys_only(weights, padding, offset):
    place = torch.arange(weights.shape[-1])
    pairs = (place - place[:, None] == offset) & ~padding[:, None]
    return (weights * pairs[:, None]).sum((0, 2, 3)) / pairs.sum()


def both_ways(weights, padding, offset):
    place = torch.arange(weights.shape[-1])
    far = (place - place[:, None]).abs() == abs(offset)
    pairs = far & ~padding[:, None] & ~padding[:, :, None]
    return weights.transpose(0, 1)[:, pairs].mean(1)


def round_the_end(weights, padding, offset):
    T, real = weights.shape[-1], ~padding
    pairs = torch.eye(T, dtype=torch.bool).roll(offset, 1) & real[:, None] & real[:, :, None]
    return weights.transpose(0, 1)[:, pairs].mean(1)


def others(vectors):
    return (vectors @ vectors.T).fill_diagonal_(-math.inf)


def places(vectors, labels):
    same = labels[others(vectors).argsort(descending=True)] == labels[:, None]
    return same.long().argmax(1) + 1


def places_by_loop(vectors, labels):
    found = []
    for row, label in zip(others(vectors).tolist(), labels.tolist(), strict=True):
        order = sorted(range(len(row)), key=lambda i: -row[i])
        found.append(1 + [labels[i].item() for i in order].index(label))
    return torch.tensor(found)


def places_by_count(vectors, labels):
    cosines, same = others(vectors), labels == labels[:, None]
    best = cosines.masked_fill(~same, -math.inf).amax(1, keepdim=True)
    return (cosines >= best).sum(1)


def with_itself(vectors, labels):
    same = labels[(vectors @ vectors.T).argsort(descending=True)] == labels[:, None]
    return same.long().argmax(1) + 1


def itself_counted(vectors, labels):
    same = labels[(vectors @ vectors.T).argsort(descending=True)] == labels[:, None]
    return same[:, 1:].long().argmax(1) + 2


def farthest_first(vectors, labels):
    order = (vectors @ vectors.T).fill_diagonal_(math.inf).argsort()
    return (labels[order] == labels[:, None]).long().argmax(1) + 1


def first_in(labels, order):
    return (labels[order] == labels[:, None]).long().argmax(1) + 1


def another_kind(vectors, labels):
    same = labels[others(vectors).argsort(descending=True)] == labels[:, None]
    return (~same).long().argmax(1) + 1


def which_text(vectors, labels):
    return others(vectors).masked_fill(labels != labels[:, None], -math.inf).argmax(1)


RIGHT = {
    ch15.rms_norm: [by_torch, by_hand, by_length],
    ch15.encoder_block: [in_lines, in_a_loop, nested],
    ch15.new_name: [NAMES.get, by_rules, by_replacing],
    ch15.offset_share: [by_diagonal, by_mask, in_loops],
    ch15.first_of_kind: [places, places_by_loop, places_by_count],
}

WRONG = {
    ch15.rms_norm: [
        (norm(centre=True), "the mean is subtracted"),
        (norm(axis=1), "over the tokens"),
        (norm(mean=False), "take the mean of the squares"),
        (norm(inside=False), "inside the root"),
        (norm(root=False), "divide by its root"),
        (norm(weighted=False), "the weight is missing"),
        (by_deviation, "divided by the standard deviation"),
        (lambda x, w, eps: w * x / (x.var(-1, correction=0, keepdim=True) + eps), "the variance"),
        (lambda x, w, eps: w * x / (x.std(-1, keepdim=True) + eps), "divided by the standard dev"),
        (
            lambda x, w, eps: w * x / (x.var(-1, keepdim=True) + eps).sqrt(),
            "the standard deviation",
        ),
        (
            lambda x, w, eps: w * (x - x.mean(-1, keepdim=True)) / (x.std(-1, keepdim=True) + eps),
            "the mean is subtracted",
        ),
        (
            lambda x, w, eps: by_hand(x, w, eps) * (1 - x.mean(-1, keepdim=True) / x),
            "the mean is subtracted above the line",
        ),
        (norm(eps_factor=0), "eps is missing"),
        (lambda x, w, eps: x * w, "not divided by anything"),
        (lambda x, w, eps: by_torch(x.mT, None, eps).mT * w, "over the tokens"),
        (lambda x, w, eps: w * x / (x.norm(dim=-1, keepdim=True) + eps), "divided by the length"),
        (lambda x, w, eps: w * x / (x.pow(2).mean() + eps).sqrt(), "one mean for all tokens"),
        (
            lambda x, w, eps: w * x / (x.mean(-1, keepdim=True) ** 2 + eps).sqrt(),
            "the square of the mean",
        ),
    ],
    ch15.encoder_block: [
        (turned, "wrong way round"),
        (always_pre, "norm_first is not used: this is pre-norm"),
        (always_post, "norm_first is not used: this is post-norm"),
        (both_read_the_old, "reads what the first sum made"),
        (normed_parts, "a norm stands on what a part adds"),
        (one_norm, "first is used twice"),
        (other_norm, "second is used twice"),
        (no_residual, "residuals are missing"),
        (swapped_norms, "first and second are swapped"),
        (swapped_parts, "attention comes first"),
        (from_the_start, "not the first x"),
        (keeps_the_normed, "keeps x itself"),
        (no_norm, "no norm"),
        (only_attention, "feed-forward part is missing"),
        (normed_sums, "pre-norm never normalises the sum"),
    ],
    ch15.new_name: [
        (lambda old: old, "has no place, so return None, in our model"),
        (lambda old: None, "is called tokens.weight in our model; you return None"),
        (
            lambda old: 7 if old in NAMES else None,
            "is called tokens.weight in our model; you return 7",
        ),
        (
            lambda old: by_rules(old) and by_rules(old).replace("k_proj", "q_proj"),
            "key.weight is called blocks.0.mha.k_proj.weight in our model",
        ),
        (
            lambda old: by_replacing(old) and by_replacing(old).replace("ff_norm", "mha_norm"),
            "is called blocks.0.ff_norm.weight in our model; you return 'blocks.0.mha_norm.weight'",
        ),
        (ends_first, "The order matters"),
    ],
    ch15.offset_share: [
        (both_ways, "looks both ways"),
        (round_the_end, "wrap round"),
        (lambda w, p, o: by_mask(w, p, -o), "looks the wrong way"),
        (lambda w, p, o: by_mask(w.mT, p, o), "looks the wrong way"),
        (lambda w, p, o: by_mask(w, torch.zeros_like(p), o), "padding takes part"),
        (lambda w, p, o: by_mask(w, ~p, o), "True means padding"),
        (lambda w, p, o: by_mask(w, p, o).mean(), "heads are averaged"),
        (
            lambda w, p, o: (
                sum(by_mask(a, b, o) for a, b in zip(w.split(1), p.split(1), strict=True)) / 3
            ),
            "mean of the texts' means",
        ),
        (lambda w, p, o: by_mask(w, p, o) * ((~p).sum(1) - abs(o)).sum(), "this is the sum"),
        (queries_only, "only where the key is a real token too"),
        (keys_only, "queries that are padding take part"),
        (lambda w, p, o: by_pairs(w, p, o).sum((0, 2, 3)) / (~p).sum(), "not by all real tokens"),
        (lambda w, p, o: by_pairs(w, p, o).mean((0, 2, 3)), "pairs at this distance"),
    ],
    ch15.first_of_kind: [
        (with_itself, "every text finds itself"),
        (lambda v, y: first_in(y, others(v).argsort()), "sort descending if it has -inf"),
        (lambda v, y: first_in(y, (v @ v.T).argsort()), "the least similar texts come first"),
        (
            lambda v, y: first_in(y, (v @ v.T).fill_diagonal_(0).argsort(descending=True)),
            "a 0 for itself is not the end",
        ),
        (lambda v, y: places(v, y) - 1, "place 1, not 0"),
        (itself_counted, "leave the text itself out"),
        (farthest_first, "the least similar texts come first"),
        (another_kind, "the first of another kind"),
        (which_text, "its place in the list"),
        (lambda v, y: places(v, y).float(), "give int64"),
    ],
}
