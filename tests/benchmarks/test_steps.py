"""A step is taken or refused, and tells the loss that it had."""

import pytest
import torch
from torch import nn

from benchmarks.steps import gradient_steps


class Constant(nn.Module):
    """Logits that do not look at the text."""

    def __init__(self, *logits):
        super().__init__()
        self.logits = nn.Parameter(torch.tensor(logits))


def test_a_loss_or_gradient_that_is_not_finite_takes_no_step():
    model = Constant(float("nan"), 0.0)
    with pytest.raises(FloatingPointError, match="finite"):
        next(steps_of(model))
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
    steps = steps_of(model.eval(), max_norm=max_norm)
    for number, ((batch,), loss) in enumerate(steps, start=1):  # a step before each loss is given
        assert batch.tolist() == [3.0, 4.0]
        assert loss.item() == pytest.approx(-5 * length * (number - 1))
        assert not loss.requires_grad
        assert model.training
        assert model.logits.norm().item() == pytest.approx(number * length)
