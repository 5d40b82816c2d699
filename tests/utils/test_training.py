"""Training lowers the loss and reports it."""

import math

import pytest
import torch
from datasets import Dataset
from torch import nn

from chapters.a3_training import collect_logits, evaluate, train
from utils.attention import MultiHeadAttention
from utils.classifier import TextClassifier
from utils.text import make_dataloader, train_tokenizer
from utils.training import gradient_steps

WORDS = {0: "red crimson scarlet ruby", 1: "blue azure navy cobalt"}
TEXTS = [" ".join(WORDS[i % 2].split()[: 1 + i // 2 % 4]) for i in range(16)]


@pytest.fixture(scope="module")
def tokenizer():
    return train_tokenizer([*TEXTS, *WORDS.values()], vocab_size=60)


@pytest.fixture(scope="module")
def documents():
    return Dataset.from_list([{"text": text, "label": i % 2} for i, text in enumerate(TEXTS)])


def build(tokenizer):
    torch.manual_seed(0)
    mha = MultiHeadAttention(8, 2)
    padding = tokenizer.pad_token_id
    return TextClassifier(len(tokenizer), 8, 2, mha, hidden_dim=16, padding_idx=padding)


@pytest.fixture(scope="module")
def trained(tokenizer, documents):
    """A model after training, and its history."""
    model = build(tokenizer)
    loaders = (
        make_dataloader(documents, tokenizer, 4, seed=0),
        make_dataloader(documents, tokenizer),
    )
    return model, train(model, *loaders, epochs=8, learning_rate=0.02)


def test_the_task_is_learnt_and_the_history_has_one_row_for_each_epoch(trained):
    _, history = trained
    assert history.train_loss.iloc[0] > 0.3
    assert history[["train_loss", "val_loss"]].iloc[-1].max() < 0.1
    assert history.val_accuracy.iloc[-1] == 1.0
    assert list(history.columns) == ["epoch", "train_loss", "val_loss", "val_accuracy", "seconds"]
    assert list(history.epoch) == list(range(1, 9))
    assert (history.seconds > 0).all()


class Constant(nn.Module):
    """Logits that do not look at the text."""

    def __init__(self, *logits):
        super().__init__()
        self.logits = nn.Parameter(torch.tensor(logits))

    def forward(self, ids):
        return self.logits.expand(len(ids), -1)


def loader_of(*sizes):
    return [(torch.zeros(n, 3).long(), torch.zeros(n).long()) for n in sizes]


def rates_of(monkeypatch, **options):
    """The learning rate at each step of a training over 5 epochs of 2 steps."""
    rates, step = [], torch.optim.AdamW.step

    def watched(self, *args, **kwargs):
        rates.append(self.param_groups[0]["lr"])
        return step(self, *args, **kwargs)

    monkeypatch.setattr(torch.optim.AdamW, "step", watched)
    train(Constant(0.0, 0.0), loader_of(2, 2), None, 5, learning_rate=0.1, **options)
    return rates


def test_one_cycle_rises_over_a_third_of_the_steps_and_falls_to_zero(monkeypatch):
    with monkeypatch.context() as patch:
        assert rates_of(patch) == pytest.approx([0.1] * 10), "constant unless asked for"
    rates = rates_of(monkeypatch, one_cycle=True)
    assert max(rates) == rates[2] == pytest.approx(0.1)  # of the steps 0 to 9
    assert rates[:3] == sorted(rates[:3])
    assert rates[2:] == sorted(rates[2:], reverse=True)
    assert rates[0] < 0.01
    assert rates[-1] < 1e-4


def test_losses_are_means_over_documents_and_not_over_batches(capsys):
    # At a learning rate of zero the loss of a document is log(1 + e).
    loader = loader_of(3)
    loader.append((torch.zeros(1, 3).long(), torch.ones(1).long()))  # the other class: log(1 + 1/e)
    history = train(Constant(0.0, 1.0), loader, None, 1, learning_rate=0.0, name="the bar")
    expected = (3 * math.log(1 + math.e) + math.log(1 + 1 / math.e)) / 4
    assert history.train_loss.item() == pytest.approx(expected, rel=1e-6)
    assert history[["val_loss", "val_accuracy"]].isna().all(axis=None)
    said = capsys.readouterr().err
    assert "the bar" in said
    assert "2/2" in said
    loss, accuracy = evaluate(Constant(0.0, 1.0), loader)
    assert accuracy == 0.25
    assert loss == pytest.approx(expected)
    logits, labels = collect_logits(Constant(0.0, 1.0), loader)
    assert logits.shape == (4, 2)
    assert labels.tolist() == [0, 0, 0, 1]
    assert not logits.requires_grad


def test_evaluation_turns_dropout_off_and_training_turns_it_on():
    modes = []
    model = Constant(0.0, 0.0)
    model.register_forward_pre_hook(lambda module, _: modes.append(module.training))
    train(model, loader_of(2), loader_of(2), 2)
    assert modes == [True, False, True, False]


def test_a_loss_or_gradient_that_is_not_finite_takes_no_step():
    model = Constant(float("nan"), 0.0)
    with pytest.raises(FloatingPointError, match="finite"):
        train(model, loader_of(2), None, 1)
    assert model.logits[1] == 0
    model = Constant(0.0, 0.0)
    model.logits.register_hook(lambda gradient: gradient * float("inf"))
    with pytest.raises(FloatingPointError, match="finite"):
        next(steps_of(model, max_norm=1.0))
    assert model.logits.tolist() == [0.0, 0.0]


def test_training_on_nothing_is_refused():
    some, none = loader_of(2), loader_of()
    for loaders_and_epochs in [(some, None, 0), (none, None, 1), (some, none, 1)]:
        with pytest.raises(ValueError, match="one epoch and documents"):
            train(Constant(0.0, 0.0), *loaders_and_epochs)


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
