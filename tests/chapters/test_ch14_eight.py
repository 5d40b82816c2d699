"""Eight models at once do what each does alone."""

import torch
import torch.nn.functional as F
from torch import nn

from chapters.ch14_eight import PART, Eight, losses
from utils.attention import causal_mask


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
        alone = F.cross_entropy(answers.mT, ids[1:].view(-1, 32), reduction="none").mean(0)
        assert torch.allclose(found[seed], alone, atol=1e-4)
