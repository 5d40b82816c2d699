"""The Transformer is PyTorch's with the same weights, and never reads what is yet to be written."""

from functools import cache, partial

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import nn

from chapters.ch17_transformer import Transformer, copy_from_torch
from utils.attention import MultiHeadAttention
from utils.heads import recorded_weights
from utils.positions import (
    RotaryPositionalEncoding,
    SinusoidalPositionalEncoding,
)
from utils.text import PADDING

B, S, T, V, D, H = 3, 7, 6, 11, 16, 4
few_examples = settings(max_examples=6)
SELF_ROTARY = partial(MultiHeadAttention, positions=RotaryPositionalEncoding(D // H))


class Convolved(MultiHeadAttention):
    between = "a convolution"


KINDS = {
    "pre-norm": {"norm_first": True},
    "positions in the source": {"target_positions": nn.Identity()},
    "shared keys": {"make_attention": partial(MultiHeadAttention, num_kv_heads=2)},
    "wide heads": {"make_attention": partial(MultiHeadAttention, head_dim=D)},
}
CONVOLVED = {"make_attention": Convolved}
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


@cache
def pair(norm_first):
    """A model and PyTorch's module with the same weights."""
    torch.manual_seed(3)
    module = nn.Transformer(D, H, 2, 2, 32, 0.0, batch_first=True, norm_first=norm_first).double()
    for parameter in module.parameters():
        if parameter.dim() == 1:
            nn.init.normal_(parameter, 0.5)
    model = build(norm_first=norm_first, final_norm=True)
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
    block, name = model.decoder[1], "decoder.layers.1."
    grads = {n.removeprefix(name): parameter.grad for n, parameter in module.named_parameters()}
    close(block.ff[0].weight.grad, grads["linear1.weight"])
    close(block.ff_norm.weight.grad, grads["norm3.weight"])
    for mha, theirs in [(block.mha, "self_attn"), (block.cross_mha, "multihead_attn")]:
        packed = torch.cat([getattr(mha, f"{x}_proj").weight.grad for x in "qkv"])
        close(packed, grads[f"{theirs}.in_proj_weight"])


@pytest.mark.filterwarnings("ignore:enable_nested_tensor")
def test_weights_go_only_where_they_fit_and_mean_the_same():
    sizes = {"nhead": H, "num_encoder_layers": 2, "num_decoder_layers": 2, "dim_feedforward": 32}
    for ours, theirs, message in [
        ({"final_norm": False}, {}, "Identity and LayerNorm"),
        ({"num_layers": 3}, {}, "3 and 2 blocks"),
        ({"norm_first": True}, {}, "before its parts"),
        ({}, {"nhead": 2}, "4 heads, the other 2"),
        ({}, {"layer_norm_eps": 1e-2}, "eps"),
        ({}, {"activation": "gelu"}, "another activation"),
    ]:
        module = nn.Transformer(D, **(sizes | theirs), batch_first=True)
        with pytest.raises(ValueError, match=message):
            copy_from_torch(build(**{"final_norm": True} | ours).float(), module)


@pytest.mark.filterwarnings("ignore:enable_nested_tensor")
@pytest.mark.parametrize("activation", [nn.ReLU(), torch.relu])
def test_a_relu_is_one_however_it_is_given(activation):
    module = nn.Transformer(D, H, 1, 1, 32, 0.0, activation, batch_first=True).double()
    model, x = build(1, final_norm=True), torch.randn(B, T, D).double()
    copy_from_torch(model, module)
    mask = torch.ones(T, T, dtype=torch.bool).triu(1)
    found = model.run_decoder(x, model.run_encoder(x), is_causal=True)
    close(found, module(x, x, tgt_mask=mask))


def paths(model, source):
    """Every way from a target to its logits: ids (B, T) -> (B, T, V)."""

    @torch.no_grad()
    def evaluated(target):
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
            x, *both = block(
                x, memory, memory_key_padding_mask=source == PADDING, need_weights=True
            )
            assert [w.shape[1:] for w in both] == [(H, T, T), (H, T, source.shape[1])]
        return model.logits(model.decoder_norm(x))

    def cached(sizes, target):
        state = model.start(source, target.shape[1])
        return torch.cat([model.step(part, state) for part in target.split(sizes, 1)], 1)

    return [evaluated, masked, weighed, *(partial(cached, size) for size in (1, 3, 99))]


@pytest.mark.parametrize("options", [*KINDS.values(), {"is_causal": False}])
def test_a_later_token_changes_an_earlier_output_only_without_the_causal_mask(options):
    model, source, target = build(**options), padded_source(), ids(T)
    other = target.clone()
    other[:, 3] = target[:, 3] % (V - 1) + 1  # another token
    first, second = model(source, target), model(source, other)
    causal = options.get("is_causal", True)
    assert torch.equal(first[:, :3], second[:, :3]) == causal
    assert not torch.equal(first[:, 3], second[:, 3])


def test_what_cannot_be_kept_is_refused():
    for options, error, message in [
        (CONVOLVED, NotImplementedError, "decode without a cache"),
        # Rotary positions are not for a source that is kept.
        ({"make_attention": SELF_ROTARY}, NotImplementedError, "decode without a cache"),
        ({"is_causal": False}, ValueError, "cached=False"),
    ]:
        with pytest.raises(error, match=message):
            build(**options).start(padded_source(), T)


@each_kind
def test_every_path_gives_the_same_logits_and_padding_changes_nothing(kind):
    model, source, target = build(**KINDS[kind]), padded_source(), ids(T)
    expected = model(source, target).detach()
    for run in paths(model, source):
        close(run(target).detach(), expected)
    more = torch.full((B, 4), PADDING)
    close(model(torch.cat([source, more], 1), target), expected)
    close(model(source, torch.cat([target, more], 1))[:, :T], expected)


def test_a_state_follows_the_rows_that_are_chosen():
    model, target = build(), ids(T, batch=2 * B)
    source = padded_source().repeat_interleave(2, 0)  # two targets of each source
    state, rows = model.start(source, T), torch.tensor([1, 0, 2, 2, 5, 5])
    model.step(target[:, :4], state)
    state.select(rows)
    assert state.length == 4
    close(model.step(target[rows, 4:], state), model(source, target[rows])[:, 4:])


def test_a_source_that_is_all_padding_gives_numbers_on_every_path():
    model, source, target = build(), torch.full((B, S), PADDING), ids(T)
    logits = model(source, target)
    logits.sum().backward()
    assert logits.isfinite().all()
    assert all(parameter.grad.isfinite().all() for parameter in model.parameters())
    for run in paths(model, source):
        close(run(target).detach(), logits.detach())


def test_embeddings_are_scaled_and_shared_and_have_the_positions_of_their_side():
    model, sines = build(), SinusoidalPositionalEncoding(D)
    scaled = model.embedding.weight[ids(T)] * D**0.5
    expected = sines(scaled)
    close(model.embed_source(ids(T)), expected)
    close(build(source_positions=nn.Identity()).embed_source(ids(T)), scaled)
    close(model.embed_target(ids(T)), expected)
    close(model.embed_target(ids(T)[:, 2:], 2), expected[:, 2:])
    close(model.logits(expected), expected @ model.embedding.weight.T)


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
    both = [torch.nn.Linear(D, D), torch.nn.Linear(D, D)]  # any module with weights
    before = [positions.weight.detach().clone() for positions in both]
    model = Transformer(V, D, H, 32, 1, source_positions=both[0], target_positions=both[1])
    model.reset_parameters()
    assert [model.source_positions, model.target_positions] == both
    for positions, table in zip(both, before, strict=True):
        assert torch.equal(positions.weight, table)


def test_what_cannot_be_is_refused():
    for vocab_size, num_layers in [(0, 1), (V, 0)]:
        with pytest.raises(ValueError, match="one token and one block"):
            Transformer(vocab_size, D, H, 32, num_layers)
    for token in (V, -1):
        with pytest.raises(ValueError, match=f"from 0 to {V - 1}"):
            build()(ids(S), torch.full((B, T), token))


@pytest.mark.parametrize("options", [{}, CONVOLVED])
def test_weights_of_every_layer_can_be_recorded_once_for_each_call(options):
    model, source = build(**options), padded_source()
    expected = model(source, ids(T))
    with recorded_weights(model) as records:
        found = model(source, ids(T))
    close(found, expected)
    shapes = [(S, S)] * 2 + [(T, T), (T, S)] * 2
    assert [[tuple(w.shape[2:]) for w in record] for record in records] == [[s] for s in shapes]
    for record in records[2::2]:
        assert not record[0].triu(1).any()


def test_dropout_is_applied_in_training_only_and_to_embeddings_with_their_positions():
    model, source, target = Transformer(V, D, H, 32, 1, 0.5), ids(S), ids(T)
    share = (model.embed_target(ids(200)) == 0).double().mean().item()
    assert abs(share - 0.5) < 0.03
    model.eval()
    assert torch.equal(model(source, target), model(source, target))
