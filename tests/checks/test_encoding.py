"""The checks on encoder blocks accept what is right, however written, and name what is wrong."""

import pytest
import torch
import torch.nn.functional as F

from utils.checks import encoding
from utils.pretrained import TABLE, UNUSED


def by_torch(x, weight, eps):
    return F.rms_norm(x, x.shape[-1:], weight, eps)


def by_hand(x, weight, eps):
    return weight * x * (x.square().mean(-1, keepdim=True) + eps).rsqrt()


def by_length(x, weight, eps):
    D = x.shape[-1]
    return D**0.5 * x / torch.sqrt((x * x).sum(2, keepdim=True) + D * eps) * weight


@pytest.mark.parametrize("function", [by_torch, by_hand, by_length])
def test_rms_norm_accepts(function):
    assert encoding.rms_norm(function) == "Right."


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


@pytest.mark.parametrize(
    ("function", "fragment"),
    [
        (norm(centre=True), "the mean is subtracted"),
        (norm(axis=1), "over the tokens"),
        (norm(mean=False), "take the mean of the squares"),
        (norm(inside=False), "inside the root"),
        (norm(root=False), "divide by its root"),
        (norm(weighted=False), "the weight is missing"),
        (norm(eps_factor=0), "eps is missing"),
        (lambda x, w, eps: x * w, "not divided by anything"),
        (lambda x, w, eps: by_torch(x, w, eps)[0], "shape"),
        (lambda x, w, eps: None, "should be a tensor; got NoneType"),
        (lambda x, w, eps: x @ w @ w, "your code raised"),
        (lambda x, w, eps: by_torch(x, w, eps) + 1, "is wrong at"),
        (lambda x, w, eps: by_torch(x.mT, None, eps).mT * w, "over the tokens"),
    ],
)
def test_rms_norm_names_the_fault(function, fragment):
    said = encoding.rms_norm(function)
    assert said.startswith("Not yet: ")
    assert fragment in said


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


@pytest.mark.parametrize("function", [in_lines, in_a_loop, nested])
def test_encoder_block_accepts(function):
    assert encoding.encoder_block(function) == "Right."


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


@pytest.mark.parametrize(
    ("function", "fragment"),
    [
        (turned, "wrong way round"),
        (always_pre, "post-norm: the output"),
        (always_post, "wrong way round"),
        (no_residual, "residuals are missing"),
        (swapped_norms, "first and second are swapped"),
        (swapped_parts, "attention comes first"),
        (from_the_start, "not the first x"),
        (keeps_the_normed, "keeps x itself"),
        (no_norm, "no norm"),
        (only_attention, "feed-forward part is missing"),
        (lambda x, *_: x, "is wrong at"),
        (lambda x, *_: x.mean(1), "shape"),
        (lambda x, *_: x.nothing, "your code raised AttributeError"),
    ],
)
def test_encoder_block_names_the_fault(function, fragment):
    said = encoding.encoder_block(function)
    assert said.startswith("Not yet: ")
    if function is always_pre:
        assert "wrong way round" in said
    else:
        assert fragment in said


NAMES = {old: new for old, new, _ in TABLE}


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


@pytest.mark.parametrize("function", [NAMES.get, by_rules, by_replacing])
def test_new_name_accepts(function):
    assert encoding.new_name(function) == "Right."


@pytest.mark.parametrize(
    ("function", "fragment"),
    [
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
        (lambda old: old.nothing, "your code raised AttributeError"),
    ],
)
def test_new_name_names_the_fault(function, fragment):
    said = encoding.new_name(function)
    assert said.startswith("Not yet: ")
    assert fragment in said


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


@pytest.mark.parametrize("function", [by_diagonal, by_mask, in_loops])
def test_offset_share_accepts(function):
    assert encoding.offset_share(function) == "Right."


@pytest.mark.parametrize(
    ("function", "fragment"),
    [
        (lambda w, p, o: by_mask(w, p, -o), "looks the wrong way"),
        (lambda w, p, o: by_mask(w.mT, p, o), "looks the wrong way"),
        (lambda w, p, o: by_mask(w, torch.zeros_like(p), o), "padding counts"),
        (lambda w, p, o: by_mask(w, ~p, o), "is wrong at"),
        (lambda w, p, o: by_mask(w, p, o).mean(), "heads are averaged"),
        (
            lambda w, p, o: (
                sum(by_mask(a, b, o) for a, b in zip(w.split(1), p.split(1), strict=True)) / 3
            ),
            "mean of the texts' means",
        ),
        (lambda w, p, o: by_mask(w, p, o) * ((~p).sum(1) - abs(o)).sum(), "not divided"),
        (lambda w, p, o: w.mean(0), "shape"),
        (lambda w, p, o: by_mask(w.flip(1), p, o), "is wrong at"),
        (lambda w, p, o: by_mask(w, p, o).tolist(), "should be a tensor; got list"),
        (lambda w, p, o: w[o + 100], "your code raised IndexError"),
    ],
)
def test_offset_share_names_the_fault(function, fragment):
    said = encoding.offset_share(function)
    assert said.startswith("Not yet: ")
    assert fragment in said
