"""The checks of chapter 14 accept what is right, however written, and name what is wrong."""

import math

import torch
import torch.nn.functional as F
from scipy import stats

from utils.checks import ch14
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


def p_value(first, second):
    n, few = first + second, min(first, second)
    return min(1.0, 2 * sum(math.comb(n, k) for k in range(few + 1)) / 2**n)


def p_value_by_scipy(first, second):
    return stats.binomtest(first, first + second).pvalue if first + second else 1


def p_value_by_counting(first, second):
    n, gap = first + second, abs(first - second)
    ways = [math.comb(n, k) for k in range(n + 1) if abs(n - 2 * k) >= gap]
    return torch.tensor(sum(ways) / 2**n, dtype=torch.float64)


def this_split(first, second):
    return 2 * math.comb(first + second, first) / 2 ** (first + second)


def more_uneven_only(first, second):
    n = first + second
    return sum(math.comb(n, k) for k in range(n + 1) if abs(n - 2 * k) > abs(first - second)) / 2**n


def by_chi_squared(first, second):
    return stats.chi2.sf((first - second) ** 2 / (first + second), 1)


def means_of(vectors, labels):
    return torch.stack([vectors[labels == c].mean(dim=0) for c in labels.unique()])


def classes(vectors, labels, asked):
    return (asked @ F.normalize(means_of(vectors, labels), dim=-1).T).argmax(dim=-1)


def classes_by_sum(vectors, labels, asked):
    sums = torch.zeros(int(labels.max()) + 1, vectors.shape[1]).index_add_(0, labels, vectors)
    return F.cosine_similarity(asked.unsqueeze(1), sums, dim=-1).argmax(1)


def classes_by_loop(vectors, labels, asked):
    means = means_of(vectors, labels)
    found = [max(range(3), key=lambda c: float(a @ means[c] / means[c].norm())) for a in asked]
    return torch.tensor(found)


def sums_only(vectors, labels, asked):
    return (asked @ torch.stack([vectors[labels == c].sum(0) for c in range(3)]).T).argmax(-1)


def without_length(vectors, labels, asked):
    return (asked @ means_of(vectors, labels).T).argmax(-1)


def nearest_text(vectors, labels, asked):
    return labels[(asked @ vectors.T).argmax(-1)]


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


def another_kind(vectors, labels):
    same = labels[others(vectors).argsort(descending=True)] == labels[:, None]
    return (~same).long().argmax(1) + 1


def which_text(vectors, labels):
    return others(vectors).masked_fill(labels != labels[:, None], -math.inf).argmax(1)


RIGHT = {
    ch14.rms_norm: [by_torch, by_hand, by_length],
    ch14.encoder_block: [in_lines, in_a_loop, nested],
    ch14.new_name: [NAMES.get, by_rules, by_replacing],
    ch14.offset_share: [by_diagonal, by_mask, in_loops],
    ch14.exact_p_value: [p_value, p_value_by_scipy, p_value_by_counting],
    ch14.nearest_class: [classes, classes_by_sum, classes_by_loop],
    ch14.first_of_kind: [places, places_by_loop, places_by_count],
}

WRONG = {
    ch14.rms_norm: [
        (norm(centre=True), "the mean is subtracted"),
        (norm(axis=1), "over the tokens"),
        (norm(mean=False), "take the mean of the squares"),
        (norm(inside=False), "inside the root"),
        (norm(root=False), "divide by its root"),
        (norm(weighted=False), "the weight is missing"),
        (norm(eps_factor=0), "eps is missing"),
        (lambda x, w, eps: x * w, "not divided by anything"),
        (lambda x, w, eps: by_torch(x.mT, None, eps).mT * w, "over the tokens"),
    ],
    ch14.encoder_block: [
        (turned, "wrong way round"),
        (always_pre, "wrong way round"),
        (always_post, "wrong way round"),
        (no_residual, "residuals are missing"),
        (swapped_norms, "first and second are swapped"),
        (swapped_parts, "attention comes first"),
        (from_the_start, "not the first x"),
        (keeps_the_normed, "keeps x itself"),
        (no_norm, "no norm"),
        (only_attention, "feed-forward part is missing"),
    ],
    ch14.new_name: [
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
    ],
    ch14.offset_share: [
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
    ],
    ch14.exact_p_value: [
        (lambda a, b: p_value(a, b) / 2, "only one side"),
        (this_split, "this split alone"),
        (more_uneven_only, "itself is left out"),
        (by_chi_squared, "approximation by chi-squared"),
        (lambda a, b: p_value(a, b) * 2 ** (a + b), "divide by all"),
        (lambda a, b: p_value(a, b) if a != b else 2 * stats.binom.cdf(a, a + b, 0.5), "at most 1"),
        (lambda a, b: a / (a + b), "exact_p_value(4, 1)"),
        (lambda a, b: None, "should be a number; got NoneType"),
    ],
    ch14.nearest_class: [
        (sums_only, "large classes win"),
        (without_length, "divide each mean by its length"),
        (nearest_text, "the class of the nearest text"),
        (lambda v, y, a: classes(v, y, -a), "the least similar"),
        (lambda v, y, a: a @ F.normalize(means_of(v, y), dim=-1).T, "these are cosines"),
        (lambda v, y, a: classes(v, y, v), "ask about `asked`"),
    ],
    ch14.first_of_kind: [
        (with_itself, "its own nearest"),
        (lambda v, y: places(v, y) - 1, "place 1, not 0"),
        (itself_counted, "leave the text itself out"),
        (farthest_first, "the least similar texts come first"),
        (another_kind, "the first of another kind"),
        (which_text, "its place in the list"),
        (lambda v, y: torch.ones(len(v)).long(), "its own nearest"),
    ],
}
