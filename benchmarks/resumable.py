"""A training that may be stopped at any moment, and goes on where it was with nothing lost."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from contextlib import nullcontext
from functools import partial
from io import BytesIO
from math import inf
from pathlib import Path
from typing import Any

import torch
from torch import Tensor
from torch.optim.lr_scheduler import LambdaLR
from tqdm import tqdm

from benchmarks.group import from_all, from_first
from benchmarks.subwords import length_batches, pad
from chapters.ch13_batches import place, share_batches
from chapters.ch17_training import translation_loss
from utils.files import replacing
from utils.training import gradient_steps, linear_rate

State = dict[str, Any]  # tensors, numbers, words, and lists and dicts of these


class Training:
    """Train on pairs of ids, epoch after epoch, and keep a checkpoint.

    A checkpoint holds the weights, the optimiser, the random state, the place in the epoch, and
    what was measured so far. The learning rate and the batches follow from the step and the epoch.
    So a training that was killed and goes on ends with the same weights as one that was not: bit
    for bit on a processor, and on a GPU up to the order in which it sums.

    Under ``torchrun`` each process computes its rows of every batch. The first alone writes the
    checkpoint, and reads it for all, so that the other machines need none.

    A child may train another model on something else: it writes ``_batches``, ``_batch``,
    ``_loss``, ``_count``, and ``quality``.

    Parameters
    ----------
    model : one of ``benchmarks.translators``, on its device; or what a child trains
    pairs : ids of the source and of the target, see ``benchmarks.subwords.encode_pairs``; or what a
        child trains on
    settings : numbers and words by name, all that the result depends on. It needs ``epochs``,
        ``tokens`` (of a batch), ``rate`` (the highest), ``warmup`` (the share of the steps in which
        the rate rises), ``label_smoothing``, ``patience`` (epochs without a better one until it
        stops), ``averaged`` (epochs whose weights are kept, for an average), ``dtype`` and ``seed``
    file : the checkpoint. One that is there is gone on from
    every : int, steps between two checkpoints; there is one after each epoch as well

    Raises
    ------
    ValueError
        if the checkpoint was made with other settings, or is none
    """

    def __init__(
        self,
        model: Any,
        pairs: Any,
        settings: dict[str, Any],
        file: Path,
        every: int = 200,
    ) -> None:
        self.model, self.pairs, self.settings = model, pairs, settings
        self.file, self.every = file, every
        self.device = next(model.parameters()).device
        self.optimizer = torch.optim.Adam(model.parameters(), 1.0, (0.9, 0.98), 1e-9, fused=True)
        self.steps = settings["epochs"] * len(self._batches())
        rate = partial(linear_rate, steps=self.steps, highest=settings["rate"],
                       warmup=settings["warmup"])  # fmt: skip
        self.schedule = LambdaLR(self.optimizer, lambda step: rate(step + 1))
        self.state: State = {
            "step": 0, "epoch": 1, "position": 0, "loss_sum": 0.0, "tokens": 0, "seconds": 0.0,
            "core_seconds": 0.0, "resumed": 0, "history": [], "best": {}, "last": [], "test": {},
        }  # fmt: skip
        if (found := from_first(self._read)) is not None:
            self._load(found)
        self._shared_loss = share_batches(model, self._loss, self._count)

    @property
    def finished(self) -> bool:
        """Whether the last epoch was reached, or the last few were no better."""
        history = self.state["history"]
        best = max(range(len(history)), key=lambda i: self.quality(history[i]), default=0)
        tired = len(history) - 1 - best >= self.settings["patience"]
        return self.state["epoch"] > self.settings["epochs"] or tired

    def quality(self, row: dict[str, float]) -> float:
        """Say how good an epoch was: the highest is the best one."""
        return row["bleu"]

    def run(self, validate: Callable[[Any], dict[str, float]]) -> list[dict[str, float]]:
        """Train to the end; give a row for each epoch, with what ``validate`` found.

        ``validate`` must give a ``loss``, and what ``quality`` asks for: a ``bleu``.

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

    def average(self) -> dict[str, Tensor]:
        """Give the mean of the weights of the last epochs."""
        last = self.state["last"]
        return {name: sum(weights[name] for weights in last) / len(last) for name in last[0]}

    def _epoch(self, validate: Callable[[Any], dict[str, float]], bar: Any) -> None:
        """Go through the data once, from the place where the epoch was left."""
        state, settings = self.state, self.settings
        seed = settings["seed"] * 1_000_003 + state["epoch"]
        batches = self._batches(seed)
        ahead = (self._batch(rows) for rows in batches[state["position"] :])
        clock = Clock(state)
        for (source, target), loss in gradient_steps(
            self.model, ahead, self._shared_loss, self.optimizer, self.schedule, max_norm=1.0
        ):
            count = self._count(source, target)
            state["step"] += 1
            state["position"] += 1
            state["loss_sum"] += loss.item() * count
            state["tokens"] += count
            bar.update()
            if state["step"] % self.every == 0 and state["position"] < len(batches):
                clock.note()
                self.save()
        row = {
            "epoch": state["epoch"],
            "step": state["step"],
            "train_loss": state["loss_sum"] / state["tokens"],
            **validate(self.model),
        }
        clock.note()
        row |= {"seconds": state["seconds"], "core_seconds": state["core_seconds"]}
        best = max(map(self.quality, state["history"]), default=-inf)
        weights = {name: value.detach().clone() for name, value in self.model.state_dict().items()}
        if self.quality(row) > best:
            state["best"] = weights
        state["last"] = [*state["last"], weights][-settings["averaged"] :]
        state["history"].append(row)
        state |= {"epoch": state["epoch"] + 1, "position": 0, "loss_sum": 0.0, "tokens": 0}
        bar.set_postfix(loss=f"{row['loss']:.3f}", quality=f"{self.quality(row):.3g}")
        self.save()

    def _batches(self, seed: int | None = None) -> list[list[int]]:
        """Give the places in the data that each batch of an epoch is made of."""
        return length_batches(self.pairs, self.settings["tokens"], seed)

    def _batch(self, rows: Sequence[int]) -> list[Tensor]:
        """Give the tensors of a batch, on the device."""
        return [ids.to(self.device) for ids in pad(self.pairs, rows)]

    def _loss(self, model: Any, source: Tensor, target: Tensor) -> Tensor:
        with lower_precision(self.device, self.settings["dtype"]):
            return translation_loss(model, source, target, self.settings["label_smoothing"])

    def _count(self, source: Tensor, target: Tensor) -> int:
        """Count the tokens that the loss is the mean of."""
        return int((target[:, 1:] != self.model.padding_idx).sum())

    def save(self) -> None:
        """Write the checkpoint, in one step, in the first process."""
        if place()[0] > 0:
            return
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

    def _read(self) -> bytes | None:
        """Give the checkpoint, if there is one, and remove what a kill has left half written."""
        for half in self.file.parent.glob(f"{self.file.name}.*.tmp"):
            half.unlink()
        return self.file.read_bytes() if self.file.is_file() else None

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


class Clock:
    """Adds what has passed to a state: seconds, and seconds that cores were at work, of all."""

    def __init__(self, state: State) -> None:
        self.state = state
        self.start = time.perf_counter(), time.process_time()

    def note(self) -> None:
        """Add what has passed since the last note."""
        now = time.perf_counter(), time.process_time()
        self.state["seconds"] += now[0] - self.start[0]
        self.state["core_seconds"] += sum(from_all(now[1] - self.start[1]))
        self.start = now


def lower_precision(device: torch.device, dtype: str) -> Any:
    """Let matrix products take bfloat16, if that is the dtype."""
    if dtype == "float32":
        return nullcontext()
    return torch.autocast(device.type, torch.bfloat16)
