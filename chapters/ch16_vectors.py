"""A vector for each text: the mean of what the model gives for its tokens."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import torch
import torch.nn.functional as F
from torch import Tensor
from transformers import PreTrainedTokenizerFast

from utils.text import pad_rows


def mean_pool(x: Tensor, key_padding_mask: Tensor) -> Tensor:
    """Average the tokens that are no padding: (B, T, D), and (B, T) with True = padding -> (B, D).

    A sequence of nothing but padding gives zeros.
    """
    kept = (~key_padding_mask).unsqueeze(-1).to(x.dtype)  # (B, T, 1)
    return (x * kept).sum(dim=1) / kept.sum(dim=1).clamp(min=1)


@torch.inference_mode()
def embed_texts(
    texts: Sequence[str],
    model: Callable[[Tensor, Tensor], Tensor],
    tokenizer: PreTrainedTokenizerFast,
    max_length: int = 256,
    batch_size: int = 32,
) -> Tensor:
    """Give each text a vector of length one. Texts of like length share a batch: little padding.

    Parameters
    ----------
    model : from ids (B, T) and a mask (B, T), True = padding, to (B, T, D), as ``TextEncoder``
    max_length : int, tokens kept of each text, [CLS] and [SEP] included

    Returns
    -------
    Tensor of shape (N, D), in the order of the texts

    Raises
    ------
    TypeError
        if ``texts`` is a single string
    ValueError
        if there are no texts
    """
    if isinstance(texts, str):
        raise TypeError("embed_texts takes a list of texts; put the one text in brackets: [text].")
    if not texts:
        raise ValueError("embed_texts needs at least one text.")
    ids = tokenizer(list(texts), truncation=True, max_length=max_length)["input_ids"]
    order = sorted(range(len(ids)), key=lambda i: -len(ids[i]))  # the longest first: memory shows
    pieces = []
    for start in range(0, len(ids), batch_size):
        rows = [ids[i] for i in order[start : start + batch_size]]
        lengths = torch.tensor([len(row) for row in rows]).unsqueeze(1)
        batch = pad_rows(rows, tokenizer.pad_token_id)  # (B, T)
        padding = torch.arange(batch.shape[1]) >= lengths  # (B, T)
        pieces.append(F.normalize(mean_pool(model(batch, padding), padding), dim=-1))
    return torch.cat(pieces)[torch.tensor(order).argsort()]
