"""What the processes of ``test_distributed`` do: they import it, so it stands in a module."""

from functools import partial

import torch
import torch.distributed as dist

from benchmarks.group import from_first
from chapters.ch13_batches import held_bytes, place, share_batches
from chapters.ch17_training import translation_loss
from chapters.ch17_transformer import Transformer
from utils.attention import MultiHeadAttention
from utils.classifier import TextClassifier
from utils.text import BEGIN, END, PADDING
from utils.training import classification_loss, train_epochs


def news():
    """A classifier in float64, and documents of several lengths: 7 and a last batch of 1."""
    torch.manual_seed(0)
    mha = MultiHeadAttention(16, 4)
    model = TextClassifier(50, 16, 3, mha, hidden_dim=16, padding_idx=0).double()
    ids = torch.randint(1, 50, (15, 9))
    ids[torch.arange(9) >= torch.randint(3, 10, (15, 1))] = 0
    batches = list(zip(ids.split(7), torch.randint(0, 3, (15,)).split(7), strict=True))
    return model, batches, classification_loss, {}


def translator(dropout=0.0):
    """A translator in float64, and pairs whose targets are of very unequal length."""
    torch.manual_seed(0)
    model = Transformer(40, 16, 2, 16, 2, dropout, norm_first=True).double()
    batches = []
    for longest in (5, 12, 8):
        rows = torch.randint(3, 40, (5, longest))
        rows[torch.arange(longest) > torch.tensor([[1], [9], [3], [9], [2]])] = PADDING
        begin = torch.full((5, 1), BEGIN)
        target = torch.cat([begin, rows.flip(1).sort(1, descending=True).values], 1)
        batches.append((torch.where(rows == PADDING, PADDING, rows), target))
        assert (target != END).all()  # an end is no more than another token here
    loss_of = partial(translation_loss, label_smoothing=0.1)
    return model, batches, loss_of, {"weigh": tokens_of}


def tokens_of(source, target):
    return (target[:, 1:] != PADDING).sum()


def train(make):
    """Train, and give the losses, the weights, what is held, and a number drawn afterwards."""
    model, batches, loss_of, options = make()
    loss_of = share_batches(model, loss_of, **options)
    optimizer = torch.optim.Adam(model.parameters(), 1e-2)
    history = train_epochs(model, lambda _: batches, 3, 9, loss_of, optimizer)
    held = held_bytes(model, optimizer)
    return history["train_loss"].tolist(), dict(model.state_dict()), held, torch.rand(()).item()


def fail():
    raise ValueError("no checkpoint")


def train_all():
    """Everything in one start of the processes."""
    found = {
        "news": train(news),
        "translator": train(translator),
        "dropout": train(partial(translator, 0.3)),
    }
    told = from_first(lambda: dist.get_rank())
    try:
        from_first(fail)
    except ValueError as error:
        told = (told, str(error))
    return found, told, place()
