"""The checks of chapter 15 accept what is right, however written, and name what is wrong."""

import math

import torch
import torch.nn.functional as F

from utils.checks import ch15
from utils.minilm import UNUSED, WEIGHT_NAMES


def by_hand(x, weight, eps):
    size = (x.square().mean(-1, keepdim=True) + eps).sqrt()
    return weight * x / size


def in_lines(x, attend, ff, first, second, norm_first):
    if norm_first:
        x = x + attend(first(x))
        return x + ff(second(x))
    x = first(x + attend(x))
    return second(x + ff(x))


def from_the_start(x, attend, ff, first, second, norm_first):
    if norm_first:
        return x + ff(second(x + attend(first(x))))
    return second(x + ff(first(x + attend(x))))


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
    place, real = torch.arange(weights.shape[-1]), ~padding
    pairs = (place - place[:, None] == offset) & real[:, None] & real[:, :, None]  # (B, T, T)
    return (weights * pairs[:, None]).sum((0, 2, 3)) / pairs.sum()


def places(vectors, labels):
    likeness = (vectors @ vectors.T).fill_diagonal_(-math.inf)
    same = labels[likeness.argsort(descending=True)] == labels[:, None]
    return same.long().argmax(1) + 1


RIGHT = {
    ch15.rms_norm: [lambda x, weight, eps: F.rms_norm(x, x.shape[-1:], weight, eps), by_hand],
    ch15.encoder_block: [in_lines],
    ch15.new_name: [NAMES.get],
    ch15.offset_share: [by_diagonal, by_mask],
    ch15.first_of_kind: [places],
}

WRONG = {
    ch15.rms_norm: [
        (by_hand, {"size = ": "x = x - x.mean(-1, True)\n    size = "}, "the mean is subtracted"),
        (by_hand, {"mean(-1": "mean(1"}, "over the tokens"),
        (by_hand, {".mean": ".sum"}, "take the mean of the squares"),
        (by_hand, {" + eps).sqrt()": ").sqrt() + eps"}, "inside the root"),
        (by_hand, {".sqrt()": ""}, "divide by its root"),
        (by_hand, {"weight * ": ""}, "the weight is missing"),
        (
            by_hand,
            {"square().mean(-1,": "var(-1, correction=0,"},
            "divided by the standard deviation",
        ),
        (by_hand, {"square().mean(-1,": "var(-1, correction=0,", ".sqrt()": ""}, "the variance"),
        (lambda x, w, eps: w * x / (x.std(-1, keepdim=True) + eps), "divided by the standard dev"),
        (by_hand, {"square().mean": "var"}, "the standard deviation"),
        (
            lambda x, w, eps: w * (x - x.mean(-1, True)) / (x.std(-1, keepdim=True) + eps),
            "the mean is subtracted",
        ),
        (by_hand, {"* x": "* (x - x.mean(-1, True))"}, "the mean is subtracted above the line"),
        (by_hand, {" + eps": ""}, "eps is missing"),
        (by_hand, {" / size": ""}, "not divided by anything"),
        (lambda x, w, eps: w * x / (x.norm(dim=-1, keepdim=True) + eps), "divided by the length"),
        (by_hand, {"-1, keepdim=True": ""}, "one mean for all tokens"),
        (
            by_hand,
            {"square().mean(-1, keepdim=True)": "mean(-1, True) ** 2"},
            "the square of the mean",
        ),
    ],
    ch15.encoder_block: [
        (in_lines, {"if norm": "if not norm"}, "wrong way round"),
        (in_lines, {"if norm_first": "if True"}, "norm_first is not used: this is pre-norm"),
        (in_lines, {"if norm_first": "if False"}, "norm_first is not used: this is post-norm"),
        (
            in_lines,
            {
                "x = x + ": "return ff(second(x)) + x + ",
                "    x = first(x + attend(x))\n": "",
                "second(x + ff(x))\n": "second(first(x + attend(x)) + ff(x))\n",
            },
            "reads what the first sum made",
        ),
        (
            in_lines,
            {
                "if norm_first": "if False",
                "first(x + attend(x))": "x + first(attend(x))",
                "second(x + ff(x))": "x + second(ff(x))",
            },
            "a norm stands on what a part adds",
        ),
        (in_lines, {"second(": "first("}, "first is used twice"),
        (in_lines, {"first(": "second("}, "second is used twice"),
        (in_lines, {"x + ": ""}, "residuals are missing"),
        (in_lines, {"first(": "second(", "second(": "first("}, "first and second are swapped"),
        (in_lines, {"attend(": "ff(", " ff(": " attend("}, "attention comes first"),
        (from_the_start, "not the first x"),
        (
            in_lines,
            {"x = x + ": "x = first(x) + ", "return x + ": "return second(x) + "},
            "keeps x itself",
        ),
        (in_lines, {" first(x": " (x", "attend(first(x": "attend((x", "second(x": "(x"}, "no norm"),
        (only_attention, "feed-forward part is missing"),
        (
            in_lines,
            {
                "x + attend(first(x))": "first(x + attend(first(x)))",
                "x + ff(second(x))": "second(x + ff(second(x)))",
            },
            "pre-norm never normalises the sum",
        ),
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
        (
            by_mask,
            {"place - place[:, None] == offset": "abs(place - place[:, None]) == abs(offset)"},
            "looks both ways",
        ),
        (
            by_mask,
            {"(place - place[:, None] == offset)": "torch.eye(len(place)).bool().roll(offset, 1)"},
            "wrap round",
        ),
        (by_mask, {"(weights *": "(weights.mT *"}, "looks the wrong way"),
        (by_mask, {"~padding": "padding | True"}, "padding takes part"),
        (by_mask, {"~padding": "padding"}, "True means padding"),
        (lambda w, p, o: by_mask(w, p, o).mean(), "heads are averaged"),
        (
            lambda w, p, o: sum(by_mask(w[[b]], p[[b]], o) for b in range(3)) / 3,
            "mean of the texts' means",
        ),
        (by_mask, {" / pairs.sum()": ""}, "this is the sum"),
        (by_mask, {"& real[:, None]": ""}, "only where the key is a real token too"),
        (by_mask, {"& real[:, :, None]": ""}, "queries that are padding take part"),
        (by_mask, {"/ pairs.sum": "/ real.sum"}, "not by all real tokens"),
        (by_mask, {"sum((0, 2, 3)) / pairs.sum()": "mean((0, 2, 3))"}, "pairs at this distance"),
    ],
    ch15.first_of_kind: [
        (places, {"descending=True": ""}, "sort descending if it has -inf"),
        (
            places,
            {"-math.inf": "math.inf", "descending=True": ""},
            "the least similar texts come first",
        ),
        (places, {"-math.inf": "0"}, "a 0 for itself is not the end"),
        (places, {" + 1": ""}, "place 1, not 0"),
        (
            places,
            {".fill_diagonal_(-math.inf)": "", "same.long": "same[:, 1:].long", "+ 1": "+ 2"},
            "leave the text itself out",
        ),
        (places, {"==": "!="}, "the first of another kind"),
        (
            lambda v, y: ((v @ v.T).fill_diagonal_(-9) - 99 * (y != y[:, None])).argmax(1),
            "its place in the list",
        ),
        (places, {"+ 1": "+ 1.0"}, "give int64"),
    ],
}
