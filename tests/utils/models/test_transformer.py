"""The Transformer is PyTorch's with the same weights, and never reads what is yet to be written."""

from functools import cache, partial

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import nn

from utils.attention import (
    ConvMultiHeadAttention,
    LearnedPositionalEncoding,
    MultiHeadAttention,
    RotaryPositionalEncoding,
    SinusoidalPositionalEncoding,
    WideMultiHeadAttention,
)
from utils.data import PADDING
from utils.heads import recorded_weights
from utils.models import Transformer, copy_from_torch

B, S, T, V, D, H = 3, 7, 6, 11, 16, 4
few_examples = settings(max_examples=6)
SELF_ROTARY = partial(MultiHeadAttention, positions=RotaryPositionalEncoding(D // H))
KINDS = {
    "post-norm": {},
    "pre-norm": {"norm_first": True},
    "learned positions": {
        "source_positions": LearnedPositionalEncoding(20, D),
        "target_positions": LearnedPositionalEncoding(20, D),
    },
    "no positions": {"source_positions": nn.Identity(), "target_positions": nn.Identity()},
    "positions in the source": {"target_positions": nn.Identity()},
    "positions in the target": {"source_positions": nn.Identity()},
    "shared keys": {"make_attention": partial(MultiHeadAttention, num_kv_heads=2)},
    "wide heads": {"make_attention": WideMultiHeadAttention},
}
CONVOLVED = {"make_attention": partial(ConvMultiHeadAttention, kernel_size=3)}
each_kind = pytest.mark.parametrize("kind", KINDS)


def build(num_layers=2, **options):
    torch.manual_seed(0)
    model = Transformer(V, D, H, 32, num_layers, 0.0, **options).double()
    for parameter in model.parameters():
        if parameter.dim() == 1:
            nn.init.normal_(parameter, 0.5)
    return model


def ids(length, batch=B, seed=1):
    generator = torch.Generator().manual_seed(seed)
    return torch.randint(1, V, (batch, length), generator=generator)


def padded_source():
    source = ids(S)
    source[1, 5:] = PADDING
    source[2, 1:] = PADDING
    return source


def close(found, expected):
    torch.testing.assert_close(found, expected, rtol=1e-9, atol=1e-11)


# PyTorch's Transformer


@cache
def pair(norm_first, num_layers=2):
    """A model and PyTorch's module with the same weights."""
    torch.manual_seed(3)
    module = nn.Transformer(
        D, H, num_layers, num_layers, 32, 0.0, batch_first=True, norm_first=norm_first
    ).double()
    for parameter in module.parameters():
        if parameter.dim() == 1:
            nn.init.normal_(parameter, 0.5)
    model = build(num_layers, norm_first=norm_first, final_norm=True)
    copy_from_torch(model, module)
    return model, module


def random_masks(seed):
    """Masks of every kind, each leaving each query at least the first key."""
    generator = torch.Generator().manual_seed(seed)

    def blocked(*shape):
        mask = torch.rand(shape, generator=generator) < 0.4
        mask[..., 0] = False
        return mask

    return {
        "src_mask": blocked(S, S),
        "tgt_mask": blocked(T, T) | torch.ones(T, T, dtype=torch.bool).triu(1),
        "memory_mask": blocked(T, S),
        "src_key_padding_mask": blocked(B, S),
        "tgt_key_padding_mask": blocked(B, T),
        "memory_key_padding_mask": blocked(B, S),
    }


def run_ours(model, source, target, masks):
    memory = model.run_encoder(source, masks["src_key_padding_mask"], masks["src_mask"])
    return model.run_decoder(
        target,
        memory,
        key_padding_mask=masks["tgt_key_padding_mask"],
        attn_mask=masks["tgt_mask"],
        memory_key_padding_mask=masks["memory_key_padding_mask"],
        memory_mask=masks["memory_mask"],
        is_causal=True,
    )


@pytest.mark.filterwarnings("ignore:enable_nested_tensor")
@pytest.mark.parametrize("norm_first", [False, True])
@given(seed=st.integers(0, 999), chosen=st.sets(st.integers(0, 5)))
@few_examples
def test_forward_and_gradient_are_those_of_torch(norm_first, seed, chosen):
    model, module = pair(norm_first)
    masks = {
        name: mask if i in chosen else None
        for i, (name, mask) in enumerate(random_masks(seed).items())
    }
    theirs = dict(masks)
    if theirs["tgt_mask"] is None:
        theirs["tgt_mask"] = torch.ones(T, T, dtype=torch.bool).triu(1)
    torch.manual_seed(seed)
    source, target = (torch.randn(B, n, D, dtype=torch.float64) for n in (S, T))
    weights = torch.randn(B, T, D, dtype=torch.float64)
    sides = []
    model.zero_grad()
    module.zero_grad()
    for run in (partial(run_ours, model, masks=masks), partial(module, **theirs)):
        inputs = [source.clone().requires_grad_(), target.clone().requires_grad_()]
        output = run(*inputs)
        (output * weights).sum().backward()
        sides.append([output, *(x.grad for x in inputs)])
    for found, expected in zip(*sides, strict=True):
        close(found, expected)
    grads = {name: parameter.grad for name, parameter in module.named_parameters()}
    for name in ("encoder.layers.0", "decoder.layers.1"):
        block = model.get_submodule(name.replace(".layers", ""))
        close(block.ff[0].weight.grad, grads[f"{name}.linear1.weight"])
        packed = [getattr(block.mha, f"{x}_proj").weight.grad for x in "qkv"]
        close(torch.cat(packed), grads[f"{name}.self_attn.in_proj_weight"])
        close(block.ff_norm.weight.grad, grads[f"{name}.norm{2 if 'enc' in name else 3}.weight"])
    cross = model.decoder[0].cross_mha
    packed = torch.cat([getattr(cross, f"{x}_proj").weight.grad for x in "qkv"])
    close(packed, grads["decoder.layers.0.multihead_attn.in_proj_weight"])


def test_weights_go_only_where_they_fit():
    _, module = pair(False)
    with pytest.raises(ValueError, match="Identity and LayerNorm"):
        copy_from_torch(build(), module)
    with pytest.raises(ValueError, match="3 and 2 blocks"):
        copy_from_torch(build(3, final_norm=True), module)
    with pytest.raises(ValueError, match="before its parts"):
        copy_from_torch(build(norm_first=True), module)


@pytest.mark.filterwarnings("ignore:enable_nested_tensor")
@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"nhead": 2}, "4 heads, the other 2"),
        ({"layer_norm_eps": 1e-2}, "eps"),
        ({"activation": "gelu"}, "another activation"),
        ({"activation": nn.GELU()}, "another activation"),
    ],
)
def test_weights_go_only_where_they_mean_the_same(options, message):
    sizes = {"nhead": H, "num_encoder_layers": 2, "num_decoder_layers": 2, "dim_feedforward": 32}
    module = nn.Transformer(D, **(sizes | options), batch_first=True)
    with pytest.raises(ValueError, match=message):
        copy_from_torch(build(final_norm=True).float(), module)


@pytest.mark.filterwarnings("ignore:enable_nested_tensor")
@pytest.mark.parametrize("activation", ["relu", nn.ReLU(), torch.relu])
def test_a_relu_is_one_however_it_is_given(activation):
    module = nn.Transformer(D, H, 1, 1, 32, 0.0, activation, batch_first=True).double()
    model, x = build(1, final_norm=True), torch.randn(B, T, D).double()
    copy_from_torch(model, module)
    mask = torch.ones(T, T, dtype=torch.bool).triu(1)
    found = model.run_decoder(x, model.run_encoder(x), is_causal=True)
    close(found, module(x, x, tgt_mask=mask))


# What comes later changes nothing before it


def paths(model, source):
    """Every way from a target to its logits: ids (B, T) -> (B, T, V)."""

    def uncached(target):
        return model(source, target)

    def evaluated(target):
        with torch.no_grad():
            return model(source, target)

    def masked(target):
        memory = model.encode(source)
        nothing = torch.zeros_like(target, dtype=torch.bool)
        masks = {"key_padding_mask": nothing, "memory_key_padding_mask": source == PADDING}
        x = model.run_decoder(model.embed_target(target), memory, **masks)
        return model.logits(x)

    def weighed(target):
        memory, x = model.encode(source), model.embed_target(target)
        for block in model.decoder:
            x, *_ = block(x, memory, memory_key_padding_mask=source == PADDING, need_weights=True)
        return model.logits(model.decoder_norm(x))

    def cached(sizes, target):
        state = model.start(source, target.shape[1])
        return torch.cat([model.step(part, state) for part in target.split(sizes, 1)], 1)

    return {
        "uncached": uncached,
        "evaluated": evaluated,
        "masked": masked,
        "weighed": weighed,
        "cached": partial(cached, 1),
        "cached in threes": partial(cached, 3),
        "cached at once": partial(cached, 99),
    }


@each_kind
@given(place=st.integers(1, T - 1), seed=st.integers(0, 999))
@few_examples
def test_a_later_token_never_changes_an_earlier_output(kind, place, seed):
    model, source, target = build(**KINDS[kind]), padded_source(), ids(T)
    other = target.clone()
    other[:, place:] = ids(T - place, seed=seed)
    other[:, place] = target[:, place] % (V - 1) + 1  # another token
    for name, run in paths(model, source).items():
        first, second = run(target), run(other)
        assert torch.equal(first[:, :place], second[:, :place]), name
        assert not torch.equal(first[:, place], second[:, place]), name


def test_nor_does_it_where_heads_are_convolved():
    model, source, target = build(**CONVOLVED), padded_source(), ids(T)
    other = target.clone()
    other[:, 3:] = ids(3, seed=5)
    close(model(source, target)[:, :3], model(source, other)[:, :3])
    with pytest.raises(NotImplementedError, match="decode without a cache"):
        model.start(source, T)


def test_no_gradient_flows_from_an_output_to_a_later_token():
    model, source = build(), padded_source()
    x = model.embed_target(ids(T)).detach().requires_grad_()
    model.run_decoder(x, model.encode(source))[:, 2].sum().backward()
    assert x.grad[:, :3].abs().amin() > 0
    assert not x.grad[:, 3:].any()


def test_without_the_causal_mask_a_later_token_is_read():
    model, source, target = build(is_causal=False), padded_source(), ids(T)
    other = target.clone()
    other[:, -1] = target[:, -1] % (V - 1) + 1
    assert not torch.equal(model(source, target)[:, 0], model(source, other)[:, 0])
    with pytest.raises(ValueError, match="cached=False"):
        model.start(source, T)


# With and without a cache


@each_kind
def test_every_path_gives_the_same_logits(kind):
    model, source, target = build(**KINDS[kind]), padded_source(), ids(T)
    expected = model(source, target).detach()
    for run in paths(model, source).values():
        close(run(target).detach(), expected)


def test_a_state_follows_the_rows_that_are_chosen():
    model, target = build(), ids(T, batch=2 * B)
    source = padded_source().repeat_interleave(2, 0)  # two targets of each source
    state, rows = model.start(source, T), torch.tensor([1, 0, 2, 2, 5, 5])
    model.step(target[:, :4], state)
    state.select(rows)
    assert state.length == 4
    close(model.step(target[rows, 4:], state), model(source, target[rows])[:, 4:])


def test_rotary_positions_are_not_for_a_source_that_is_kept():
    model = build(make_attention=SELF_ROTARY)
    with pytest.raises(NotImplementedError, match="decode without a cache"):
        model.start(padded_source(), T)


# Padding, embeddings, first weights


@each_kind
def test_padding_of_the_source_changes_nothing(kind):
    model, target = build(**KINDS[kind]), ids(T)
    source = ids(S)
    longer = torch.cat([source, torch.full((B, 4), PADDING)], 1)
    close(model(longer, target), model(source, target))


def test_padding_of_the_target_changes_nothing_before_it():
    model, source, target = build(), padded_source(), ids(T)
    longer = torch.cat([target, torch.full((B, 4), PADDING)], 1)
    close(model(source, longer)[:, :T], model(source, target))


def test_a_source_that_is_all_padding_gives_numbers_on_every_path():
    model, source, target = build(), torch.full((B, S), PADDING), ids(T)
    logits = model(source, target)
    logits.sum().backward()
    assert logits.isfinite().all()
    assert all(parameter.grad.isfinite().all() for parameter in model.parameters())
    for run in paths(model, source).values():
        close(run(target).detach(), logits.detach())


def test_embeddings_are_scaled_and_shared():
    model = build()
    zeros = torch.zeros(T, D, dtype=torch.float64)
    expected = model.embedding.weight[ids(T)] * D**0.5 + model.target_positions(zeros)
    close(model.embed_target(ids(T)), expected)
    close(model.embed_target(ids(T)[:, 2:], 2), expected[:, 2:])
    close(model.logits(expected), expected @ model.embedding.weight.T)
    tables = [p for p in model.parameters() if V in p.shape]
    assert len(tables) == 1


@pytest.mark.parametrize("sides", [(), ("source",), ("target",), ("source", "target")])
def test_positions_are_those_of_the_sides_that_have_them(sides):
    removed = {f"{side}_positions": nn.Identity() for side in {"source", "target"} - set(sides)}
    model, source, target = build(1, **removed), ids(S), ids(T)
    expected, sines = model.embedding.weight * D**0.5, SinusoidalPositionalEncoding(D)
    embeds = (model.embed_source, model.embed_target)
    for side, embed, read in zip(("source", "target"), embeds, (source, target), strict=True):
        close(embed(read), sines(expected[read]) if side in sides else expected[read])
    reversed_source = model(source.flip(1), target)
    assert torch.allclose(reversed_source, model(source, target)) == ("source" not in sides)
    # In one block the last token sees all that were written, and only positions tell their order.
    # (In the next it reads tokens that have each seen another beginning.)
    swapped = target[:, [1, 0, *range(2, T)]]
    same = torch.allclose(model(source, swapped)[:, -1], model(source, target)[:, -1])
    assert same == ("target" not in sides)


@pytest.mark.parametrize(("vocab_size", "embed_dim"), [(50, 256), (4000, 64), (4000, 256)])
def test_scaled_embeddings_are_as_long_as_the_root_of_the_width(vocab_size, embed_dim):
    torch.manual_seed(0)
    bare = {"source_positions": nn.Identity(), "target_positions": nn.Identity()}
    model = Transformer(vocab_size, embed_dim, 4, 8, 1, **bare).eval()
    every_id = torch.arange(vocab_size).unsqueeze(0)
    for embed in (model.embed_source, model.embed_target):
        length = embed(every_id).pow(2).sum(-1).mean().sqrt().item()
        assert length == pytest.approx(embed_dim**0.5, rel=0.02)
    sines = SinusoidalPositionalEncoding(embed_dim)(torch.zeros(9, embed_dim))
    assert 1.3 < length / sines.norm(dim=-1).mean().item() < 1.5
    normed = nn.LayerNorm(embed_dim)(torch.randn(64, embed_dim))
    assert model.logits(normed).std().item() == pytest.approx(1, rel=0.05)


def test_first_weights_are_xaviers_but_the_embedding():
    torch.manual_seed(0)
    model = Transformer(200, 64, 4, 256, 1)
    for name, parameter in model.named_parameters():
        if name == "embedding.weight":
            assert parameter.std().item() == pytest.approx(64**-0.5, rel=0.02)
            assert parameter.abs().max() > 3 * 64**-0.5, "it is normal, not uniform"
        elif parameter.dim() > 1:
            limit = (6 / sum(parameter.shape)) ** 0.5
            assert parameter.abs().max() <= limit, name
            assert abs(parameter.std().item() / (limit / 3**0.5) - 1) < 0.05, name
        else:
            expected = float("norm" in name and name.endswith("weight"))
            assert (parameter == expected).all(), name


def test_positions_that_are_given_stay_as_they_are():
    both = [LearnedPositionalEncoding(20, D), LearnedPositionalEncoding(20, D)]
    before = [positions.embedding.weight.detach().clone() for positions in both]
    model = Transformer(V, D, H, 32, 1, source_positions=both[0], target_positions=both[1])
    model.reset_parameters()
    for positions, table, side in zip(both, before, ("source", "target"), strict=True):
        assert getattr(model, f"{side}_positions") is positions
        assert torch.equal(positions.embedding.weight, table)


def test_what_cannot_be_is_refused():
    for vocab_size, num_layers in [(0, 1), (V, 0), (V, -1)]:
        with pytest.raises(ValueError, match="one token and one block"):
            Transformer(vocab_size, D, H, 32, num_layers)
    for token in (V, -1):
        with pytest.raises(ValueError, match=f"from 0 to {V - 1}"):
            build()(ids(S), torch.full((B, T), token))


def test_norms_stand_where_they_are_asked_for():
    model = build(norm_first=False)
    x = model.encode(ids(S)) - model.encoder[-1].ff_norm.bias
    spread = (x / model.encoder[-1].ff_norm.weight).pow(2).mean(-1)
    torch.testing.assert_close(spread, torch.ones_like(spread), rtol=1e-3, atol=1e-3)
    assert isinstance(model.encoder_norm, nn.Identity)
    assert isinstance(build(norm_first=True).encoder_norm, nn.LayerNorm)


def test_dropout_is_applied_in_training_only():
    torch.manual_seed(0)
    model, source, target = Transformer(V, D, H, 32, 1, 0.5), ids(S), ids(T)
    assert not torch.equal(model(source, target), model(source, target))
    model.eval()
    assert torch.equal(model(source, target), model(source, target))


@pytest.mark.parametrize("kind", [*KINDS, "convolved"])
def test_weights_of_every_layer_can_be_recorded_once_for_each_call(kind):
    model, source = build(**(KINDS | {"convolved": CONVOLVED})[kind]), padded_source()
    expected = model(source, ids(T))
    with recorded_weights(model) as records:
        found = model(source, ids(T))
    close(found, expected)
    shapes = [(S, S)] * 2 + [(T, T), (T, S)] * 2
    assert [[tuple(w.shape[2:]) for w in record] for record in records] == [[s] for s in shapes]
    for record in records[2::2]:
        assert not record[0].triu(1).any()
    assert not any("attend" in vars(module) for module in model.modules())


def test_dropout_is_applied_to_embeddings_with_their_positions():
    model = Transformer(V, D, H, 32, 1, 0.5)
    torch.manual_seed(0)
    share = (model.embed_target(ids(200)) == 0).double().mean().item()
    assert abs(share - 0.5) < 0.03
    assert (model.eval().embed_target(ids(200)) != 0).all()
