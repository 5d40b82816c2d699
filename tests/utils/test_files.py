import pytest

from utils.files import replacing


def test_file_is_replaced_whole(tmp_path):
    file = tmp_path / "new" / "file.txt"
    for text in ("first", "second"):
        with replacing(file) as half:
            half.write_text(text)
            assert half.parent == file.parent  # else the last step could not be one
        assert file.read_text() == text
    assert list(file.parent.iterdir()) == [file]


def test_who_reads_meanwhile_reads_the_old_content_to_its_end(tmp_path):
    file = tmp_path / "file.txt"
    file.write_text("old")
    with file.open() as reader:
        with replacing(file) as half:
            half.write_text("new")
        assert reader.read() == "old"
    assert file.read_text() == "new"


def test_error_leaves_the_old_content_and_nothing_else(tmp_path):
    file = tmp_path / "file.txt"
    file.write_text("old")
    with pytest.raises(UnicodeEncodeError), replacing(file) as half:
        half.write_text("half of the n\u00e9w", encoding="ascii")
    assert file.read_text() == "old"
    assert list(tmp_path.iterdir()) == [file]


def test_nothing_written_is_an_error(tmp_path):
    with pytest.raises(FileNotFoundError), replacing(tmp_path / "file.txt"):
        pass
