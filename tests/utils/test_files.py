import pytest

from utils.files import replacing


def test_file_is_replaced_whole_and_who_reads_meanwhile_reads_the_old(tmp_path):
    file = tmp_path / "new" / "file.txt"
    with replacing(file) as half:
        half.write_text("old")
        assert half.parent == file.parent  # else the last step could not be one
    with file.open() as reader:
        with replacing(file) as half:
            half.write_text("new")
        assert reader.read() == "old"
    assert file.read_text() == "new"
    assert list(file.parent.iterdir()) == [file]


def test_an_error_or_nothing_written_leaves_the_old_content_and_nothing_else(tmp_path):
    file = tmp_path / "file.txt"
    file.write_text("old")
    with pytest.raises(UnicodeEncodeError), replacing(file) as half:
        half.write_text("half of the n\u00e9w", encoding="ascii")
    with pytest.raises(FileNotFoundError), replacing(file):
        pass
    assert file.read_text() == "old"
    assert list(tmp_path.iterdir()) == [file]
