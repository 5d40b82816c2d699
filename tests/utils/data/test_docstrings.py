"""The offline corpus is the same each time, balanced, and does not give its labels away."""

import re
import subprocess
import sys
from collections import Counter
from itertools import pairwise
from pathlib import Path

import pytest

from utils.data import docstrings as corpus

NAMES = ["matplotlib", "pyplot", "networkx", "numpy", "pandas", "sklearn", "scikit"]
ALIASES = ["mpl", "plt", "nx", "np", "pd"]
LONG = "word " * corpus.MIN_WORDS


@pytest.fixture(scope="module")
def rows():
    return corpus.docstring_rows()


@pytest.mark.slow
def test_two_calls_give_the_same_corpus(rows):
    assert corpus.docstring_rows() == rows


def test_each_class_has_245_documents_to_train_and_100_to_test(rows):
    labels = list(enumerate(["matplotlib", "networkx", "numpy", "pandas", "scikit-learn"]))
    for split, size in {"train": 245, "test": 100}.items():
        counts = Counter((row["label"], row["label_text"]) for row in rows[split])
        assert counts == dict.fromkeys(labels, size)
        assert all(set(row) == {"text", "label", "label_text"} for row in rows[split])


def test_the_classes_are_mixed(rows):
    for split in rows.values():
        neighbours = pairwise(split)
        changes = sum(one["label"] != other["label"] for one, other in neighbours)
        assert changes > len(split) / 2  # by chance four in five; 4 where the classes are not mixed


def test_no_library_is_named_in_a_text(rows):
    for row in rows["train"] + rows["test"]:
        assert row["text"] == row["text"].lower()
        assert not [name for name in NAMES if name in row["text"]]
        words = re.split("[^a-z]+", row["text"])
        assert not [alias for alias in ALIASES if alias in words]


def test_all_texts_are_different_and_long(rows):
    texts = [row["text"] for row in rows["train"] + rows["test"]]
    assert len(set(texts)) == len(texts) == 1725
    assert min(len(text.split()) for text in texts) >= 60


@pytest.mark.slow
def test_reading_the_corpus_imports_no_library():
    code = (
        "import sys; from utils.data import docstring_rows; before = set(sys.modules);"
        "docstring_rows(); print({*sys.argv[1:], 'datasets'} & (set(sys.modules) - before))"
    )
    names = list(corpus.LIBRARIES.values())
    run = subprocess.run(
        [sys.executable, "-c", code, *names],
        capture_output=True,
        text=True,
        check=True,
        cwd=Path(corpus.__file__).parents[2],
    )
    assert run.stdout.strip() == "set()"


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
    source = (
        f'"""a {LONG}"""\nclass A:\n    """b {LONG}"""\n    async def f():\n        """c {LONG}"""'
    )
    (package / "a.py").write_text(source + '\ndef g():\n    """too short"""')
    rows = corpus.docstring_rows()
    assert [len(rows["train"]), len(rows["test"])] == [2, 1]
    assert {row["text"][0] for row in rows["train"] + rows["test"]} == {"a", "b", "c"}


def test_tests_and_repeated_docstrings_are_left_out(package):
    (package / "tests").mkdir()
    for i in range(5):
        (package / "tests" / f"t{i}.py").write_text(f'"""test {i} {LONG}"""')
        (package / f"same{i}.py").write_text(f'"""same {LONG}"""')
    with pytest.raises(RuntimeError, match="small has 1 docstrings of 60 words or more"):
        corpus.docstring_rows()
    for i in range(2):
        (package / f"other{i}.py").write_text(f'"""other {i} {LONG}"""')
    rows = corpus.docstring_rows()
    assert not [row for row in rows["train"] + rows["test"] if "test" in row["text"]]


def test_names_leave_the_text_wherever_they_stand(package):
    names = (
        "NumPy np.array numpy_array NumPyError sklearn.svm scikit-learn scikit learn pd. plt.plot"
    )
    for i in range(3):
        (package / f"m{i}.py").write_text(f'"""{names} {i} {LONG}"""')
    for row in corpus.docstring_rows()["train"]:
        assert not re.search(r"numpy|\bnp\b|sklearn|scikit|\bpd\b|\bplt\b", row["text"])
        assert "word word" in row["text"]


def test_a_file_that_python_cannot_read_does_not_stop_the_corpus(package):
    (package / "old.py").write_text('print "Python 2"')
    (package / "latin.py").write_bytes(b'"""\xe9"""')
    for i in range(3):
        (package / f"m{i}.py").write_text(f'"""{i} {LONG}"""')
    assert len(corpus.docstring_rows()["train"]) == 2


def test_a_missing_library_is_named(monkeypatch):
    monkeypatch.setattr(corpus, "LIBRARIES", {"thing": "no_such_package"})
    with pytest.raises(RuntimeError, match="pip install thing"):
        corpus.docstring_rows()


@pytest.mark.slow
def test_too_few_docstrings_say_what_to_do(monkeypatch):
    monkeypatch.setattr(corpus, "TRAIN", 10**6)
    with pytest.raises(RuntimeError, match=r"matplotlib .* needs 1000100"):
        corpus.docstring_rows()
