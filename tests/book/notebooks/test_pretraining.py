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


@pytest.fixture(scope="module")
def long_runs():
    """The test articles that each way got wrong with all labels: a set for each seed."""
    rows = pd.read_csv(RESULTS / "16-finetuning.csv", comment="#")
    names = {"fine-tuned": "tuned", "frozen": "frozen", "counting": "words", "averaged": "both"}
    found = {name: [set(text.split()[1:]) for text in rows[key]] for name, key in names.items()}
    unchanged = pd.read_csv(RESULTS / "16-frozen.csv", comment="#").set_index("judged_on")
    return found | {"frozen, averaged": [set(unchanged["frozen_both"]["test"].split()[1:])]}


def alone(runs, first, second):
    """For each draw: on how many articles one alone is right."""
    both = zip(runs[first], runs[second], strict=True)
    return [(len(b - a), len(a - b)) for a, b in both]


def test_fine_tuning_with_all_labels_makes_the_mistakes_that_are_said(said, long_runs):
    found = said(
        r"makes (\d+), (\d+) and (\d+) mistakes in 487 articles, "
        r"frozen vectors (\d+) and counting (\d+)\."
    )
    rivals = [long_runs["frozen"][0], long_runs["counting"][0]]
    assert found == [len(run) for run in [*long_runs["fine-tuned"], *rivals]]
    found = said(
        r"it is (\d+), (\d+) and (\d+) mistakes; the frozen model's, averaged so, give (\d+)"
    )
    averaged = [*long_runs["averaged"], *long_runs["frozen, averaged"]]
    assert found == [len(run) for run in averaged]


def test_fine_tuning_with_all_labels_in_pairs_is_as_said(said, long_runs):
    three = r"(\d+) : (\d+), (\d+) : (\d+) and (\d+) : (\d+)"
    number = r"([\d.]*\d)"
    found = said(
        rf"In pairs it is {three} against the frozen vectors, and {three} against counting "
        rf"\(p from {number} to {number}\)"
    )
    against = {name: alone(long_runs, "fine-tuned", name) for name in ("frozen", "counting")}
    assert found[:12] == [n for pairs in against.values() for pair in pairs for n in pair]
    p_values = [p_value(*pair) for pair in against["counting"]]
    assert found[12:] == pytest.approx([min(p_values), max(p_values)], abs=0.0051)
    first, second, p = said(
        rf"and (\d+) : (\d+) against counting may well be luck \(p = {number}\)"
    )
    assert (first, second) == alone(long_runs, "averaged", "counting")[1]
    assert len(long_runs["averaged"][1]) == min(map(len, long_runs["averaged"])) <= 7
    assert p == pytest.approx(p_value(int(first), int(second)), abs=0.0051)


def test_so_many_articles_are_wrong_in_every_run(long_runs):
    rows = pd.read_csv(RESULTS / "16-finetuning.csv", comment="#")
    every = [set(text.split()[1:]) for name in ("whole", "tuned") for text in rows[name]]
    every += [run for name in ("frozen", "counting", "averaged") for run in long_runs[name]]
    assert len(set.intersection(*every)) == 3


def test_the_mistakes_with_ten_labels_are_as_the_chapter_says(said, runs):
    four = r"(\d+), (\d+), (\d+) and (\d+)"
    for name, pattern in (
        ("adapters", rf"24,576 numbers that learn\) make {four} mistakes"),
        ("fine-tuned", rf"both blocks \(3.5 million\) {four};"),
    ):
        assert said(pattern) == [len(run) for run in runs[name]]


def test_fine_tuning_and_adapters_differ_as_the_chapter_says(said, runs):
    found = said(r"in pairs it is (\d+) : (\d+), (\d+) : (\d+), (\d+) : (\d+) and (\d+) : (\d+)")
    assert found == [n for pair in alone(runs, "adapters", "fine-tuned") for n in pair]


def test_the_rates_are_the_better_ones_of_two_draws(wrong):
    for how, chosen, other in (("all weights", 0.0001, 0.0005), ("adapters", 0.004, 0.001)):
        ours, theirs = (
            sum(len(wrong[how, rate, seed]) for seed in range(2)) for rate in (chosen, other)
        )
        assert ours <= theirs


def test_the_frozen_model_has_its_best_setting(wrong, kept):
    tried = (0.1, 1.0, 10.0, 100.0)
    short = {C: sum(len(wrong["frozen", C, seed]) for seed in range(4)) for C in tried}
    assert short[1.0] == min(short.values())
    long = {C: sum(map(len, kept["vectors", "validation", 10, C])) for C in (1, 10, 100)}
    assert long[10] == min(long.values())


def test_training_leads_at_64_tokens_and_not_against_256(runs):
    for rival, leads in (("frozen", True), ("frozen, 256", False)):
        for ours in ("fine-tuned", "adapters"):
            pairs = alone(runs, ours, rival)
            assert all((first > second) == leads for first, second in pairs)


def test_all_labels_give_what_is_said(said, kept):
    mistakes = said(
        r"the vectors make (\d+) mistakes in 487 test articles and counting makes (\d+)"
    )
    assert mistakes[0] == len(kept["vectors", "test", 10_000, 10][0])
    found = said(r"where vectors give ([\d.]+) and counting ([\d.]+)\.")
    assert found == [round(1 - n / TEST, 3) for n in mistakes]


def test_the_table_alone_is_as_good_as_is_said(said, kept):
    found = said(
        r"its rows give ([\d.]+) with one label, what leaves the blocks ([\d.]+); "
        r"with two the table is ahead, ([\d.]+) to ([\d.]+)\."
    )
    two = ("table, plain", "blocks, plain")
    assert found == [round(accuracy(kept, method, n), 2) for n in (1, 2) for method in two]
    found = said(r"it is (−?[\d.]+) points with one .*, ([\d.]+) with ten .* and ([\d.]+) with 50")
    leads = [accuracy(kept, two[1], n) - accuracy(kept, two[0], n) for n in (1, 10, 50)]
    assert found == [round(100 * lead, 1) for lead in leads]
    found = said(r"random ones give ([\d.]+)\. If .*and the blocks worse, ([\d.]+) with one")
    others = ("random table, plain", "blocks, by rarity")
    assert found == [round(accuracy(kept, method, 1), 2) for method in others]


def test_the_names_are_as_good_as_is_said(said, kept):
    found = said(r"vectors of names \| ([\d.]+); .*\n.* vectors and names \| ([\d.]+); counting")
    assert found == [round(accuracy(kept, "names", n), 2) for n in (0, 2)]
    found = said(r"nothing that we can see \((−?[\d.]+) points, .* two add ([\d.]+) \(")
    none, *more = (accuracy(kept, "names", n) for n in (0, 1, 2))
    assert found == [round(100 * (n - none), 1) for n in more]
