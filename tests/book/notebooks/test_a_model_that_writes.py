"""What chapter 18 says of its kept runs, and of the kept model, is what the files hold."""

import json
from pathlib import Path
from statistics import median

import pandas as pd
import pytest

ROOT = Path(__file__).parents[3]
RESULTS = ROOT / "notebooks/results"


@pytest.fixture(scope="module")
def recipe():
    return json.loads((RESULTS / "18-writer.json").read_text(encoding="utf-8"))


def test_the_compressor_wins_and_the_model_beats_the_counters(recipe):
    bits = {name: f"{value:.2f}" for name, value in recipe["bits_per_byte"].items()}
    assert (bits["lzma"], bits["model"], bits["5-gram"]) == ("1.59", "1.67", "1.88")
    grams = [value for name, value in recipe["bits_per_byte"].items() if "gram" in name]
    assert min(grams) == recipe["bits_per_byte"]["5-gram"]


def test_passes_and_minutes(recipe):
    assert [f"{row['bits_per_byte']:.2f}" for row in recipe["curve"]] == ["1.80", "1.71", "1.67"]
    assert round(recipe["curve"][-1]["seconds"] / 60) == 39


def test_the_longest_run_that_the_model_copied(recipe):
    ours = [row["longest_copy"] for row in recipe["samples"]]
    assert (round(median(ours)), min(ours), max(ours)) == (56, 26, 101)


def test_means_of_the_four_mixtures():
    bits = pd.read_csv(RESULTS / "18-parts.csv", comment="#").groupby(["norm", "network"])["bits"]
    assert set(bits.size()) == {8}
    assert (f"{bits.mean().min():.2f}", f"{bits.mean().max():.2f}") == ("2.87", "2.91")
    assert f"{(bits.max() - bits.min()).max():.1f}" == "0.3"


def test_two_blocks_can_copy_and_one_cannot():
    rows = pd.read_csv(RESULTS / "18-copies.csv", comment="#")
    one, two = (rows[rows["blocks"] == blocks].sort_values("second half") for blocks in (1, 2))
    assert len(one) == len(two) == 8
    ends = [f"{of['second half'].iloc[i]:.1f}" for of in (one, two) for i in (0, -1)]
    assert ends == ["2.2", "2.8", "0.1", "2.1"]
    assert f"{two['second half'].iloc[5]:.1f}" == "1.2"
    assert f"{two['second half'].iloc[1]:.2f}" == "0.37"
    best, *others = (f"{score:.2f}" for score in two["last, behind copy"])
    assert best == "0.68"
    assert max(others) == "0.02"
    assert two[["without first head", "without last head"]].min().min() > 3.47  # ln 32


def test_speed():
    file = ROOT / "benchmarks/results/writing-cpu.json"
    rows = json.loads(file.read_text(encoding="utf-8"))["tables"]["writing"]
    rows = {(row["way"], row["batch"]): row for row in rows if row["threads"] == 1}
    ours, theirs = rows["ours", 1], rows["generate", 1]
    assert [f"{row['per_second']:.0f}" for row in (ours, theirs)] == ["612", "309"]
    assert [row["calls"] for row in (ours, theirs)] == [129, 247]
    times = [theirs[key] for key in ("to_ours", "to_ours_low", "to_ours_high")]
    assert [f"{value:.2f}" for value in times] == ["1.93", "1.68", "2.22"]
    ours, theirs = rows["ours", 16], rows["generate", 16]
    assert [f"{row['per_second']:,.0f}" for row in (ours, theirs)] == ["2,743", "2,035"]
    assert f"{theirs['to_ours']:.2f}" == "1.40"
