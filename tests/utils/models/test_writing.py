"""A cache changes no token, one beam is greedy, and enough beams find the best of all."""

import math
from itertools import product

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from utils.data import BEGIN, END, PADDING
from utils.models import Transformer, beam_search, greedy

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
    for seed in range(30):
        model, source = build(seed), sources(seed)
        ids = greedy(model, source, LENGTH)
        target = torch.cat([torch.full((B, 1), BEGIN), ids], 1)
        best = model(source, target)[:, :-1].argmax(-1)
        ended = (ids == END).cumsum(1) - (ids == END).long() > 0
        assert (best == ids)[~ended].all()
        assert (ids[ended] == PADDING).all()
        some_ended |= bool(ended.any())
    assert some_ended


@given(st.integers(0, 99), st.sampled_from([-1.0, 0.0, 0.6, 1.0, 2.0]))
@few_examples
def test_enough_beams_find_the_best_of_all(seed, length_penalty):
    V, length = 5, 3
    model, source = build(seed, V).eval(), sources(seed, V)
    width = (V - 1) * V  # all texts of two tokens, but for those that had ended after one
    found, scores = beam_search(model, source, length, width, length_penalty)
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


class FromTable:
    """In the place of a model: probabilities of the next token by the tokens written so far.

    After the longest beginnings of the table comes one of ten tokens, 0.1 each, and then the end.
    """

    padding_idx, V = PADDING, 13

    def __init__(self, table):
        self.table = {(BEGIN, *ids): after for ids, after in table.items()}
        self.longest = max(map(len, self.table))
        self.asked = 0  # how many times it was asked for the next token

    def eval(self):
        return self

    def encode(self, source):
        return source

    def decode(self, ids, memory, source):
        self.asked += 1
        return torch.stack([self.after(tuple(row)) for row in ids.tolist()]).unsqueeze(1)

    def after(self, ids):
        tenth = dict.fromkeys(range(END + 1, self.V), 0.1)
        found = self.table.get(ids, tenth if len(ids) == self.longest + 1 else {END: 1.0})
        steps = torch.full((self.V,), -math.inf, dtype=torch.float64)
        for token, probability in found.items():
            steps[token] = math.log(probability)
        return steps


A, C, D = range(END + 1, END + 4)
ENDS_EARLY = {(): {END: 0.35, A: 0.65}, (A,): {C: 0.5, D: 0.5}}
ENDS_LATE = ENDS_EARLY | {(A, C): {END: 1.0}}


@pytest.mark.parametrize("width", [2, 3, 5])
def test_a_text_that_has_ended_is_not_lost_to_what_looked_better(width):
    ids, scores = beam_search(FromTable(ENDS_EARLY), sources(0)[:1], 6, width, cached=False)
    assert ids.tolist() == [[END]]
    assert scores.item() == pytest.approx(math.log(0.35))


def test_a_longer_text_that_scores_higher_is_waited_for():
    for width in (2, 3):
        # 0.325, less than 0.35, but of three tokens: ln 0.325 / (8 / 6) ** 0.6 is above ln 0.35.
        ids, scores = beam_search(FromTable(ENDS_LATE), sources(0)[:1], 6, width, cached=False)
        assert ids.tolist() == [[A, C, END]]
        assert scores.item() == pytest.approx(math.log(0.325) / (8 / 6) ** 0.6)
        ids, scores = beam_search(FromTable(ENDS_LATE), sources(0)[:1], 6, width, 0.0, cached=False)
        assert ids.tolist() == [[END]]
        assert scores.item() == pytest.approx(math.log(0.35))


def test_what_has_ended_takes_up_no_beam():
    table = {(): {END: 0.5, A: 0.5}, (A,): {C: 0.6, D: 0.4}, (A, C): {C: 0.5, D: 0.5}}
    table[A, D] = {END: 1.0}  # 0.2 altogether; with one beam left it would be cut off
    ids, _ = beam_search(FromTable(table), sources(0)[:1], 6, 2, 3.0, cached=False)
    assert ids.tolist() == [[A, D, END]]


@pytest.mark.parametrize(
    ("max_length", "length_penalty", "asked"),
    [(40, 0.0, 1), (40, -1.0, 1), (2, 0.6, 1), (40, 0.6, 3)],
)
def test_a_search_stops_when_nothing_can_score_higher(max_length, length_penalty, asked):
    model = FromTable({(): {END: 0.6, A: 0.4}, (A,): {C: 0.5, D: 0.5}})
    beam_search(model, sources(0)[:1], max_length, 2, length_penalty, cached=False)
    assert model.asked == asked


def by_hand(model, source, width, length_penalty):
    """The search for one source in lists, with no early stop: the best text and its score."""
    beams, ended = [((), 0.0)], []
    for length in range(1, LENGTH + 1):
        target = torch.tensor([[BEGIN, *ids] for ids, _ in beams])
        steps = model(source.expand(len(beams), -1), target)[:, -1].log_softmax(-1).tolist()
        longer = [
            ((*ids, token), total + step)
            for (ids, total), after in zip(beams, steps, strict=True)
            for token, step in enumerate(after)
        ]
        kept = sorted(longer, key=lambda beam: beam[1], reverse=True)[:width]
        last = length == LENGTH
        ended += [(s / penalty(i, length_penalty), i) for i, s in kept if i[-1] == END or last]
        beams = [beam for beam in kept if beam[0][-1] != END]
        if not beams:
            break
    return max(ended)


@pytest.mark.parametrize("cached", [True, False])
@pytest.mark.parametrize("length_penalty", [-1.0, 0.0, 0.6, 2.0])
@given(st.integers(0, 999), st.integers(2, 4))
@few_examples
def test_a_search_gives_what_lists_without_an_early_stop_give(cached, length_penalty, seed, width):
    model, source = build(seed, 5).eval(), sources(seed, 5)
    found, scores = beam_search(model, source, LENGTH, width, length_penalty, cached=cached)
    for row in range(B):
        best, ids = by_hand(model, source[row], width, length_penalty)
        assert found[row].tolist() == [*ids, *[PADDING] * (found.shape[1] - len(ids))]
        assert scores[row].item() == pytest.approx(best, rel=1e-6)


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


@pytest.mark.parametrize("cached", [True, False])
def test_no_source_gives_no_text(cached):
    found, scores = beam_search(build(0), sources(0)[:0], LENGTH, 3, cached=cached)
    assert greedy(build(0), sources(0)[:0], LENGTH, cached=cached).shape == found.shape == (0, 0)
    assert scores.shape == (0,)


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
