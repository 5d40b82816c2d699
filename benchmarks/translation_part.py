"""What the translation benchmark found: means over the seeds, the runs one by one, and the epochs.

An interval is of Student's t over the seeds, of 95 %.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
from scipy import stats

from benchmarks import pictures, report
from benchmarks.parts import DEVICES, Part
from benchmarks.wording import span
from utils.figures import DescribedFigure

NAMES = {"ours": "ours", "torch.nn": "torch.nn.Transformer"}
SCORES = {"bleu": "BLEU", "bleu_lowercase": "BLEU, lower case", "chrf": "chrF"}
CONFIDENCE = 0.95


def translation(result: dict[str, Any], device: str) -> Part:
    """Show the means over the seeds, and each run."""
    tables = {name: pd.DataFrame(rows) for name, rows in result["tables"].items()}
    tests, epochs, settings = tables["test"], tables["epochs"], result["settings"]
    means = _means(tests)
    summary, steps = _summary(tests), _steps(tables["steps"])
    time = _time(result, tests, epochs)
    fields = {
        "means": means,
        "runs": _runs(tests, epochs),
        "by-epoch": _by_epoch(epochs),
        "summary": summary,
        "steps": steps,
        "time": time,
        "schedule": _schedule(settings, epochs, device),
        "untried": "",
    }
    if not report.read("translation-cuda"):
        fields["untried"] = "The larger settings for a GPU were chosen, and not tried yet."

    def draw() -> dict[str, DescribedFigure]:
        where = f"one {DEVICES[device]}"
        return {"translation": pictures.draw_translation(epochs, tests, summary, where)}

    notes = [summary.replace("**", ""), steps, f"{settings['parameters']:,} parameters. {time}"]
    return Part(means, notes, fields, draw)


def interval(values: pd.Series) -> tuple[float, float, float]:
    """Give the mean, and the ends of Student's interval of 95 % for it; of one value alone NaN."""
    count, mean = len(values), float(values.mean())
    if count < 2:
        return mean, np.nan, np.nan
    half = float(stats.t.ppf((1 + CONFIDENCE) / 2, count - 1) * values.std(ddof=1) / count**0.5)
    return mean, mean - half, mean + half


def _differences(tests: pd.DataFrame, value: str) -> pd.Series:
    """Subtract PyTorch's from ours, seed by seed."""
    found = tests.pivot(index="seed", columns="model", values=value)
    return found["ours"] - found["torch.nn"]


def _means(tests: pd.DataFrame) -> pd.DataFrame:
    """Give a row for each model, and one for the difference between runs of one seed."""
    rows: list[dict[str, str]] = []
    for model, some in tests.groupby("model", sort=False):
        shown = {name: _written(some[key]) for key, name in SCORES.items()}
        loss = _written(some["validation_loss"], 3)
        rows.append({"test 2016": NAMES[str(model)], **shown, "loss, validation": loss})
    shown = {name: _written(_differences(tests, key), 1, "+") for key, name in SCORES.items()}
    loss = _written(_differences(tests, "validation_loss"), 3, "+")
    rows.append({"test 2016": "ours less torch.nn's", **shown, "loss, validation": loss})
    return pd.DataFrame(rows)


def _written(values: pd.Series, digits: int = 1, sign: str = "") -> str:
    mean, low, high = (f"{value:{sign}.{digits}f}" for value in interval(values))
    return f"{mean} ({low} to {high})".replace("-", "\u2212")


def _summary(tests: pd.DataFrame) -> str:
    mean = {str(name): some["bleu"].mean() for name, some in tests.groupby("model")}
    _, low, high = interval(_differences(tests, "bleu"))
    between = "no difference can be seen" if low <= 0 <= high else "they differ"
    return (
        f"Over {tests['seed'].nunique()} seeds ours reaches **{mean['ours']:.1f} BLEU** in the "
        f"mean, and `torch.nn.Transformer`, trained the same way, **{mean['torch.nn']:.1f}**: "
        f"between the two {between}."
    )


def _runs(tests: pd.DataFrame, epochs: pd.DataFrame) -> pd.DataFrame:
    last = epochs.groupby(["seed", "model"])["epoch"].max()
    return pd.DataFrame(
        {
            "run": f"seed {row['seed']}, {NAMES[row['model']]}",
            "tested": row["weights"],
            "of epochs": f"{last[row['seed'], row['model']]:.0f}",
            **{name: f"{row[key]:.1f}" for key, name in SCORES.items()},
            "minutes of a core": f"{row['train_core_seconds'] / 60:.1f}",
        }
        for row in tests.to_dict("records")
    )


def _by_epoch(epochs: pd.DataFrame) -> pd.DataFrame:
    """Give the mean over the seeds and the range, after each epoch."""
    rows = []
    for epoch, some in epochs.groupby("epoch"):
        row = {"epoch": f"{epoch:.0f}", "steps": f"{some['step'].iloc[0]:,.0f}"}
        for key, name, digits in (("loss", "loss", 2), ("bleu", "BLEU", 1)):
            for model, values in some.groupby("model", sort=False)[key]:
                low, mean, high = values.min(), values.mean(), values.max()
                ends = f"{low:.{digits}f}–{high:.{digits}f}"
                row[f"{name}, {model}"] = f"{mean:.{digits}f} ({ends})"
        rows.append(row)
    return pd.DataFrame(rows)


def _steps(steps: pd.DataFrame) -> str:
    rows = {row["model"]: row for row in steps.to_dict("records")}
    return (
        f"A step takes {span(rows['ours'], 'ms')} ms with ours and {span(rows['torch.nn'], 'ms')} "
        f"ms with PyTorch's: {span(rows['ours'], 'to_torch')} times as long."
    )


def _time(result: dict[str, Any], tests: pd.DataFrame, epochs: pd.DataFrame) -> str:
    """Say how long the trainings took, on how much of the machine."""
    settings, machine = result["settings"], result["machine"]
    said = (
        f"The {len(tests)} trainings, with the validation after each epoch, took "
        f"{_range(tests['train_seconds'] / 60)} minutes each"
    )
    if machine["gpu"]:
        said += f" on {machine['gpu']}"
    else:
        work = _range(tests["train_core_seconds"] / 60)
        said += (
            f" on {machine['threads']} of {machine['cores']} cores, in which a process had "
            f"{work} minutes of a core's time"
        )
    if (stopped := int((tests["train_resumed"] > 0).sum())) > 0:
        said += f". Stopped and resumed: {stopped} of them"
    last = epochs.groupby(["seed", "model"])["epoch"].max()
    if early := int((last < settings["epochs"]).sum()):
        said += f". Ended early: {early}, before epoch {settings['epochs']}, as BLEU rose no more"
    return said + "."


def _range(values: pd.Series) -> str:
    """Write whole numbers: one, or from the least to the most."""
    return " to ".join(dict.fromkeys(f"{value:.0f}" for value in (values.min(), values.max())))


def _schedule(settings: dict[str, Any], epochs: pd.DataFrame, device: str) -> str:
    """Say why the training is as short as it is, where it is short."""
    if device != "cpu":
        return ""
    bleu = epochs.groupby("epoch")["bleu"].mean()
    rising = ", and BLEU still rises at the last one" if bleu.diff().iloc[-1] > 0 else ""
    return (
        f"{settings['epochs']} epochs are few{rising}. The time of a longer schedule went into "
        f"{settings['seeds']} seeds and a reference instead: one score does not say how far the "
        "next run of the same code would be from it, and so cannot be compared with another."
    )
