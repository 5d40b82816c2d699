"""What is shown of a translation is what the file holds, and nothing else is claimed."""

import re

import numpy as np
import pandas as pd
import pytest
import torch

from benchmarks import page, report, translation, translation_part

CPU = torch.device("cpu")


RUNS = [(0, "ours"), (0, "torch.nn"), (1, "ours"), (1, "torch.nn"), (2, "ours"), (2, "torch.nn")]
BLEU = (23.0, 22.5, 24.0, 23.0, 25.0, 25.5)  # means 24.0 and 23.67; differences 0.5, 1.0, -0.5


def a_result():
    epochs = [
        {"seed": seed, "model": name, "epoch": e, "step": 100 * e, "train_loss": 4.0 / e,
         "loss": 3.0 / e + 0.01 * seed, "bleu": 7.5 * e + seed, "seconds": 120.0 * e,
         "core_seconds": 60.0 * e}
        for seed, name in RUNS for e in (1, 2, 3)
    ]  # fmt: skip
    tests = [
        {"seed": seed, "model": name, "weights": "the best epoch", "validation_loss": 1.0,
         "validation_bleu": 22.5, "bleu": bleu, "bleu_lowercase": bleu + 1, "chrf": 2 * bleu,
         "seconds": 3.0, "train_seconds": 360.0, "train_core_seconds": 180.0 + 30 * seed,
         "train_resumed": seed}
        for (seed, name), bleu in zip(RUNS, BLEU, strict=True)
    ]  # fmt: skip
    steps = [
        {"model": name, "ms": ms, "ms_low": ms - 1, "ms_high": ms + 1, "to_torch": ms / 20,
         "to_torch_low": ms / 20, "to_torch_high": ms / 20}
        for name, ms in (("ours", 18.0), ("torch.nn", 20.0))
    ]  # fmt: skip
    signatures = {"bleu": "case:mixed|version:9", "bleu_lowercase": "case:lc", "chrf": "nc:6"}
    found = translation.translation_settings(CPU) | {
        "dtype": "float32", "pairs": {"train": 29000, "validation": 1014, "test": 1000},
        "parameters": 1234567, "signatures": signatures, "seeds": 3, "epochs": 3,
    }  # fmt: skip
    machine = {"processor": "A processor", "cores": 2, "threads": 1, "instructions": "AVX512",
               "gpu": None}  # fmt: skip
    return {
        "benchmark": "translation", "date": "2026-01-02", "machine": machine,
        "versions": {"torch": "9.9"}, "peak": {"flops": 1e12, "bytes": 1e9}, "settings": found,
        "tables": {"epochs": epochs, "test": tests, "steps": steps},
    }  # fmt: skip


def of_page(result, device="cpu"):
    text, figures = page.make_part("translation", result, device)
    return text.replace("\u00a0", " ").replace("\u2060", ""), figures


def test_the_page_says_what_was_measured_and_what_was_not(results):
    text, figures = of_page(a_result())
    assert "Over 3 seeds ours reaches **24.0 BLEU** in the mean" in text
    assert "trained the same way, **23.7**: between the two no difference can be seen." in text
    assert "1,234,567 parameters. The base model of the paper" in text
    assert "full size" not in text
    for what in ("95 % (Student's t) over 3 seeds", "first weights", "The vocabulary, the pairs"):
        assert what in text, "the interval says what varies and what does not"
    assert "```text\ncase:mixed|version:9\ncase:lc\nnc:6\n```" in text
    assert "18.0 (17.0–19.0) ms with ours and 20.0 (19.0–21.0) ms with PyTorch's: 0.90" in text
    assert "The 6 trainings, with the validation after each epoch, took 6 minutes each" in text
    assert "on 1 of 2 cores, in which a process had 3 to 4 minutes of a core's time" in text
    assert "Stopped and resumed: 4 of them." in text
    assert "3 epochs are few, and BLEU still rises at the last one." in text
    assert "settings for a GPU were chosen, and not tried yet" in text
    assert "Measured on 2026-01-02: A processor" in text
    assert "| 2 | 200 | 1.51 (1.50–1.52) | 1.51 (1.50–1.52) | 16.0 (15.0–17.0) |" in text
    assert "| seed 2, ours | the best epoch | 3 | 25.0 | 26.0 | 50.0 | 4.0 |" in text
    alt = figures["translation-cpu"].alt
    assert "ours: validation, mean over the seeds, 8.5, 16.0, 23.5; test 23.0, 24.0, 25.0" in alt
    assert "_static/measurements/translation-cpu.html" in text
    assert figures["translation-cpu"].caption.startswith("Over 3 seeds ours reaches 24.0 BLEU")


def test_intervals_are_students_over_the_seeds(results):
    text, _ = of_page(a_result())
    half = 4.302653 * 1.0 / 3**0.5  # quantile of t with two degrees of freedom; 23, 24, 25
    low, high = 24 - half, 24 + half
    assert f"| ours | 24.0 ({low:.1f} to {high:.1f}) |" in text
    half = 4.302653 * np.std([0.5, 1.0, -0.5], ddof=1) / 3**0.5
    low, high = f"{1 / 3 - half:+.1f}".replace("-", "\u2212"), f"{1 / 3 + half:+.1f}"
    assert f"| ours less torch.nn's | +0.3 ({low} to {high}) |" in text
    assert np.isnan(translation_part.interval(pd.Series([1.0]))[1])


def test_a_difference_that_can_be_seen_is_told(results):
    result = a_result()
    for row in result["tables"]["test"]:
        row["bleu"] = 20.0 + 0.1 * row["seed"] + (row["model"] == "ours")
    assert "between the two they differ" in of_page(result)[0]


def test_a_gpu_is_named_and_nothing_is_said_of_cores():
    result = a_result()
    result["machine"]["gpu"] = "A fast GPU"
    text, _ = of_page(result, "cuda")
    assert "took 6 minutes each on A fast GPU. Stopped and resumed: 4" in text
    assert "of a core's time" not in text
    assert "epochs are few" not in text


def test_an_early_stop_is_told():
    result = a_result()
    result["settings"]["epochs"] = 12
    text, _ = of_page(result)
    assert "Ended early: 6, before epoch 12, as BLEU rose no more." in text


def test_without_a_result_the_page_claims_nothing(results):
    text, _ = page.make_page()
    for device, word in (("cpu", "processor"), ("cuda", "GPU")):
        line = f"`python -m benchmarks translation --device {device}` would"
        assert f"On a {word} nothing has been measured yet: {line}" in text
    assert "BLEU" not in text


def test_the_committed_result_is_of_a_whole_run():
    found = report.read("translation-cpu")
    if found is None:
        pytest.skip("nothing has been measured yet")
    chosen = translation.translation_settings(CPU)
    assert found["settings"]["quick"] is False
    assert {key: found["settings"][key] for key in chosen} == chosen
    assert found["settings"]["pairs"] == {"train": 29_000, "validation": 1_014, "test": 1_000}
    assert found["settings"]["seeds"] == 3
    assert re.search(r"\|version:\d", found["settings"]["signatures"]["bleu"])
    assert [(row["seed"], row["model"]) for row in found["tables"]["test"]] == RUNS
    assert [row["model"] for row in found["tables"]["steps"]] == ["ours", "torch.nn"]
