"""What chapter 16 says of its kept rows, in another way."""

import base64
from math import comb
from statistics import mean

import pandas as pd
import pytest

from tools.notebooks import ROOT

NOTEBOOK = ROOT / "notebooks" / "16-what-is-pretraining-worth.ipynb"
RESULTS = ROOT / "notebooks" / "results"
TEST, VALIDATION = 487, 307  # articles


@pytest.fixture(scope="module")
def wrong():
    """The articles that each run on few labels got wrong, by method, rate and seed."""
    rows = pd.read_csv(RESULTS / "16-few.csv", comment="#")
    keys = rows[["how", "rate", "seed"]].itertuples(index=False, name=None)
    texts = [set(map(int, text.split()[1:])) for text in rows["wrong"]]
    return dict(zip(keys, texts, strict=True))


@pytest.fixture(scope="module")
def kept():
    """The articles that the frozen model got wrong, for each draw of a setting."""
    rows = pd.read_csv(RESULTS / "16-labels.csv", comment="#")
    keys = ["method", "judged_on", "labelled", "freedom"]
    found: dict[tuple, list[set[int]]] = {}
    for *key, word in rows[[*keys, "wrong"]].itertuples(index=False, name=None):
        bits = "".join(f"{byte:08b}" for byte in base64.b64decode(word))
        found.setdefault(tuple(key), []).append({i for i, bit in enumerate(bits) if bit == "1"})
    return found


def p_value(first, second):
    n, gap = first + second, abs(first - second)
    return sum(comb(n, k) for k in range(n + 1) if abs(n - 2 * k) >= gap) / 2**n


def accuracy(kept, method, labelled):
    runs = kept[method, "test", labelled, 10]
    return mean(1 - len(run) / TEST for run in runs)


@pytest.fixture(scope="module")
def runs(wrong, kept):
    """The four runs of each way, with the setting that the chapter gives it."""
    settings = {"fine-tuned": ("all weights", 0.0001), "adapters": ("adapters", 0.004)}
    settings["frozen"] = ("frozen", 1.0)
    found = {name: [wrong[*key, seed] for seed in range(4)] for name, key in settings.items()}
    return found | {"frozen, 256": kept["vectors", "validation", 10, 10]}


def alone(runs, first, second):
    """For each draw: on how many articles one alone is right."""
    both = zip(runs[first], runs[second], strict=True)
    return [(len(b - a), len(a - b)) for a, b in both]


def test_the_mistakes_are_as_the_chapter_says(said, runs):
    four = r"(\d+), (\d+), (\d+) and (\d+)"
    for name, pattern in (
        ("fine-tuned", rf"makes {four} mistakes in 307"),
        ("adapters", rf"with 24,576, make {four}\."),
        ("frozen", rf"from the same 64 tokens, makes {four}\."),
        ("frozen, 256", rf"read 256 tokens, and it makes {four}\."),
    ):
        assert said(pattern) == [len(run) for run in runs[name]]


def test_fine_tuning_and_adapters_differ_as_the_chapter_says(said, runs):
    found = said(r"in pairs it is (\d+) : (\d+), (\d+) : (\d+), (\d+) : (\d+) and (\d+) : (\d+)")
    assert found == [n for pair in alone(runs, "fine-tuned", "adapters") for n in pair]


def test_the_rates_are_the_better_ones_of_two_draws(wrong):
    for how, chosen, other in (("all weights", 0.0001, 0.0005), ("adapters", 0.004, 0.001)):
        ours, theirs = (
            sum(len(wrong[how, rate, seed]) for seed in range(2)) for rate in (chosen, other)
        )
        assert ours <= theirs


def test_the_frozen_model_has_its_best_setting(wrong, kept):
    short = {C: sum(len(wrong["frozen", C, seed]) for seed in range(4)) for C in (1.0, 10.0)}
    assert short[1.0] == min(short.values())
    long = {C: sum(map(len, kept["vectors", "validation", 10, C])) for C in (1, 10, 100)}
    assert long[10] == min(long.values())


def test_training_leads_at_64_tokens_and_not_against_256(said, runs):
    number = r"([\d.]*\d)"
    at_64 = rf"from {number} to {number} for fine-tuning, from {number} to {number} for adapters"
    at_256 = rf"against 256 \(p from {number} to {number}, and from {number} to {number}\)"
    for rival, pattern, leads in (("frozen", at_64, True), ("frozen, 256", at_256, False)):
        expected = []
        for ours in ("fine-tuned", "adapters"):
            pairs = alone(runs, ours, rival)
            assert all((first > second) == leads for first, second in pairs)
            found = [p_value(*pair) for pair in pairs]
            expected += [min(found), max(found)]
        assert said(pattern) == pytest.approx(expected, abs=0.0051)


def test_all_labels_give_what_is_said(said, kept):
    mistakes = said(
        r"the vectors make (\d+) mistakes in 487 test articles and counting makes (\d+)"
    )
    assert mistakes[0] == len(kept["vectors", "test", 10_000, 10][0])
    found = said(r"Vectors give ([\d.]+) and counting ([\d.]+),")
    assert found == [round(1 - n / TEST, 3) for n in mistakes]


def test_the_table_alone_and_the_names_alone_are_as_good_as_is_said(said, kept):
    found = said(
        r"the table alone gives ([\d.]+), as the whole model does; .* ([\d.]+) to ([\d.]+)\."
    )
    methods = [("table", 1), ("table", 2), ("vectors", 2)]
    assert found == [round(accuracy(kept, method, n), 2) for method, n in methods]
    assert round(accuracy(kept, "vectors", 1), 2) == found[0]
    found = said(r"\| ([\d.]+); worth .*\n.* \| ([\d.]+) and ([\d.]+); counting")
    assert found == [round(accuracy(kept, "names", n), 2) for n in (0, 1, 2)]
