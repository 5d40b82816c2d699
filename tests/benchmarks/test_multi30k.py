"""Multi30k from a folder, one clear error where it cannot be had, and sacrebleu's scores."""

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


def test_scores_are_sacrebleus():
    sacrebleu = pytest.importorskip("sacrebleu")
    references = ["Ein roter Hund schläft in der Sonne.", "Der Kahn liegt nachts am Meer."]
    found = multi30k.score(references, references)
    assert found[:3] == pytest.approx((100, 100, 100))
    for signature in found.signatures.values():
        assert signature.endswith(f"version:{sacrebleu.__version__}")
    assert "tok:13a" in found.signatures["bleu"]
    assert "nc:6|nw:0" in found.signatures["chrf"], "characters alone, no words"
    worse = ["Ein roter Hund schläft in der Nacht.", "Der Kahn liegt nachts am Meer."]
    found = multi30k.score(worse, references)
    assert found.bleu == pytest.approx(sacrebleu.corpus_bleu(worse, [references]).score)
    assert found.chrf == pytest.approx(sacrebleu.corpus_chrf(worse, [references]).score)
    assert 0 < found.bleu < 100
    lower = multi30k.score([text.lower() for text in references], references)
    assert lower.bleu < 100
    assert lower.bleu_lowercase == pytest.approx(100)
    assert "case:lc" in lower.signatures["bleu_lowercase"]


def test_an_ending_costs_less_in_characters_than_in_words():
    pytest.importorskip("sacrebleu")
    references = ["Ein roter Hund schläft in der Sonne.", "Der Kahn liegt nachts am Meer."]
    ending, word = ([f"Ein {red} Hund schläft in der Sonne.", references[1]]
                    for red in ("roten", "blauer"))  # fmt: skip
    ending, word = multi30k.score(ending, references), multi30k.score(word, references)
    assert ending.bleu == pytest.approx(word.bleu)
    assert ending.chrf > word.chrf + 2
