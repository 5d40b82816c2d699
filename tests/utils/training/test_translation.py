"""The loss is the definition's, the schedule the paper's, and a small task is learnt."""

import pytest
import torch

from utils.data import BEGIN, END, PADDING, batches
from utils.models import Transformer, greedy
from utils.training import (
    exact_matches,
    linear_rate,
    paper_rate,
    train_translation,
    translation_loss,
)

V = 8


def build(dropout=0.0, **options):
    torch.manual_seed(0)
    return Transformer(V, 32, 4, 64, 1, dropout, norm_first=True, **options)


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


@pytest.mark.parametrize("label_smoothing", [0.0, 0.1])
def test_the_loss_is_that_of_the_definition(label_smoothing):
    model = build().double()
    source, target = reversals(5)
    total, count = 0.0, 0
    for row in range(5):
        size = int((target[row] != PADDING).sum())
        steps = model(source[row : row + 1], target[row : row + 1, : size - 1])[0].log_softmax(-1)
        for step, token in zip(steps, target[row, 1:size], strict=True):
            total -= (1 - label_smoothing) * step[token] + label_smoothing * step.mean()
            count += 1
    found = translation_loss(model, source, target, label_smoothing)
    torch.testing.assert_close(found, total / count)


def test_the_rate_is_the_papers():
    assert paper_rate(1, 512) == pytest.approx(512**-0.5 * 4000**-1.5)
    assert paper_rate(4000, 512) == pytest.approx((512 * 4000) ** -0.5)
    assert paper_rate(16_000, 512) == pytest.approx(paper_rate(4000, 512) / 2)
    rates = [paper_rate(step, 64, 100) for step in range(1, 400)]
    assert rates.index(max(rates)) == 99


def test_the_linear_rate_rises_and_falls():
    rates = [linear_rate(step, 100, 0.5, 0.2) for step in range(1, 101)]
    assert max(rates) == pytest.approx(rates[19]) == pytest.approx(0.5)
    assert rates[:20] == sorted(rates[:20])
    assert rates[19:] == sorted(rates[19:], reverse=True)
    assert 0 < rates[-1] < 0.01
    assert linear_rate(1, 1, 0.5) > 0


@pytest.mark.slow
def test_a_small_task_is_learnt_and_without_the_mask_only_seemingly():
    """Without a causal mask the loss is near zero, and what is written is wrong."""
    pairs, unseen = reversals(600), reversals(100, seed=1)
    results = {}
    for is_causal in (True, False):
        model = build(is_causal=is_causal)
        history = train_translation(
            model,
            *pairs,
            epochs=14,
            batch_size=32,
            label_smoothing=0.0,
            rate=lambda step: linear_rate(step, 14 * 18, 5e-3),
        )
        results[is_causal] = (
            history.train_loss.iloc[-1],
            exact_matches(model, *unseen, cached=is_causal),
        )
        assert list(history.epoch) == list(range(1, 15))
        assert (history.seconds > 0).all()
    # How well a training of float32 ends differs a little from processor to processor.
    assert results[True][1].double().mean() > 0.6
    assert results[False][0] < 0.1
    assert results[False][1].double().mean() < 0.2


def test_training_again_gives_the_same():
    losses = []
    for _ in range(2):
        model = build()
        losses.append(train_translation(model, *reversals(64), epochs=2, batch_size=16).train_loss)
    assert losses[0].equals(losses[1])


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


def test_what_cannot_be_trained_is_refused():
    with pytest.raises(ValueError, match="at least one epoch"):
        train_translation(build(), *reversals(4), epochs=0)


def test_a_loss_that_is_not_finite_ends_the_training_at_once():
    steps = []

    def rate(step):
        steps.append(step)
        return 1e30

    with pytest.raises(FloatingPointError, match="must be finite"):
        train_translation(build(), *reversals(640), epochs=2, batch_size=16, rate=rate)
    assert len(steps) < 10


def test_a_batch_size_above_the_pairs_trains_on_all():
    source, target = reversals(5)
    assert len(list(batches(source, target, 100, seed=0))) == 1
    assert len(train_translation(build(), source, target, epochs=1, batch_size=100)) == 1
