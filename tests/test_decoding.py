"""A cache changes no token, one beam is greedy, and enough beams find the best of all."""

from itertools import product

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from utils.characters import BEGIN, END, PADDING
from utils.decoding import beam_search, greedy
from utils.transformer import Transformer

few_examples = settings(max_examples=10)
B, S, LENGTH = 4, 5, 7


def build(seed, vocab_size=9):
    """A small model in double precision, whose choices differ from token to token."""
    torch.manual_seed(seed)
    model = Transformer(vocab_size, 8, 2, 16, 2, 0.1, norm_first=bool(seed % 2)).double()
    for parameter in model.parameters():
        torch.nn.init.normal_(parameter, std=0.6)
    return model


def sources(seed, vocab_size=9):
    generator = torch.Generator().manual_seed(seed)
    ids = torch.randint(END + 1, vocab_size, (B, S), generator=generator)
    ids[1, 2:] = PADDING
    return ids


def penalty(ids, length_penalty):
    return ((5 + len(ids)) / 6) ** length_penalty


def all_scores(model, source, everything):
    """The log-probability of each of several targets, of up to three tokens."""
    target = torch.tensor([[BEGIN, *ids, *[PADDING] * (3 - len(ids))] for ids in everything])
    steps = model(source.expand(len(target), -1), target[:, :-1]).log_softmax(-1)
    each = steps.gather(2, target[:, 1:].unsqueeze(2)).squeeze(2).tolist()
    return [sum(row[: len(ids)]) for row, ids in zip(each, everything, strict=True)]


def score(model, source, ids, length_penalty):
    """The score of what was written, (T,), from the definition."""
    target = torch.tensor([[BEGIN, *ids]])
    steps = model(source.unsqueeze(0), target)[0].log_softmax(-1)
    total, length = 0.0, 0
    for step, token in zip(steps, ids, strict=False):
        total, length = total + step[token].item(), length + 1
        if token == END:
            break
    return total / ((5 + length) / 6) ** length_penalty


@given(st.integers(0, 999))
@few_examples
def test_a_cache_changes_no_token(seed):
    model, source = build(seed), sources(seed)
    assert torch.equal(greedy(model, source, LENGTH), greedy(model, source, LENGTH, cached=False))
    for width in (2, 5):
        found, scores = beam_search(model, source, LENGTH, width)
        expected, same = beam_search(model, source, LENGTH, width, cached=False)
        assert torch.equal(found, expected)
        torch.testing.assert_close(scores, same)


@given(st.integers(0, 999), st.floats(0, 2), st.booleans())
@few_examples
def test_one_beam_is_greedy(seed, length_penalty, cached):
    model, source = build(seed), sources(seed)
    found, _ = beam_search(model, source, LENGTH, 1, length_penalty, cached=cached)
    assert torch.equal(found, greedy(model, source, LENGTH))


def test_greedy_takes_the_best_token_of_the_whole_target():
    some_ended = False
    for seed in range(10):
        model, source = build(seed), sources(seed)
        ids = greedy(model, source, LENGTH)
        target = torch.cat([torch.full((B, 1), BEGIN), ids], 1)
        best = model(source, target)[:, :-1].argmax(-1)
        ended = (ids == END).cumsum(1) - (ids == END).long() > 0
        assert (best == ids)[~ended].all()
        assert (ids[ended] == PADDING).all()
        some_ended |= bool(ended.any())
    assert some_ended


@given(st.integers(0, 99), st.sampled_from([0.0, 0.6, 1.0]))
@few_examples
def test_enough_beams_find_the_best_of_all(seed, length_penalty):
    V, length = 5, 3
    model, source = build(seed, V).eval(), sources(seed, V)
    found, scores = beam_search(model, source, length, V**length, length_penalty)
    for row in range(B):
        everything = {}
        for ids in product(range(V), repeat=length):
            end = ids.index(END) + 1 if END in ids else length
            everything.setdefault(ids[:end], None)
        scores_of = dict(zip(everything, all_scores(model, source[row], everything), strict=True))
        best = max(everything, key=lambda ids: scores_of[ids] / penalty(ids, length_penalty))
        assert found[row, : len(best)].tolist() == list(best)
        assert scores[row].item() == pytest.approx(
            score(model, source[row], best, length_penalty), rel=1e-6
        )


@given(st.integers(0, 999))
@few_examples
def test_scores_are_those_of_what_is_written(seed):
    model, source = build(seed).eval(), sources(seed)
    ids, scores = beam_search(model, source, LENGTH, 3, 0.6)
    expected = [score(model, source[row], ids[row].tolist(), 0.6) for row in range(B)]
    assert scores.tolist() == pytest.approx(expected, rel=1e-6)


@given(st.integers(0, 99))
@few_examples
def test_sources_do_not_touch_each_other(seed):
    model, source = build(seed), sources(seed)
    together, _ = beam_search(model, source, LENGTH, 3)
    for row in range(B):
        alone, _ = beam_search(model, source[row : row + 1], LENGTH, 3)
        T = alone.shape[1]
        assert torch.equal(together[row, :T], alone[0])
        assert not together[row, T:].any()


def test_nothing_is_written_after_the_end_and_no_more_than_allowed():
    for seed in range(5):
        for ids in (
            greedy(build(seed), sources(seed), LENGTH),
            beam_search(build(seed), sources(seed), LENGTH)[0],
        ):
            after = ((ids == END).cumsum(1) - (ids == END).long()).bool()
            assert ids.shape[1] <= LENGTH
            assert not ids[after].any()


@pytest.mark.parametrize("write", [greedy, beam_search])
def test_a_model_that_reads_ahead_writes_without_a_cache(write):
    torch.manual_seed(0)
    model = Transformer(9, 8, 2, 16, 2, 0.0, is_causal=False)
    with pytest.raises(ValueError, match="cached=False"):
        write(model, sources(0), LENGTH)
    write(model, sources(0), LENGTH, cached=False)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: greedy(build(0), sources(0), 0), "at least 1; got 0"),
        (lambda: beam_search(build(0), sources(0), 5, 0), "got width 0"),
    ],
)
def test_what_cannot_be_is_refused(call, message):
    with pytest.raises(ValueError, match=message):
        call()
