"""What chapter 18 says of its kept runs, and of the kept model, is what the files hold."""

import json
from pathlib import Path

import pandas as pd
import pytest

ROOT = Path(__file__).parents[3]
RESULTS = ROOT / "notebooks/results"


@pytest.fixture(scope="module")
def recipe():
    return json.loads((RESULTS / "18-writer.json").read_text(encoding="utf-8"))


def test_the_model_beats_the_counters_and_the_compressor_remembers(recipe):
    bits = {name: f"{value:.2f}" for name, value in recipe["bits_per_byte"].items()}
    assert (bits["lzma"], bits["model"], bits["5-gram"]) == ("1.59", "1.67", "1.88")
    grams = [value for name, value in recipe["bits_per_byte"].items() if "gram" in name]
    assert min(grams) == recipe["bits_per_byte"]["5-gram"]
    assert f"{grams[3] - grams[4]:.2f}" == "0.02"


def test_three_passes_in_39_minutes(recipe):
    assert [row["epoch"] for row in recipe["curve"]] == [1, 2, 3]
    assert round(recipe["curve"][-1]["seconds"] / 60) == 39


def test_what_repeats_itself():
    shares = pd.read_csv(RESULTS / "18-repeats.csv", comment="#").groupby("way")["share"]
    assert set(shares.size()) == {8}
    ends = pd.DataFrame({"least": shares.min(), "most": shares.max()}).mul(100)
    assert [f"{end:.0f}" for end in ends.loc["temperature 0.5"]] == ["3", "10"]
    least, most = ends.loc["as above: 0.8, 0.95"]
    assert (f"{least:.1f}", f"{most:.0f}") == ("0.3", "6")
    rest = ends.drop(["temperature 0.5", "as above: 0.8, 0.95"])
    assert f"{rest['most'].max():.1f}" == "1.1"


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
    assert [f"{two['second half'].iloc[n]:.1f}" for n in (5, 6)] == ["1.2", "2.0"]
    without = ["without first head", "without last head"]
    for of, ends in ((two, ["4.0", "7.2"]), (one, ["4.4", "4.8"])):  # chance is ln 32, 3.47
        assert [f"{of[without].min().min():.1f}", f"{of[without].max().max():.1f}"] == ends


def test_one_block_as_large_as_two_cannot():
    rows = pd.read_csv(RESULTS / "18-one-block.csv", comment="#")
    assert len(rows) == 8
    ends = [f"{end:.1f}" for end in rows["second half"].agg(["min", "max"])]
    assert ends == ["2.1", "2.5"]
    without = rows[["without first head", "without last head"]]
    assert [f"{without.min().min():.1f}", f"{without.max().max():.1f}"] == ["2.5", "2.8"]


def test_where_the_two_heads_look():
    rows = pd.read_csv(RESULTS / "18-copies.csv", comment="#")
    able = rows[rows["second half"] < 1.25].set_index("seed")
    assert len(able) == 6
    for column, ends in {
        "with weight": ["0.60", "0.84"],
        "brought there: copy": ["0.33", "0.61"],
        "what followed": ["0.24", "0.31"],
    }.items():
        assert [f"{able[column].min():.2f}", f"{able[column].max():.2f}"] == ends
    scores = able.sort_values("second half")["last, behind copy"]
    assert f"{scores.iloc[0]:.2f}" == "0.68"
    assert f"{scores.iloc[1:].max():.2f}" == "0.02"
    assert (able["last looks back"][0], able["last looks back"][1]) == (19, 17)


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
