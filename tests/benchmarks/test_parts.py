"""What is shown of a translation is what the file holds, and nothing else is claimed."""

import re

import numpy as np
import pandas as pd
import pytest
import torch

from benchmarks import page, report, translation, translation_part


def of_page(result, device="cpu"):
    text, figures = page.make_part("translation", result, device)
    return text.replace("\u00a0", " ").replace("\u2060", ""), figures


def test_the_page_says_what_was_measured_and_what_was_not(translation_result):
    text, figures = of_page(translation_result)
    for said in (
        "Over 3 seeds ours reaches **24.0 BLEU** in the mean",
        "trained the same way, **23.7**: between the two no difference can be seen.",
        "1,234,567 parameters",
        "18.0 (17.0–19.0) ms with ours and 20.0 (19.0–21.0) ms with PyTorch's: 0.90",
        "The 6 trainings, with the validation after each epoch, took 6 minutes each",
        "on 1 of 2 cores, in which a process had 3 to 4 minutes of a core's time",
        "Stopped and resumed: 4 of them.",
        "3 epochs are few, and BLEU still rises at the last one.",
        "Measured on 2026-01-02: A processor",
        "| 2 | 200 | 1.51 (1.50–1.52) | 1.51 (1.50–1.52) | 16.0 (15.0–17.0) |",
        "| seed 2, ours | the best epoch | 3 | 25.0 | 26.0 | 50.0 | 4.0 |",
    ):
        assert said in text
    alt = figures["translation-cpu"].alt
    assert "ours: validation, mean over the seeds, 8.5, 16.0, 23.5; test 23.0, 24.0, 25.0" in alt


def test_intervals_are_students_over_the_seeds(translation_result):
    text, _ = of_page(translation_result)
    half = 4.302653 * 1.0 / 3**0.5  # quantile of t with two degrees of freedom; 23, 24, 25
    assert f"| ours | 24.0 ({24 - half:.1f} to {24 + half:.1f}) |" in text
    half = 4.302653 * np.std([0.5, 1.0, -0.5], ddof=1) / 3**0.5
    low, high = f"{1 / 3 - half:+.1f}".replace("-", "\u2212"), f"{1 / 3 + half:+.1f}"
    assert f"| ours less torch.nn's | +0.3 ({low} to {high}) |" in text
    assert np.isnan(translation_part.interval(pd.Series([1.0]))[1])
    for row in translation_result["tables"]["test"]:
        row["bleu"] = 20.0 + 0.1 * row["seed"] + (row["model"] == "ours")
    translation_result["settings"]["epochs"] = 12
    translation_result["machine"]["gpu"] = "A fast GPU"
    text, _ = of_page(translation_result, "cuda")
    assert "between the two they differ" in text
    assert "Ended early: 6, before epoch 12, as BLEU rose no more." in text
    assert "took 6 minutes each on A fast GPU. Stopped and resumed: 4" in text
    assert "epochs are few" not in text


def test_the_committed_result_is_of_a_whole_run():
    found = report.read("translation-cpu")
    if found is None:
        pytest.skip("nothing has been measured yet")
    chosen = translation.translation_settings(torch.device("cpu"))
    assert found["settings"]["quick"] is False
    assert {key: found["settings"][key] for key in chosen} == chosen
    assert found["settings"]["pairs"] == {"train": 29_000, "validation": 1_014, "test": 1_000}
    assert re.search(r"\|version:\d", found["settings"]["signatures"]["bleu"])
    runs = [(seed, name) for seed in range(3) for name in ("ours", "torch.nn")]
    assert [(row["seed"], row["model"]) for row in found["tables"]["test"]] == runs
