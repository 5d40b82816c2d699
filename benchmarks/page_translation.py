"""The page's part about translation."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import matplotlib.pyplot as plt
import pandas as pd
from matplotlib.ticker import MaxNLocator

from benchmarks import report
from benchmarks.markdown import DEVICES, Part, measured, picture, table
from utils.plots import PALETTE, DescribedFigure


def translation(result: dict[str, Any], device: str) -> Part:
    """Give the part about translation."""
    settings = result["settings"]
    epochs = pd.DataFrame(result["tables"]["epochs"])
    test = result["tables"]["test"][0]
    figure = draw_translation(epochs, test, f"one {DEVICES[device]}")
    name = f"translation-{device}"
    lines = [
        _task(settings),
        f"On the {settings['pairs']['test']:,} sentences of test 2016 it reaches "
        f"**{test['bleu']:.1f} BLEU**, with {settings['beams']} beams; counted in lower case "
        f"{test['bleu_lowercase']:.1f}. Papers on Multi30k mostly count lower-cased text that was "
        "cut into words beforehand, and such numbers are not comparable with these. The signatures "
        "of sacrebleu:",
        f"```text\n{settings['signature']}\n{settings['signature_lowercase']}\n```",
        _time(result, int(epochs["epoch"].iloc[-1])),
        picture(name, figure, measured(result, device)),
        table(_rows(epochs)),
        "Losses are nats for each subword: in training with label smoothing "
        f"({settings['label_smoothing']}) and dropout ({settings['dropout']}), on the validation "
        "split without. BLEU in the table is that of greedy decoding of the whole validation "
        "split. Tested were the weights with the highest BLEU there "
        f"({test['validation_bleu']:.1f}): {test['weights']}. The test split was translated once, "
        "at the end.",
        _settings(settings),
    ]
    return lines, {name: figure}


def draw_translation(epochs: pd.DataFrame, test: dict[str, Any], where: str) -> DescribedFigure:
    """Draw the BLEU of the validation split over the epochs, and that of the test split."""
    title = f"Multi30k, English to German: BLEU after each epoch ({where})"
    figure, axes = plt.subplots(figsize=(7.5, 4))
    axes.plot(epochs["epoch"], epochs["bleu"], "-o", color=PALETTE[0], label="validation, greedy")
    axes.axhline(
        test["bleu"], color=PALETTE[1], linestyle="--",
        label="test 2016, beam search, once at the end",
    )  # fmt: skip
    axes.set(title=title, xlabel="epoch", ylabel="BLEU", ylim=(0, None))
    axes.xaxis.set_major_locator(MaxNLocator(integer=True))
    axes.grid(alpha=0.4)
    axes.legend(loc="lower right")
    each = ", ".join(f"{bleu:.1f}" for bleu in epochs["bleu"])
    alt = f"{title}. Validation, from the first epoch on: {each}. Test: {test['bleu']:.1f}."
    return DescribedFigure(figure, alt)


def _task(settings: dict[str, Any]) -> str:
    pairs = settings["pairs"]
    return (
        f"The Transformer of `utils.transformer`, with the course's own attention, learns to "
        f"translate the descriptions of Multi30k: {pairs['train']:,} pairs to learn from, "
        f"{pairs['validation']:,} to watch the training. {settings['num_layers']} blocks on each "
        f"side, {settings['embed_dim']} wide, {settings['num_heads']} heads, "
        f"{settings['hidden_dim']} in the feed-forward parts, a joint vocabulary of "
        f"{settings['vocab_size']:,} subwords made from the training split: "
        f"{settings['parameters']:,} parameters."
    )


def _time(result: dict[str, Any], last: int) -> str:
    """Say how long the training took, on how much of the machine, and what was not measured."""
    settings, machine = result["settings"], result["machine"]
    minutes, work = (settings[f"train_{key}"] / 60 for key in ("seconds", "core_seconds"))
    where = machine["gpu"] or f"{machine['threads']} of {machine['cores']} cores"
    said = f"Training, with the validation after each epoch, took {minutes:.0f} minutes on {where}"
    if not machine["gpu"]:
        said += f", in which the process had {work:.0f} minutes of a core's time"
        if work < 0.9 * minutes * machine["threads"]:
            said += " (other programs had the rest)"
    if last < settings["epochs"]:
        said += f". It stopped after {last} of {settings['epochs']} epochs, as BLEU rose no more"
    if settings["resumed"]:
        often = {1: "once", 2: "twice"}.get(settings["resumed"], f"{settings['resumed']} times")
        said += f". It was stopped {often} and resumed"
    if not machine["gpu"] and machine["threads"] < machine["cores"]:
        said += (
            f". On all {machine['cores']} cores it was not measured, and no time is claimed for "
            f"them; twenty minutes of {machine['cores']} cores are {20 * machine['cores']} minutes "
            "of a core's time"
        )
    return said + "."


def _rows(epochs: pd.DataFrame) -> Iterator[dict[str, str]]:
    for row in epochs.to_dict("records"):
        yield {
            "epoch": f"{row['epoch']:.0f}",
            "steps": f"{row['step']:,.0f}",
            "loss, training": f"{row['train_loss']:.2f}",
            "loss, validation": f"{row['loss']:.2f}",
            "BLEU, validation": f"{row['bleu']:.1f}",
            "minutes": f"{row['seconds'] / 60:.1f}",
            "of a core": f"{row['core_seconds'] / 60:.1f}",
        }


def _settings(settings: dict[str, Any]) -> str:
    on_gpu = report.read("translation-cuda")
    untried = "" if on_gpu else " The larger settings for a GPU were chosen, and not tried yet."
    return (
        f"Adam, the rate rising to {settings['rate']:g} over {settings['warmup']:.0%} of the steps "
        f"and falling to zero at the last of {settings['epochs']} epochs; batches of up to "
        f"{settings['tokens']:,} subwords of one side, sentences of about one length together; "
        f"length penalty {settings['length_penalty']:g}. No sentence of the data is kept with the "
        f"results.{untried}"
    )
