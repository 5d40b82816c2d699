"""Training lowers the loss and reports it."""

import math

import pytest
import torch
from torch import nn

from utils.training import classification_loss, gradient_steps, train_epochs


def train(model, loader, epochs, rate=0.1, **options):
    optimizer = torch.optim.AdamW(model.parameters(), rate)
    steps = epochs * len(loader)
    return train_epochs(
        model, lambda _: loader, epochs, steps, classification_loss, optimizer, **options
    )


class Constant(nn.Module):
    """Logits that do not look at the text."""

    def __init__(self, *logits):
        super().__init__()
        self.logits = nn.Parameter(torch.tensor(logits))

    def forward(self, ids):
        return self.logits.expand(len(ids), -1)


def loader_of(*sizes):
    return [(torch.zeros(n, 3).long(), torch.zeros(n).long()) for n in sizes]


def test_the_history_has_one_row_for_each_epoch_and_the_loss_falls():
    model = Constant(0.0, 0.0)
    history = train(model, loader_of(2, 2), 8, validate=lambda: {"val_loss": 0.5})
    assert list(history.columns) == ["epoch", "train_loss", "val_loss", "seconds"]
    assert list(history.epoch) == list(range(1, 9))
    assert history.train_loss.is_monotonic_decreasing
    assert (history.seconds > 0).all()


def test_losses_are_means_over_documents_and_not_over_batches(capsys):
    # At a learning rate of zero the loss of a document is log(1 + e).
    loader = loader_of(3)
    loader.append((torch.zeros(1, 3).long(), torch.ones(1).long()))  # the other class: log(1 + 1/e)
    history = train(Constant(0.0, 1.0), loader, 1, rate=0.0, name="the bar")
    expected = (3 * math.log(1 + math.e) + math.log(1 + 1 / math.e)) / 4
    assert history.train_loss.item() == pytest.approx(expected, rel=1e-6)
    said = capsys.readouterr().err
    assert "the bar" in said
    assert "2/2" in said


def test_training_turns_dropout_on():
    modes = []
    model = Constant(0.0, 0.0).eval()
    model.register_forward_pre_hook(lambda module, _: modes.append(module.training))
    train(model, loader_of(2), 2)
    assert modes == [True, True]


def test_a_loss_or_gradient_that_is_not_finite_takes_no_step():
    model = Constant(float("nan"), 0.0)
    with pytest.raises(FloatingPointError, match="finite"):
        train(model, loader_of(2), 1)
    assert model.logits[1] == 0
    model = Constant(0.0, 0.0)
    model.logits.register_hook(lambda gradient: gradient * float("inf"))
    with pytest.raises(FloatingPointError, match="finite"):
        next(steps_of(model, max_norm=1.0))
    assert model.logits.tolist() == [0.0, 0.0]


def steps_of(model, rate=1.0, **options):
    """Steps down the sum of 3 a + 4 b, whose gradient has the length 5."""
    optimizer = torch.optim.SGD(model.parameters(), rate)
    weights = torch.tensor([3.0, 4.0])
    return gradient_steps(
        model, [(weights,)] * 3, lambda m, w: (m.logits * w).sum(), optimizer, **options
    )


@pytest.mark.parametrize(("max_norm", "length"), [(None, 5.0), (10.0, 5.0), (2.0, 2.0)])
def test_a_longer_gradient_is_scaled_down(max_norm, length):
    model = Constant(0.0, 0.0)
    steps = steps_of(model, max_norm=max_norm)
    for number, ((batch,), loss) in enumerate(steps, start=1):  # a step before each loss is given
        assert batch.tolist() == [3.0, 4.0]
        assert loss.item() == pytest.approx(-5 * length * (number - 1))
        assert not loss.requires_grad
        assert model.logits.norm().item() == pytest.approx(number * length)
