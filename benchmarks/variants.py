"""The classifier of chapter 7, computed in eight ways.

The first six are the same model around the same layer. The first four compute every row, as the
blog asks; the classifier reads one, and the fifth asks PyTorch's layer for that one alone, without
weights: the best that its user can do. Ours is the course's fast layer. The seventh is the same
function of the same weights, but the model's code is another. The last one is another function: the
classifier without attention, the floor beneath the six.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import NamedTuple

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from utils.attention import MultiHeadAttention
from utils.fast import FastMultiHeadAttention
from utils.models import TextClassifier
from utils.naive import NaiveMultiHeadAttention

EMBED_DIM, NUM_HEADS = 64, 8


class AllRows(nn.Module):
    """Ask a layer with every token, as the blog does, and keep the first row."""

    def __init__(self, mha: nn.Module, need_weights: bool) -> None:
        super().__init__()
        self.mha = mha
        self.need_weights = need_weights

    def forward(
        self, query: Tensor, key: Tensor, value: Tensor, key_padding_mask: None, need_weights: bool
    ) -> tuple[Tensor, None]:
        """Give the first row, (B, 1, D), of all rows, (B, T, D)."""
        asked = {"need_weights": self.need_weights, "average_attn_weights": False}
        rows, _ = self.mha(key, key, value, key_padding_mask, **asked)
        return rows[:, :1], None


class MeanOfTokens(nn.Module):
    """No attention: the mean of the tokens. What the rest of the classifier costs."""

    def forward(
        self, query: Tensor, key: Tensor, value: Tensor, key_padding_mask: None, need_weights: bool
    ) -> tuple[Tensor, None]:
        """Give the mean, (B, 1, D)."""
        return value.mean(dim=1, keepdim=True), None


class BagOfTokens(nn.Module):
    """The classifier as a function of how often each token of the vocabulary occurs.

    Every document begins with the same token, [CLS], which is the one query, and no token knows
    where it stands. So a score belongs to a token of the vocabulary, not to a place in a document,
    and so does a value: both are computed once for the V tokens, and a token that occurs c times
    has c times its share of the mixture. Nothing is gathered for each place, and no gradient
    scattered back. This is a change of the model's code, not of the layer; it holds for no model
    with positions, with a second layer, or with dropout on the weights.

    The largest score is taken over the vocabulary, not over a document: in a document whose own
    scores all lie 80 and more below it the sum would be zero.

    Parameters
    ----------
    model : TextClassifier around a ``MultiHeadAttention`` with biases; its weights are shared
    """

    def __init__(self, model: TextClassifier) -> None:
        super().__init__()
        assert isinstance(model.mha, MultiHeadAttention)
        self.embedding, self.mha, self.classifier = model.embedding, model.mha, model.classifier

    def forward(self, input_ids: Tensor) -> Tensor:
        """Give the logits, (B, C), for ids (B, T) that all begin with the same token."""
        mha, x = self.mha, self.embedding.weight  # (V, D)
        H, D_head = mha.num_heads, mha.head_dim
        counts = x.new_zeros(len(input_ids), len(x))
        counts.scatter_add_(1, input_ids, x.new_ones(1).expand(input_ids.shape))  # (B, V)
        q = mha.q_proj(x[input_ids[0, 0]]).view(H, 1, D_head) / math.sqrt(D_head)
        # The key's bias shifts all scores of a head alike: the softmax does not see it.
        scores = (q @ mha.k_proj.weight.view(H, D_head, -1)).squeeze(1) @ x.T  # (H, V)
        shares = (scores - scores.detach().amax(dim=-1, keepdim=True)).exp().T  # (V, H)
        values = mha.v_proj(x).unflatten(-1, (H, D_head))  # (V, H, D_head)
        mixed = counts @ (shares.unsqueeze(-1) * values).flatten(1)  # (B, V) @ (V, D) -> (B, D)
        heads = mixed.unflatten(-1, (H, D_head)) / (counts @ shares).unsqueeze(-1)
        return self.classifier(mha.out_proj(heads.flatten(1)))


class Variant(NamedTuple):
    """A way to compute the classifier: its name, the layer, and a change of the model around it."""

    name: str
    layer: Callable[[nn.MultiheadAttention], nn.Module]
    change: Callable[[TextClassifier], nn.Module] = lambda model: model


loop, reshaped = NaiveMultiHeadAttention.from_torch, MultiHeadAttention.from_torch
fast = FastMultiHeadAttention.from_torch
VARIANTS = {
    "torch": Variant("torch.nn, as the blog calls it", lambda mha: AllRows(mha, True)),
    "loop": Variant("a loop over heads", lambda mha: AllRows(loop(mha), True)),
    "reshaped": Variant("reshaped", lambda mha: AllRows(reshaped(mha), True)),
    "fused": Variant("fused kernel", lambda mha: AllRows(reshaped(mha), False)),
    "row": Variant("torch.nn, asked for one row", lambda mha: mha),
    "ours": Variant("ours", fast),
    "bag": Variant("ours, model as a bag of tokens", fast, BagOfTokens),
    "floor": Variant("no attention: mean of the tokens", lambda _: MeanOfTokens()),
}


def build(name: str, vocab_size: int, num_classes: int, device: torch.device) -> nn.Module:
    """Build the classifier in one of these ways; all start with the same weights."""
    variant = VARIANTS[name]
    torch.manual_seed(0)
    layer = variant.layer(nn.MultiheadAttention(EMBED_DIM, NUM_HEADS, batch_first=True))
    torch.manual_seed(1)
    model = TextClassifier(vocab_size, EMBED_DIM, num_classes, layer)
    return variant.change(model).to(device)


def build_optimizer(model: nn.Module, learning_rate: float = 1e-3) -> torch.optim.Optimizer:
    """Build AdamW, with the learning rate of chapter 7."""
    return torch.optim.AdamW(model.parameters(), learning_rate, fused=True)


def training_step(
    model: nn.Module, optimizer: torch.optim.Optimizer, ids: Tensor, labels: Tensor
) -> Tensor:
    """Take one step, and give the loss before it."""
    model.train()
    loss = F.cross_entropy(model(ids), labels)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    return loss.detach()
