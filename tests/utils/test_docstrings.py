"""The offline corpus is the same each time, balanced, and does not give its labels away."""

import re
from collections import Counter
from itertools import pairwise

import pytest

from utils import docstrings as corpus

NAMES = ["matplotlib", "pyplot", "networkx", "numpy", "pandas", "sklearn", "scikit"]
ALIASES = {"mpl", "plt", "nx", "np", "pd"}
LONG = "word " * corpus.MIN_WORDS


@pytest.mark.slow
def test_the_corpus_is_balanced_mixed_and_names_no_library():
    rows = corpus.docstring_rows()
    labels = list(enumerate(["matplotlib", "networkx", "numpy", "pandas", "scikit-learn"]))
    for split, size in {"train": 245, "test": 100}.items():
        counts = Counter((row["label"], row["label_text"]) for row in rows[split])
        assert counts == dict.fromkeys(labels, size)
        # By chance four in five neighbours differ; 4 neighbours where the classes are not mixed.
        changes = sum(one["label"] != other["label"] for one, other in pairwise(rows[split]))
        assert changes > len(rows[split]) / 2
    texts = [row["text"] for row in rows["train"] + rows["test"]]
    assert len(set(texts)) == len(texts) == 1725
    for text in texts:
        assert len(text.split()) >= 60
        assert text == text.lower()
        assert not [name for name in NAMES if name in text]
        assert ALIASES.isdisjoint(re.split("[^a-z]+", text))


@pytest.fixture
def package(tmp_path, monkeypatch):
    """A package of our own that stands for the libraries, with the files that a test puts in it."""
    folder = tmp_path / "small_library"
    folder.mkdir()
    (folder / "__init__.py").write_text("raise AssertionError('imported')")
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.setattr(corpus, "LIBRARIES", {"small": "small_library"})
    monkeypatch.setattr(corpus, "TRAIN", 2)
    monkeypatch.setattr(corpus, "TEST", 1)
    return folder


def test_docstrings_of_modules_classes_and_functions_are_read(package):
    names = "NumPy np.array numpy_array NumPyError sklearn.svm scikit-learn scikit learn pd. plt.a"
    source = (
        f'"""a {names} {LONG}"""\nclass A:\n    """b {names}\n    {LONG}"""\n'
        f'    async def f():\n        """c {names} {LONG}"""\ndef g():\n    """too short"""'
    )
    (package / "a.py").write_text(source)
    (package / "old.py").write_text('print "Python 2"')
    (package / "latin.py").write_bytes(b'"""\xe9"""')
    rows = corpus.docstring_rows()
    assert rows == corpus.docstring_rows()
    assert [len(rows["train"]), len(rows["test"])] == [2, 1]
    texts = sorted(row.pop("text") for row in rows["train"] + rows["test"])
    assert rows["test"] == [{"label": 0, "label_text": "small"}]
    expected = f".array _array error .svm . .a {LONG}".strip()
    assert texts == [f"{letter} {expected}" for letter in "abc"]


def test_tests_repeated_docstrings_and_no_library(package, monkeypatch):
    (package / "tests").mkdir()
    for i in range(5):
        (package / "tests" / f"t{i}.py").write_text(f'"""test {i} {LONG}"""')
        (package / f"same{i}.py").write_text(f'"""same {LONG}"""')
    with pytest.raises(RuntimeError, match=r"small has 1 docstrings of 60 words .* needs 3"):
        corpus.docstring_rows()
    for i in range(4):
        (package / f"other{i}.py").write_text(f'"""other {i} {LONG}"""')
    rows = corpus.docstring_rows()
    assert not [row for row in rows["train"] + rows["test"] if "test" in row["text"]]
    assert [len(rows["train"]), len(rows["test"])] == [2, 1]
    monkeypatch.setattr(corpus, "LIBRARIES", {"thing": "no_such_package"})
    with pytest.raises(RuntimeError, match="pip install thing"):
        corpus.docstring_rows()
