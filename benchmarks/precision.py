"""The same training in double precision, where rounding does not hide that it is the same.

In single precision the last bits of a sum depend on its order, and training carries them on from
step to step, until after some epochs losses differ in their fourth digit: also those of PyTorch's
layer with and without its own fused kernel. In double precision there is room for that.
"""

from __future__ import annotations

import pandas as pd
import torch
from torch import Tensor
from tqdm import tqdm

from benchmarks.documents import Documents
from benchmarks.variants import VARIANTS, Variant, build_model, build_optimizer, train_epoch

# PyTorch's layer is asked for the one row that counts: the same function, in a bearable time.
WAYS = {
    "torch, one row": Variant("torch.nn, one row", lambda mha: mha),
    "ours": VARIANTS["ours"],
    "bag": VARIANTS["bag"],
}


def double_losses(documents: Documents, device: torch.device) -> pd.DataFrame:
    """Train in float64, for as many epochs as there are batches.

    Returns
    -------
    DataFrame with a row for each epoch and a column for each variant: the mean loss of the steps
    """
    columns = {}
    with tqdm(total=len(WAYS) * len(documents.epochs), desc="float64", ncols=78) as bar:
        for name, variant in WAYS.items():
            sizes = (documents.vocab_size, documents.num_classes, device)
            model = build_model(variant, *sizes).double()
            optimizer = build_optimizer(model)
            losses = []
            for batches in documents.epochs:
                steps: list[Tensor] = []
                train_epoch(model, optimizer, batches, steps)
                losses.append(torch.stack(steps).mean())
                bar.update()
            columns[name] = torch.stack(losses).tolist()
    return pd.DataFrame(columns)


def largest_difference(losses: pd.DataFrame) -> float:
    """Give the largest difference of a mean loss from that of the first column."""
    return float(losses.sub(losses.iloc[:, 0], axis=0).abs().to_numpy().max())
