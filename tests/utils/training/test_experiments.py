"""The harness: what is run, what is kept, what is refused, and the intervals."""

import numpy as np
import pandas as pd
import pytest

from utils.training import code_hash, fetch_results, mean_intervals, paired_differences, run_all

LAYERS = [{"layer": "wide", "heads": 2, "rate": 0.1}, {"layer": "narrow", "heads": 8, "rate": 1e-3}]
calls: list[tuple] = []


def run(layer, heads, rate, seed):
    calls.append((layer, seed))
    if (layer, seed) == ("stops", 1):
        raise KeyboardInterrupt
    return {"accuracy": heads / 10 + seed / 100, "loss": rate * seed}


def other_run(layer, heads, rate, seed):
    return {"accuracy": 0.0, "loss": 0.0}


def same_run(layer, heads, rate, seed):
    calls.append(("again", seed))
    return {"accuracy": heads / 10 + seed / 100 + 1e-4, "loss": rate * seed}


@pytest.fixture(autouse=True)
def no_calls():
    calls.clear()


@pytest.fixture
def file(tmp_path):
    return str(tmp_path / "results" / "10-layers.csv")


def test_every_configuration_meets_every_seed_in_order():
    table = run_all(run, LAYERS, range(3))

    assert list(table["layer"]) == ["wide"] * 3 + ["narrow"] * 3
    assert list(table["seed"]) == [0, 1, 2] * 2
    assert list(table.columns) == ["layer", "heads", "rate", "seed", "accuracy", "loss", "seconds"]
    np.testing.assert_allclose(table["accuracy"], [0.2, 0.21, 0.22, 0.8, 0.81, 0.82])


def test_what_the_file_holds_is_not_run_again(file):
    first = run_all(run, LAYERS, range(3), file)
    calls.clear()
    again = run_all(run, LAYERS, range(3), file)
    assert not calls
    pd.testing.assert_frame_equal(first, again)

    more = run_all(run, LAYERS[::-1], range(4), file)
    assert calls == [("narrow", 3), ("wide", 3)]
    assert len(more) == 8
    assert list(more["layer"][:4]) == ["narrow"] * 4


def test_a_run_that_is_stopped_goes_on_where_it_was(file):
    stops = [{**LAYERS[0], "layer": "stops"}]
    with pytest.raises(KeyboardInterrupt):
        run_all(run, LAYERS[:1] + stops, range(3), file)
    assert calls == [("wide", 0), ("wide", 1), ("wide", 2), ("stops", 0), ("stops", 1)]
    calls.clear()
    run_all(run, LAYERS, range(3), file)
    assert calls == [("narrow", 0), ("narrow", 1), ("narrow", 2)]


def test_the_file_says_how_it_is_made_and_leaves_nothing_half_written(file, tmp_path):
    run_all(run, LAYERS, range(2), file)
    with open(file, encoding="utf-8") as lines:
        head = [next(lines).rstrip() for _ in range(3)]
    assert head[0] == f"# code {code_hash(run)}"
    assert head[2] == "# make notebooks CHAPTERS=10"
    assert [path.name for path in (tmp_path / "results").iterdir()] == ["10-layers.csv"]


def test_results_of_other_code_are_refused(file):
    run_all(run, LAYERS, range(2), file)
    with pytest.raises(ValueError, match="other code"):
        run_all(other_run, LAYERS, range(2), file)


def test_results_of_other_code_are_taken_if_they_come_out_the_same(file, monkeypatch):
    run_all(run, LAYERS, range(2), file)
    calls.clear()
    monkeypatch.setenv("RECHECK", "1")
    table = run_all(same_run, LAYERS, range(2), file)
    assert [layer for layer, _ in calls] == ["again"] * 2  # the quickest of each layer
    pd.testing.assert_frame_equal(table, run_all(same_run, LAYERS, range(2), file))
    assert len(calls) == 2
    with pytest.raises(ValueError, match="accuracy"):
        run_all(other_run, LAYERS, range(2), file)


def test_a_column_that_the_file_lacks_is_refused(file):
    run_all(run, LAYERS, range(2), file)
    with open(file, encoding="utf-8") as lines:
        text = lines.read().replace("heads", "number")
    with open(file, "w", encoding="utf-8") as lines:
        lines.write(text)
    with pytest.raises(ValueError, match="no column 'heads'"):
        run_all(run, LAYERS, range(2), file)


@pytest.mark.parametrize("configurations", [[], [{"layer": "wide"}, {"heads": 2}]])
def test_configurations_must_agree_in_their_keys(configurations):
    with pytest.raises(ValueError, match="same keys"):
        run_all(run, configurations, range(2))


@pytest.fixture
def away(tmp_path, monkeypatch):
    """A folder that is no clone of the course, and the address of two files."""
    there, away = tmp_path / "there", tmp_path / "away" / "notebooks"
    for folder in (there, away):
        folder.mkdir(parents=True)
    for name in ("10-a.csv", "10-b.csv"):
        (there / name).write_text(f"a,b\n{name},1\n")
    monkeypatch.chdir(away)
    return away, there.as_uri()


def test_kept_results_are_fetched_once(away):
    folder, address = away
    fetch_results(address, "10-a.csv")
    (folder / "results" / "10-a.csv").write_text("mine")
    fetch_results(address, "10-a.csv", "10-b.csv")
    assert (folder / "results" / "10-a.csv").read_text() == "mine"
    assert (folder / "results" / "10-b.csv").read_text() == "a,b\n10-b.csv,1\n"


def test_what_is_fetched_is_the_same_bytes(away):
    folder, address = away
    content = bytes(range(256)) + b"\r\n"  # no UTF-8
    (folder.parents[1] / "there" / "18-a.safetensors").write_bytes(content)
    fetch_results(address, "18-a.safetensors")
    assert (folder / "results" / "18-a.safetensors").read_bytes() == content


def test_no_table_is_fetched_in_a_clone(away):
    folder, address = away
    (folder.parent / "_config.yml").write_text("")
    fetch_results(address, "10-a.csv")
    assert not (folder / "results").exists()


def test_weights_are_fetched_in_a_clone_too(away):
    folder, address = away
    (folder.parent / "_config.yml").write_text("")
    (folder.parents[1] / "there" / "18-a.safetensors").write_bytes(b"weights")
    fetch_results(address, "10-a.csv", "18-a.safetensors")
    assert [path.name for path in (folder / "results").iterdir()] == ["18-a.safetensors"]


def test_it_is_said_why_a_file_cannot_be_fetched(away):
    folder, address = away
    with pytest.raises(RuntimeError, match=r"there/other.csv could not be fetched"):
        fetch_results(address, "10-a.csv", "other.csv")
    assert [path.name for path in (folder / "results").iterdir()] == ["10-a.csv"]


def seeds_with_luck(effect=0.01, seeds=10, luck=0.05):
    """Two layers whose runs share the luck of the seed: the second is better by ``effect``."""
    rng = np.random.default_rng(0)
    shared = rng.normal(0.8, luck, seeds)
    rows = [("a", s, shared[s]) for s in range(seeds)]
    rows += [("b", s, shared[s] + effect + rng.normal(0, effect / 4)) for s in range(seeds)]
    return pd.DataFrame(rows, columns=["layer", "seed", "accuracy"])


def test_the_interval_is_that_of_the_bootstrap():
    results = seeds_with_luck()
    table = mean_intervals(results, "layer", "accuracy")
    sample = results[results["layer"] == "a"]["accuracy"]
    assert table.loc["a", "mean"] == pytest.approx(sample.mean())
    # Of a mean: about 1.96 standard errors on each side, with the bootstrap's n for n - 1.
    half = 1.96 * sample.std(ddof=0) / np.sqrt(len(sample))
    assert table.loc["a", "high"] - table.loc["a", "mean"] == pytest.approx(half, rel=0.15)
    assert table.loc["a", "mean"] - table.loc["a", "low"] == pytest.approx(half, rel=0.15)
    assert (table["runs"] == 10).all()
    pd.testing.assert_frame_equal(table, mean_intervals(results, "layer", "accuracy"))


def test_groups_may_be_made_by_two_columns():
    results = pd.concat([seeds_with_luck().assign(heads=h) for h in (2, 4)])
    table = mean_intervals(results, ["heads", "layer"], "accuracy")
    assert list(table.index) == [(2, "a"), (2, "b"), (4, "a"), (4, "b")]


def test_one_run_and_equal_runs():
    results = pd.DataFrame({"layer": ["a"], "seed": [0], "accuracy": [0.5]})
    table = mean_intervals(results, "layer", "accuracy")
    assert table.loc["a", "mean"] == 0.5
    assert table.loc["a", ["low", "high"]].isna().all()
    equal = pd.DataFrame({"layer": "a", "seed": range(5), "accuracy": 0.5})
    assert tuple(mean_intervals(equal, "layer", "accuracy").loc["a"]) == (0.5, 0.5, 0.5, 5)


def test_a_pair_shows_what_two_means_hide():
    results = seeds_with_luck()
    means = mean_intervals(results, "layer", "accuracy")
    assert means.loc["a", "high"] > means.loc["b", "low"]  # the two intervals overlap
    table = paired_differences(results, "layer", "a", "accuracy")
    row = table.loc["b"]
    assert row["low"] > 0
    assert row["mean"] == pytest.approx(means.loc["b", "mean"] - means.loc["a", "mean"])
    assert row["above"] == 10
    turned = paired_differences(results, "layer", "b", "accuracy").loc["a"]
    assert turned["mean"] == pytest.approx(-row["mean"])
    assert turned["above"] == 0


def test_pairs_do_not_depend_on_the_order_of_the_rows():
    results = seeds_with_luck()
    shuffled = results.sample(frac=1, random_state=0)
    ordered = paired_differences(results, "layer", "a", "accuracy")
    pd.testing.assert_frame_equal(ordered, paired_differences(shuffled, "layer", "a", "accuracy"))


def test_a_run_without_its_partner_is_refused():
    results = seeds_with_luck()
    with pytest.raises(ValueError, match="must be among them"):
        paired_differences(results, "layer", "c", "accuracy")
    with pytest.raises(ValueError, match="needs a run for each seed"):
        paired_differences(results.iloc[:-1], "layer", "a", "accuracy")


def test_the_interval_covers_about_as_often_as_it_says():
    """Of 200 samples of 20, about 93 in 100 intervals of the percentile kind hold the truth."""
    rng = np.random.default_rng(1)
    rows = [(s, i, x) for s in range(200) for i, x in enumerate(rng.normal(size=20))]
    table = mean_intervals(pd.DataFrame(rows, columns=["sample", "seed", "x"]), "sample", "x")
    covered = ((table["low"] <= 0) & (table["high"] >= 0)).mean()
    assert 0.88 < covered < 0.98
