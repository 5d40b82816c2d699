"""A training that may be stopped at any moment, and goes on where it was with nothing lost."""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import partial
from io import BytesIO
from pathlib import Path
from typing import Any

import torch
from torch import Tensor
from torch.optim.lr_scheduler import LambdaLR
from tqdm import tqdm

from benchmarks.steps import gradient_steps
from chapters.ch18_training import cut_pieces, language_loss, piece_starts
from utils.experiments import linear_rate, replacing


class Training:
    """Train a language model on pieces of one row of tokens, and keep a checkpoint.

    A checkpoint holds the weights, the optimiser, the random state, the place in the epoch, and
    what was measured so far. The learning rate and the batches follow from the step and the epoch.
    So a training that was killed and goes on ends with the same weights as one that was not: bit
    for bit on a processor, and on a GPU up to the order in which it sums.

    Parameters
    ----------
    model : nn.Module, on its device, that maps ids (B, T) to logits (B, T, V)
    ids : (N,) int64, the texts behind one another
    settings : numbers and words by name, all that the result depends on. It needs ``epochs``,
        ``length`` and ``batch_size`` (of the pieces), ``rate`` (the highest), ``warmup`` (the share
        of the steps in which the rate rises), and ``seed``
    file : the checkpoint. One that is there is gone on from
    every : int, steps between two checkpoints; there is one after each epoch as well

    Raises
    ------
    ValueError
        if the checkpoint was made with other settings, or is none
    """

    def __init__(
        self, model: Any, ids: Tensor, settings: dict[str, Any], file: Path, every: int = 100
    ) -> None:
        self.model, self.ids, self.settings = model, ids, settings
        self.file, self.every = file, every
        self.device = next(model.parameters()).device
        self.optimizer = torch.optim.Adam(model.parameters(), 1.0, (0.9, 0.98), 1e-9, fused=True)
        self.steps = settings["epochs"] * len(self._batches())
        rate = partial(linear_rate, steps=self.steps, highest=settings["rate"],
                       warmup=settings["warmup"])  # fmt: skip
        self.schedule = LambdaLR(self.optimizer, lambda step: rate(step + 1))
        self.state: dict[str, Any] = {
            "step": 0, "epoch": 1, "position": 0, "loss_sum": 0.0, "seconds": 0.0, "resumed": 0,
            "history": [],
        }  # fmt: skip
        for half in file.parent.glob(f"{file.name}.*.tmp"):  # what a kill has left half written
            half.unlink()
        if file.is_file():
            self._load(file.read_bytes())

    @property
    def finished(self) -> bool:
        """Whether the last epoch was reached."""
        return self.state["epoch"] > self.settings["epochs"]

    def run(self, validate: Callable[[Any], dict[str, float]]) -> list[dict[str, float]]:
        """Train to the end; give a row for each epoch, with what ``validate`` found.

        Raises
        ------
        FloatingPointError
            if the loss is no longer finite
        """
        done = self.state["step"]
        with tqdm(total=self.steps, initial=done, desc="training", ncols=78) as bar:
            while not self.finished:
                self._epoch(validate, bar)
        return self.state["history"]

    def _epoch(self, validate: Callable[[Any], dict[str, float]], bar: Any) -> None:
        """Go through the texts once, from the place where the epoch was left."""
        state, start = self.state, time.perf_counter()
        starts = self._batches(self.settings["seed"] * 1_000_003 + state["epoch"])

        def note() -> None:
            nonlocal start
            state["seconds"] += time.perf_counter() - start
            start = time.perf_counter()

        ahead = (self._pieces(rows) for rows in starts[state["position"] :])
        for _, loss in gradient_steps(
            self.model, ahead, language_loss, self.optimizer, self.schedule, max_norm=1.0
        ):
            state["step"] += 1
            state["position"] += 1
            state["loss_sum"] += loss.item() * len(starts[state["position"] - 1])
            bar.update()
            if state["step"] % self.every == 0 and state["position"] < len(starts):
                note()
                self.save()
        mean = state["loss_sum"] / sum(map(len, starts))
        row = {"epoch": state["epoch"], "step": state["step"], "train_loss": mean}
        row |= validate(self.model)
        note()
        state["history"].append(row | {"seconds": state["seconds"]})
        state |= {"epoch": state["epoch"] + 1, "position": 0, "loss_sum": 0.0}
        bar.set_postfix({name: f"{value:.3g}" for name, value in row.items()})
        self.save()

    def _batches(self, seed: int | None = None) -> tuple[Tensor, ...]:
        """Give the places at which the pieces of each batch of an epoch begin."""
        starts = piece_starts(len(self.ids), self.settings["length"], seed)
        return starts.split(self.settings["batch_size"])

    def _pieces(self, starts: Tensor) -> list[Tensor]:
        """Give the pieces that begin there, and what follows each of their tokens: (B, T) twice."""
        parts = cut_pieces(self.ids, starts, self.settings["length"])
        return [part.to(self.device) for part in parts]

    def save(self) -> None:
        """Write the checkpoint, in one step."""
        everything = self.state | {
            "settings": self.settings,
            "model": self.model.state_dict(),
            "optimizer": self.optimizer.state_dict(),
            "schedule": self.schedule.state_dict(),
            "random": torch.get_rng_state(),
            "gpu_random": torch.cuda.get_rng_state_all() if self.device.type == "cuda" else [],
        }
        with replacing(self.file) as half:
            torch.save(everything, half)

    def _load(self, content: bytes) -> None:
        """Go on from the checkpoint: tensors, numbers and words, and no other object, are read."""
        try:
            found = torch.load(BytesIO(content), self.device, weights_only=True)
            known = found.pop("settings")
        except Exception as error:  # whatever is wrong with the file
            raise ValueError(
                f"{self.file} is no checkpoint of this benchmark ({type(error).__name__}): remove "
                "it to begin anew."
            ) from error
        if known != self.settings:
            names = sorted(set(known) | set(self.settings))
            other = [name for name in names if known.get(name) != self.settings.get(name)]
            raise ValueError(
                f"{self.file} was made with other settings ({', '.join(other)}): remove it to "
                "begin anew, or name another folder."
            )
        self.model.load_state_dict(found.pop("model"))
        self.optimizer.load_state_dict(found.pop("optimizer"))
        self.schedule.load_state_dict(found.pop("schedule"))
        torch.set_rng_state(found.pop("random").cpu())
        for index, random in enumerate(found.pop("gpu_random")):
            torch.cuda.set_rng_state(random.cpu(), index)
        self.state = found
        if not self.finished:
            self.state["resumed"] += 1
