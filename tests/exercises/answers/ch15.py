"""The checks of chapter 15 accept what is right, however written, and name what is wrong."""

import math

from exercises import ch15
from utils.minilm import UNUSED, WEIGHT_NAMES


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


def places(vectors, labels):
    likeness = (vectors @ vectors.T).fill_diagonal_(-math.inf)
    same = labels[likeness.argsort(descending=True)] == labels[:, None]
    return same.long().argmax(1) + 1


RIGHT = {
    ch15.encoder_block: [in_lines],
    ch15.new_name: [NAMES.get],
}

WRONG = {
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
    ch15.first_of_kind: [
        (places, {"+ 1": "+ 1.0"}, "give int64"),
    ],
}
