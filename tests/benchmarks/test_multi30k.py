"""Multi30k from a folder, one clear error where it cannot be had, and BLEU as sacrebleu counts."""

import pytest
from datasets import Dataset

from benchmarks import multi30k
from benchmarks.multi30k import Pairs, load_pairs


def test_the_folder_is_read(multi30k_folder, sentences):
    assert load_pairs() == sentences
    swapped = load_pairs("de", "en")
    assert swapped["test"] == Pairs(*reversed(sentences["test"]))


def test_without_a_network_there_is_one_clear_error(monkeypatch):
    def no_network(name):
        raise ConnectionError(name)

    monkeypatch.delenv("MULTI30K", raising=False)
    monkeypatch.setattr(multi30k, "load_dataset", no_network)
    with pytest.raises(RuntimeError, match="MULTI30K"):
        load_pairs()


def test_a_folder_that_is_not_there(monkeypatch, tmp_path):
    monkeypatch.setenv("MULTI30K", str(tmp_path / "nowhere"))
    with pytest.raises(RuntimeError, match="nowhere"):
        load_pairs()


def test_a_language_that_is_not_there(multi30k_folder):
    with pytest.raises(ValueError, match="'fr'"):
        load_pairs("en", "fr")


@pytest.mark.parametrize("change", [{"de": "  "}, None])
def test_an_empty_sentence_or_split(monkeypatch, change):
    data = {split: Dataset.from_list([{"en": "one", "de": "eins"}]) for split in multi30k.SPLITS}
    if change is None:
        del data["test"]
    else:
        data["test"] = Dataset.from_list([{"en": "one", **change}])
    monkeypatch.setattr(multi30k, "load_dataset", lambda name: data)
    with pytest.raises(ValueError, match="test"):
        load_pairs()


def test_bleu_is_sacrebleus():
    sacrebleu = pytest.importorskip("sacrebleu")
    references = ["Ein roter Hund schläft in der Sonne.", "Der Kahn liegt nachts am Meer."]
    found = multi30k.score(references, references)
    assert found.bleu == pytest.approx(100)
    assert found.signature.endswith(f"version:{sacrebleu.__version__}")
    assert "tok:13a" in found.signature
    worse = ["Ein roter Hund schläft in der Nacht.", "Der Kahn liegt nachts am Meer."]
    expected = sacrebleu.corpus_bleu(worse, [references]).score
    assert multi30k.score(worse, references).bleu == pytest.approx(expected)
    assert 0 < expected < 100
    lower = [text.lower() for text in references]
    assert multi30k.score(lower, references).bleu < 100
    folded = multi30k.score(lower, references, lowercase=True)
    assert folded.bleu == pytest.approx(100)
    assert "case:lc" in folded.signature
