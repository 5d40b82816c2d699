"""What the writer reads: docstrings as they are written, split by library, the same each time."""

import sys

import pytest

from utils.docstrings import documentation, writer_texts

WORDS = "Add one to what is given, and give the sum of both. " * 5


@pytest.fixture
def library(tmp_path, monkeypatch):
    """Two small packages that are found and must not be imported."""
    for name in ("wordy", "other"):
        package = tmp_path / name
        (package / "tests").mkdir(parents=True)
        (package / "external").mkdir()
        (package / "__init__.py").write_text("raise ImportError('this is not to be imported')")
        (package / "tests" / "test.py").write_text(f'"""{WORDS} In a test."""')
        (package / "external" / "x.py").write_text(f'"""{WORDS} Of another library."""')
        (package / "broken.py").write_text("def (")
        twice = f'    """{WORDS}\n\n    Then:\n      Größe.\n    """\n'
        short = '    """Short."""\n'
        code = f'"""{WORDS} Of {name}."""\ndef f():\n{twice}def g():\n{twice}def h():\n{short}'
        (package / "code.py").write_text(code, encoding="utf-8")
    monkeypatch.syspath_prepend(tmp_path)
    yield
    assert "wordy" not in sys.modules


def test_docstrings_are_as_written_and_each_stands_once(library):
    found = documentation("wordy")
    assert sorted(found) == sorted([f"{WORDS} Of wordy.", f"{WORDS}\n\nThen:\n  Größe."])
    assert documentation("wordy") == found


def test_what_stands_in_both_is_not_validated_on(library):
    texts = writer_texts(("wordy",), ("other",))
    assert len(texts["train"]) == 2
    assert texts["validation"] == [f"{WORDS} Of other."]


def test_what_is_missing_is_said(library, tmp_path):
    with pytest.raises(RuntimeError, match="pip install no_such_package"):
        documentation("no_such_package")
    (tmp_path / "silent").mkdir()
    (tmp_path / "silent" / "__init__.py").write_text("")
    with pytest.raises(RuntimeError, match="silent has no docstrings"):
        documentation("silent")
