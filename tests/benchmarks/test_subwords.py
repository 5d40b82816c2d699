"""Any text comes back from the vocabulary, and the batches hold every pair once."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from benchmarks.subwords import Subwords, length_batches, pad
from utils.data import BEGIN, END, PADDING

ROOT = Path(__file__).resolve().parents[2]


@settings(max_examples=50)
@given(text=st.text(st.characters(exclude_categories=["Cs", "Cc", "Zs", "Zl", "Zp"]), min_size=1))
def test_any_text_comes_back(text):
    subwords = Subwords.train(["a text of ours, in two parts"], 262)
    ids = subwords.encode([text, f"<end> {text} <padding>"])
    assert subwords.decode(torch.tensor([ids[0]])) == [text.strip()]
    assert subwords.decode(torch.tensor([ids[1]])) == [f"<end> {text} <padding>"]
    assert min(map(min, ids)) > END


def test_what_stands_after_the_end_is_not_read(subwords):
    ids = subwords.encode(["Ein Hund", "Ein Baum"])
    row = torch.tensor([[*ids[0], END, *ids[1], PADDING]])
    assert subwords.decode(row) == ["Ein Hund"]


def test_the_vocabulary_has_its_size_and_the_special_ids(subwords):
    assert subwords.size == 300
    names = {i: subwords.tokenizer.id_to_token(i) for i in (PADDING, BEGIN, END)}
    assert names == {0: "<padding>", 1: "<begin>", 2: "<end>"}
    with pytest.raises(ValueError, match="256 bytes and 3 special"):
        Subwords.train(["a"], 258)


@pytest.mark.slow
def test_every_process_makes_the_same_vocabulary(sentences, subwords):
    code = (
        "import json, sys; from benchmarks.subwords import Subwords;"
        "print(Subwords.train(json.load(sys.stdin), 300).tokenizer.to_str())"
    )
    texts = json.dumps([*sentences["train"].source, *sentences["train"].target])
    found = set()
    for seed in ("1", "2"):
        environment = os.environ | {"PYTHONHASHSEED": seed, "RAYON_NUM_THREADS": seed}
        ran = subprocess.run(
            [sys.executable, "-c", code], cwd=ROOT, input=texts, capture_output=True, text=True,
            check=True, env=environment | {"PYTHONPATH": str(ROOT)},
        )  # fmt: skip
        found.add(ran.stdout)
    assert found == {subwords.tokenizer.to_str() + "\n"}


@settings(max_examples=40)
@given(
    lengths=st.lists(st.tuples(st.integers(1, 30), st.integers(1, 30)), min_size=1, max_size=40),
    tokens=st.integers(30, 200),
    seed=st.integers(0, 5),
)
def test_batches_hold_every_pair_once_and_no_more_than_asked(lengths, tokens, seed):
    pairs = [([7] * source, [8] * target) for source, target in lengths]
    found = length_batches(pairs, tokens, seed)
    assert sorted(i for rows in found for i in rows) == list(range(len(pairs)))
    for rows in found:
        source, target = pad(pairs, rows)
        assert source.numel() <= tokens
        assert target.numel() <= tokens
        assert [(row != PADDING).sum() for row in source] == [lengths[i][0] for i in rows]
    assert found == length_batches(pairs, tokens, seed)
    assert len(found) == len(length_batches(pairs, tokens, seed + 1))
    assert len(found) == len(length_batches(pairs, tokens))


def test_another_seed_gives_other_batches():
    pairs = [([7] * (i % 9 + 1), [8] * (i % 9 + 1)) for i in range(90)]
    first, other = length_batches(pairs, 40, 0), length_batches(pairs, 40, 1)
    assert first != other
    assert sorted(map(sorted, first)) != sorted(map(sorted, other)), "other neighbours, too"


def test_a_pair_that_is_too_long_is_alone():
    assert length_batches([([7] * 50, [8]), ([7], [8])], 10) == [[1], [0]]
