"""Kept files are fetched byte for byte where there is no clone, and left alone where they are."""

import pytest

from utils.training import fetch_files

CONTENT = bytes(range(256))


@pytest.fixture
def away(tmp_path, monkeypatch):
    """A folder outside a clone, and the address of one with files."""
    there, folder = tmp_path / "there", tmp_path / "here" / "notebooks"
    there.mkdir()
    folder.mkdir(parents=True)
    for name in ("18-a.safetensors", "18-b.safetensors"):
        (there / name).write_bytes(CONTENT)
    monkeypatch.chdir(folder)
    return folder, there.as_uri()


def test_a_missing_file_is_fetched_and_another_is_left_alone(away):
    folder, address = away
    (folder / "results").mkdir()
    (folder / "results" / "18-a.safetensors").write_bytes(b"mine")
    fetch_files(address, "18-a.safetensors", "18-b.safetensors")
    assert (folder / "results" / "18-a.safetensors").read_bytes() == b"mine"
    assert (folder / "results" / "18-b.safetensors").read_bytes() == CONTENT


def test_nothing_is_fetched_in_a_clone(away):
    folder, address = away
    (folder.parent / "_config.yml").write_text("")
    fetch_files(address, "18-a.safetensors")
    assert not (folder / "results").exists()


def test_it_is_said_why_a_file_cannot_be_fetched(away):
    folder, address = away
    with pytest.raises(RuntimeError, match=r"there/other.json could not be fetched"):
        fetch_files(address, "18-a.safetensors", "other.json")
    assert [path.name for path in (folder / "results").iterdir()] == ["18-a.safetensors"]
