"""Eight models at once do what each does alone."""

import pytest
import torch
import torch.nn.functional as F
from torch import nn

from chapters.ch14_eight import PART, Eight, joined, losses, recalls
from chapters.ch14_tasks import Model, examples
from utils.attention import MultiHeadAttention, causal_mask


class Small(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed, self.answer = nn.Embedding(16, 8), nn.Linear(8, 16)

    def forward(self, blocked, ids):
        x = (~blocked).float() @ self.embed(ids)  # the sum of what may be seen
        return self.answer(x.tanh()), None


def trained(model, batch, steps=5):
    optimizer = torch.optim.AdamW(model.parameters(), 0.01)
    for _ in range(steps):
        ids = batch()
        answers, _ = model(~causal_mask(6, 6), ids[:, :-1])
        loss = F.cross_entropy(answers.mT, ids[:, 1:])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    return model


def test_eight_at_once_are_eight_alone():
    def started(seed):
        torch.manual_seed(seed)
        return Small(), torch.Generator().manual_seed(seed)

    def batches(*draws):
        return lambda: torch.cat([torch.randint(16, (4, 7), generator=draw) for draw in draws])

    models, draws = zip(*map(started, range(8)), strict=True)
    together = trained(Eight(models), batches(*draws))
    ids = torch.randint(16, (2 * PART + 1,))
    found = losses(together, ids, 32)
    for seed in (0, 5):
        model, draw = started(seed)
        answers, _ = trained(model, batches(draw))(~causal_mask(32, 32), ids[:-1].view(-1, 32))
        alone = F.cross_entropy(answers.mT, ids[1:].view(-1, 32))
        assert found[seed] == pytest.approx(alone.item(), abs=1e-4)


def test_recall_of_each_on_the_same_texts():
    def recaller(seed):
        torch.manual_seed(seed)
        return Model(MultiHeadAttention(16, 2)).eval()

    found = recalls(Eight([recaller(seed) for seed in range(3)]), n=8)
    draw = torch.Generator().manual_seed(10**6)
    texts = [examples(draw, n=8, B=256, again=True) for _ in range(4)]
    for seed in (0, 2):
        model = recaller(seed)
        alone = [(model(*inputs)[0].argmax(dim=-1) == right).float() for inputs, right, _ in texts]
        assert found[seed] == pytest.approx(torch.cat(alone).mean().item(), abs=1e-3)


def test_other_models_read_with_the_same_weights():
    def model(H):
        torch.manual_seed(0)
        return Model(MultiHeadAttention(16, H)).eval()

    one_head, four_heads = (recalls(Eight([model(H)] * 2), n=8) for H in (1, 4))
    first = Eight([model(1)] * 2)
    assert recalls(first.read_by(model(4)), n=8) == four_heads != one_head
    assert recalls(first, n=8) == one_head


def test_batches_are_joined_in_the_order_of_the_models():
    draws = [torch.Generator().manual_seed(seed) for seed in (3, 5)]
    (blocked, keys, values), right = joined([examples(draw, n=4, B=2) for draw in draws], "cpu")
    for n, seed in enumerate((3, 5)):
        inputs, answers, _ = examples(torch.Generator().manual_seed(seed), n=4, B=2)
        mine = slice(2 * n, 2 * n + 2)
        for found, alone in zip((keys, values, right), (*inputs[1:], answers), strict=True):
            assert torch.equal(found[mine], alone)
        assert torch.equal(blocked, inputs[0])
