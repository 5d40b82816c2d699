"""Ask a trained classifier about texts, and get a table."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import pandas as pd
import torch
from torch import nn

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerFast


@torch.no_grad()
def predict(
    texts: Sequence[str],
    model: nn.Module,
    tokenizer: PreTrainedTokenizerFast,
    class_names: Sequence[str],
    max_length: int = 512,
) -> pd.DataFrame:
    """Give the probability of each class for each text.

    Returns
    -------
    DataFrame with one row for each text (its index) and one column for each class; rows sum to one

    Raises
    ------
    TypeError
        if ``texts`` is a single string
    ValueError
        if there are no texts, or one is empty
    """
    if isinstance(texts, str):
        raise TypeError("predict takes a list of texts; put the one text in brackets: [text].")
    if not texts or not all(text.strip() for text in texts):
        raise ValueError("predict needs at least one text, and none of them empty.")
    model.eval()
    encoded = tokenizer(
        list(texts), truncation=True, max_length=max_length, padding=True, return_tensors="pt"
    )
    probabilities = model(encoded["input_ids"]).softmax(dim=-1)  # (B, C)
    return pd.DataFrame(probabilities.numpy(), index=list(texts), columns=list(class_names))
