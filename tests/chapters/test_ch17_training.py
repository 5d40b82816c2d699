"""The loss is the definition's, the schedule the paper's, and a small task is learnt."""

import pytest
import torch

from chapters.ch17_training import exact_matches, translation_loss
from chapters.ch17_transformer import Transformer
from chapters.ch17_writing import greedy
from utils.text import BEGIN, END, PADDING
from utils.training import linear_rate

V = 8


def build():
    torch.manual_seed(0)
    return Transformer(V, 32, 4, 64, 1, 0.0, norm_first=True)


def reversals(count, length=4, seed=0):
    """Three to ``length`` tokens, to be written backwards."""
    generator = torch.Generator().manual_seed(seed)
    source = torch.full((count, length + 2), PADDING)
    target = source.clone()
    for row in range(count):
        size = int(torch.randint(3, length + 1, (1,), generator=generator))
        ids = torch.randint(END + 1, V, (size,), generator=generator)
        for side, tokens in ((source, ids), (target, ids.flip(0))):
            side[row, 0] = BEGIN
            side[row, 1 : size + 1] = tokens
            side[row, size + 1] = END
    return source, target


def test_the_loss_is_that_of_the_definition():
    model = build().double()
    source, target = reversals(5)
    total, count = 0.0, 0
    for row in range(5):
        size = int((target[row] != PADDING).sum())
        steps = model(source[row : row + 1], target[row : row + 1, : size - 1])[0].log_softmax(-1)
        for step, token in zip(steps, target[row, 1:size], strict=True):
            total -= 0.9 * step[token] + 0.1 * step.mean()
            count += 1
    found = translation_loss(model, source, target, 0.1)
    torch.testing.assert_close(found, total / count)


def test_the_linear_rate_rises_and_falls():
    rates = [linear_rate(step, 100, 0.5, 0.2) for step in range(1, 101)]
    assert max(rates) == pytest.approx(rates[19]) == pytest.approx(0.5)
    assert rates[:20] == sorted(rates[:20])
    assert rates[19:] == sorted(rates[19:], reverse=True)
    assert 0 < rates[-1] < 0.01
    assert linear_rate(1, 1, 0.5) > 0
    assert linear_rate(10, 100, 0.5) == 0.5, "by itself it rises over a tenth of the steps"


def test_exact_matches_are_those_of_the_greedy_translation():
    model, (source, target) = build(), reversals(30)
    written = greedy(model, source, 5)
    fits = torch.full_like(target, PADDING)
    fits[:, 0] = BEGIN
    fits[:, 1 : written.shape[1] + 1] = written
    mixed = torch.where(torch.arange(30).unsqueeze(1) < 11, fits, target)
    found = exact_matches(model, source, mixed, batch_size=7)
    assert torch.equal(found, exact_matches(model, source, mixed, cached=False))
    assert found[:11].all() or not (written == END).any()
    assert found.shape == (30,)
    assert not found[11:].any()
