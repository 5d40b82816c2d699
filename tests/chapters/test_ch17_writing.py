"""A cache changes no token, one beam is greedy, and enough beams find the best of all."""

import math

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from chapters.ch17_transformer import Transformer
from chapters.ch17_writing import beam_search, greedy
from utils.text import BEGIN, END, PADDING

few_examples = settings(max_examples=4)
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


@given(st.integers(0, 999))
@few_examples
def test_a_cache_changes_no_token_and_one_beam_is_greedy(seed):
    model, source = build(seed), sources(seed)
    ids = greedy(model, source, LENGTH)
    assert torch.equal(ids, greedy(model, source, LENGTH, cached=False))
    assert torch.equal(ids, beam_search(model, source, LENGTH, 1)[0])
    for width in (2, 5):
        found, scores = beam_search(model, source, LENGTH, width)
        expected, same = beam_search(model, source, LENGTH, width, cached=False)
        assert torch.equal(found, expected)
        torch.testing.assert_close(scores, same)


def test_greedy_takes_the_best_token_of_the_whole_target():
    any_ended = False
    for seed in range(30):
        model, source = build(seed), sources(seed)
        ids = greedy(model, source, LENGTH)
        target = torch.cat([torch.full((B, 1), BEGIN), ids], 1)
        best = model(source, target)[:, :-1].argmax(-1)
        ended = (ids == END).cumsum(1) - (ids == END).long() > 0
        assert (best == ids)[~ended].all()
        assert (ids[ended] == PADDING).all()
        any_ended |= bool(ended.any())
    assert any_ended


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
ENDS_LATE = {(): {END: 0.35, A: 0.65}, (A,): {C: 0.5, D: 0.5}, (A, C): {END: 1.0}}


def test_a_longer_text_that_scores_higher_is_waited_for():
    # 0.325, less than 0.35, but of three tokens: ln 0.325 / (8 / 6) ** 0.6 is above ln 0.35.
    ids, scores = beam_search(FromTable(ENDS_LATE), sources(0)[:1], 6, 2, cached=False)
    assert ids.tolist() == [[A, C, END]]
    assert scores.item() == pytest.approx(math.log(0.325) / (8 / 6) ** 0.6)
    ids, _ = beam_search(FromTable(ENDS_LATE), sources(0)[:1], 6, 2, 0.0, cached=False)
    assert ids.tolist() == [[END]]


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
        penalty = ((5 + length) / 6) ** length_penalty
        ended += [(s / penalty, i) for i, s in kept if i[-1] == END or length == LENGTH]
        beams = [beam for beam in kept if beam[0][-1] != END]
        if not beams:
            break
    return max(ended)


@pytest.mark.parametrize(
    ("length_penalty", "cached"), [(-1.0, True), (0.0, False), (0.6, True), (2.0, False)]
)
@given(seed=st.integers(0, 999), width=st.integers(2, 4))
@few_examples
def test_a_search_gives_what_lists_without_an_early_stop_give(cached, length_penalty, seed, width):
    model, source = build(seed, 5).eval(), sources(seed, 5)
    found, scores = beam_search(model, source, LENGTH, width, length_penalty, cached=cached)
    for row in range(B):
        best, ids = by_hand(model, source[row], width, length_penalty)
        assert found[row].tolist() == [*ids, *[PADDING] * (found.shape[1] - len(ids))]
        assert scores[row].item() == pytest.approx(best, rel=1e-6)


def test_no_source_gives_no_text():
    for cached in (True, False):
        found, scores = beam_search(build(0), sources(0)[:0], LENGTH, 3, cached=cached)
        written = greedy(build(0), sources(0)[:0], LENGTH, cached=cached)
        assert [*map(len, (written, found, scores))] == [0, 0, 0]


def test_what_cannot_be_is_refused():
    with pytest.raises(ValueError, match="cached=False"):
        greedy(Transformer(9, 8, 2, 16, 2, 0.0, is_causal=False), sources(0), LENGTH)
    with pytest.raises(ValueError, match="at least 1; got 0"):
        greedy(build(0), sources(0), 0)
    with pytest.raises(ValueError, match="got width 0"):
        beam_search(build(0), sources(0), 5, 0)
