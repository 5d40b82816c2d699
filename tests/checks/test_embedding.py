"""The checks of chapter 13, on vectors of texts, accept what is right and name what is wrong."""

import math

import pytest
import torch
import torch.nn.functional as F
from scipy import stats

from utils.checks import embedding


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


def raises(*_):
    raise RuntimeError("size mismatch")


@pytest.mark.parametrize(
    ("check", "right"),
    [
        *[(embedding.exact_p_value, f) for f in (p_value, p_value_by_scipy, p_value_by_counting)],
        *[(embedding.nearest_class, f) for f in (classes, classes_by_sum, classes_by_loop)],
        *[(embedding.first_of_kind, f) for f in (places, places_by_loop, places_by_count)],
    ],
)
def test_what_is_right_is_accepted(check, right):
    assert check(right) == "Right."


@pytest.mark.parametrize(
    ("check", "wrong", "fragment"),
    [
        (embedding.exact_p_value, lambda a, b: p_value(a, b) / 2, "only one side"),
        (embedding.exact_p_value, this_split, "this split alone"),
        (embedding.exact_p_value, more_uneven_only, "at least as uneven"),
        (embedding.exact_p_value, by_chi_squared, "approximation by chi-squared"),
        (embedding.exact_p_value, lambda a, b: p_value(a, b) * 2 ** (a + b), "divide by all"),
        (embedding.exact_p_value, lambda a, b: p_value(a, b) if a != b else 2 * stats.binom.cdf(
            a, a + b, 0.5), "at most 1"),
        (embedding.exact_p_value, lambda a, b: a / (a + b), "exact_p_value(4, 1)"),
        (embedding.exact_p_value, lambda a, b: None, "should be a number; got NoneType"),
        (embedding.exact_p_value, lambda a, b: p_value(a, b) if a + b else 1 // 0, "raised"),
        (embedding.nearest_class, sums_only, "large classes win"),
        (embedding.nearest_class, without_length, "divide each mean by its length"),
        (embedding.nearest_class, nearest_text, "the class of the nearest text"),
        (embedding.nearest_class, lambda v, y, a: classes(v, y, -a), "the least similar"),
        (embedding.nearest_class, lambda v, y, a: a @ F.normalize(means_of(v, y), dim=-1).T,
         "these are cosines"),
        (embedding.nearest_class, lambda v, y, a: classes(v, y, v), "ask about `asked`"),
        (embedding.nearest_class, lambda v, y, a: classes(v, y, a)[:, None], "has shape"),
        (embedding.nearest_class, lambda v, y, a: y[:1], "has shape (1,)"),
        (embedding.first_of_kind, with_itself, "its own nearest"),
        (embedding.first_of_kind, lambda v, y: places(v, y) - 1, "place 1, not 0"),
        (embedding.first_of_kind, itself_counted, "leave the text itself out"),
        (embedding.first_of_kind, farthest_first, "the least similar texts come first"),
        (embedding.first_of_kind, another_kind, "the first of another kind"),
        (embedding.first_of_kind, which_text, "its place in the list"),
        (embedding.first_of_kind, lambda v, y: places(v, y)[:, None], "has shape (24, 1)"),
        (embedding.first_of_kind, lambda v, y: torch.ones(len(v)).long(), "its own nearest"),
        (embedding.first_of_kind, raises, "your code raised RuntimeError: size mismatch"),
    ],
)  # fmt: skip
def test_what_is_wrong_is_named(check, wrong, fragment):
    said = check(wrong)
    assert said.startswith("Not yet: ")
    assert fragment in said
