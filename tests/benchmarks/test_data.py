"""Multi30k, its subwords and its batches, and sacrebleu's scores."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
import torch
from datasets import Dataset
from hypothesis import given, settings
from hypothesis import strategies as st

from benchmarks import multi30k
from benchmarks.multi30k import Pairs, load_pairs
from benchmarks.subwords import Subwords, length_batches, pad
from utils.text import END, PADDING

ROOT = Path(__file__).resolve().parents[2]


def test_the_folder_is_read(multi30k_folder, sentences):
    assert load_pairs() == sentences
    assert load_pairs("de", "en")["test"] == Pairs(*reversed(sentences["test"]))
    with pytest.raises(ValueError, match="'fr'"):
        load_pairs("en", "fr")


@pytest.mark.parametrize("folder", [None, "nowhere"])
def test_without_data_there_is_one_clear_error(monkeypatch, tmp_path, folder):
    def no_network(name):
        raise ConnectionError(name)

    monkeypatch.setattr(multi30k, "load_dataset", no_network)
    monkeypatch.delenv("MULTI30K", raising=False)
    if folder:
        monkeypatch.setenv("MULTI30K", str(tmp_path / folder))
    with pytest.raises(RuntimeError, match=folder or "MULTI30K"):
        load_pairs()


def test_an_empty_sentence_or_split_is_refused(monkeypatch):
    data = {split: Dataset.from_list([{"en": "one", "de": "eins"}]) for split in multi30k.SPLITS}
    monkeypatch.setattr(multi30k, "load_dataset", lambda name: data)
    data["test"] = Dataset.from_list([{"en": "one", "de": "  "}])
    with pytest.raises(ValueError, match="test"):
        load_pairs()
    del data["test"]
    with pytest.raises(ValueError, match="test"):
        load_pairs()


def test_scores_are_sacrebleus():
    sacrebleu = pytest.importorskip("sacrebleu")
    references = ["Ein roter Hund schläft in der Sonne.", "Der Kahn liegt nachts am Meer."]
    found = multi30k.score(references, references)
    assert found[:3] == pytest.approx((100, 100, 100))
    assert "tok:13a" in found.signatures["bleu"]
    assert "nc:6|nw:0" in found.signatures["chrf"], "characters alone, no words"
    worse = ["Ein roter Hund schläft in der Nacht.", references[1]]
    found = multi30k.score(worse, references)
    assert found.bleu == pytest.approx(sacrebleu.corpus_bleu(worse, [references]).score)
    assert found.chrf == pytest.approx(sacrebleu.corpus_chrf(worse, [references]).score)
    lower = multi30k.score([text.lower() for text in references], references)
    assert lower.bleu < 100
    assert lower.bleu_lowercase == pytest.approx(100)


@settings(max_examples=20)
@given(text=st.text(st.characters(exclude_categories=["Cs", "Cc", "Zs", "Zl", "Zp"]), min_size=1))
def test_any_text_comes_back(text):
    subwords = Subwords.train(["a text of ours, in two parts"], 262)
    ids = subwords.encode([text, f"<end> {text} <padding>"])
    assert subwords.decode(torch.tensor([ids[0]])) == [text.strip()]
    assert subwords.decode(torch.tensor([[*ids[1], END, *ids[0], PADDING]])) == [
        f"<end> {text} <padding>"
    ]
    assert min(map(min, ids)) > END


@pytest.mark.slow
@pytest.mark.processes
def test_every_process_makes_the_same_vocabulary(sentences, subwords):
    code = (
        "import json, sys; from benchmarks.subwords import Subwords;"
        "print(Subwords.train(json.load(sys.stdin), 300).tokenizer.to_str())"
    )
    texts = json.dumps([*sentences["train"].source, *sentences["train"].target])
    others = {"PYTHONHASHSEED": "7", "RAYON_NUM_THREADS": "2", "PYTHONPATH": str(ROOT)}
    ran = subprocess.run(
        [sys.executable, "-c", code], input=texts, capture_output=True, text=True, check=True,
        env=os.environ | others,
    )  # fmt: skip
    assert subwords.size == 300
    assert ran.stdout == subwords.tokenizer.to_str() + "\n"


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
        assert max(source.numel(), target.numel()) <= tokens
        assert [(row != PADDING).sum() for row in source] == [lengths[i][0] for i in rows]
    assert length_batches([([7] * 50, [8]), ([7], [8])], 10) == [[1], [0]], "too long: alone"
    assert found == length_batches(pairs, tokens, seed)
    assert len(found) == len(length_batches(pairs, tokens, seed + 1))
    assert len(found) == len(length_batches(pairs, tokens))
