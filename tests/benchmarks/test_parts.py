"""What is shown of a translation is what the file holds, and nothing else is claimed."""

import re

import pytest
import torch

from benchmarks import page, report, translation

CPU = torch.device("cpu")


def a_result():
    epochs = [
        {"epoch": e, "step": 100 * e, "train_loss": 4.0 / e, "loss": 3.0 / e, "bleu": 7.5 * e,
         "seconds": 120.0 * e, "core_seconds": 60.0 * e}
        for e in (1, 2, 3)
    ]  # fmt: skip
    test = {
        "weights": "the best epoch",
        "validation_bleu": 22.5,
        "bleu": 23.456,
        "bleu_lowercase": 24.321,
        "seconds": 3.0,
    }
    found = translation.translation_settings(CPU) | {
        "dtype": "float32", "pairs": {"train": 29000, "validation": 1014, "test": 1000},
        "parameters": 1234567, "signature": "nrefs:1|case:mixed|version:9", "resumed": 2,
        "signature_lowercase": "nrefs:1|case:lc|version:9", "epochs": 3,
        "train_seconds": 360.0, "train_core_seconds": 180.0,
    }  # fmt: skip
    machine = {"processor": "A processor", "cores": 2, "threads": 1, "instructions": "AVX512",
               "gpu": None}  # fmt: skip
    return {
        "benchmark": "translation", "date": "2026-01-02", "machine": machine,
        "versions": {"torch": "9.9"}, "peak": {"flops": 1e12, "bytes": 1e9}, "settings": found,
        "tables": {"epochs": epochs, "test": [test]},
    }  # fmt: skip


def test_the_page_says_what_was_measured_and_what_was_not(results):
    text, figures = page.make_part("translation", a_result(), "cpu")
    assert "**23.5 BLEU**" in text
    assert "1,234,567 parameters" in text
    assert "counted in lower case 24.3." in text
    assert "```text\nnrefs:1|case:mixed|version:9\nnrefs:1|case:lc|version:9\n```" in text
    assert "took 6 minutes on 1 of 2 cores" in text
    assert "had 3 minutes of a core's time (other programs had the rest)." in text
    assert "It was stopped twice and resumed." in text
    assert "On all 2 cores it was not measured, and no time is claimed" in text
    assert "settings for a GPU were chosen, and not tried yet" in text
    assert "Measured on 2026-01-02: A processor" in text
    assert "| 2 | 200 | 2.00 | 1.50 | 15.0 | 4.0 | 2.0 |" in text
    alt = figures["translation-cpu"].alt
    assert "7.5, 15.0, 22.5" in alt
    assert "Test: 23.5" in alt
    assert "_static/measurements/translation-cpu.html" in text


def test_a_gpu_is_named_and_nothing_is_said_of_cores():
    result = a_result()
    result["machine"]["gpu"] = "A fast GPU"
    text, _ = page.make_part("translation", result, "cuda")
    assert "took 6 minutes on A fast GPU. It was stopped" in text
    assert "not measured" not in text


def test_an_early_stop_is_told():
    result = a_result()
    result["settings"]["epochs"] = 12
    text, _ = page.make_part("translation", result, "cpu")
    assert "It stopped after 3 of 12 epochs, as BLEU rose no more." in text


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
    assert re.search(r"\|version:\d", found["settings"]["signature"])
    assert len(found["tables"]["test"]) == 1
