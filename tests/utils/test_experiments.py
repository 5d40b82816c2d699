"""The harness: what is run, what is kept, and what is refused."""

import io
import json
import os
import re
from http.client import HTTPResponse
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest

from utils.experiments import fetch_results, linear_rate, replacing, run_all

LAYERS = [{"layer": "wide", "heads": 2, "rate": 0.1}, {"layer": "narrow", "heads": 8, "rate": 1e-3}]
calls: list[tuple] = []


def run(layer, heads, rate, seed):
    calls.append((layer, seed))
    if (layer, seed) == ("stops", 1):
        raise KeyboardInterrupt
    return {"accuracy": heads / 10 + seed / 100, "loss": rate * seed}


def other_run(layer, heads, rate, seed):
    return {"accuracy": 0.0, "loss": 0.0}


def same_run(layer, heads, rate, seed):
    """As ``run``, but for what another machine or seed would change."""
    calls.append(("again", seed))
    return {"accuracy": heads / 10 + seed / 100 + 1e-4, "loss": rate * seed}


@pytest.fixture(autouse=True)
def no_calls(monkeypatch):
    calls.clear()
    for name in ("KEPT_CODE", "RECHECK"):
        monkeypatch.delenv(name, raising=False)


@pytest.fixture
def file(tmp_path):
    return tmp_path / "results" / "10-layers.csv"


def test_every_configuration_meets_every_seed_and_what_the_file_holds_is_not_run_again(file):
    table = run_all(run, LAYERS, range(3), file)
    assert list(table["layer"]) == ["wide"] * 3 + ["narrow"] * 3
    assert list(table["seed"]) == [0, 1, 2] * 2
    assert list(table.columns) == ["layer", "heads", "rate", "seed", "accuracy", "loss", "seconds"]
    np.testing.assert_allclose(table["accuracy"], [0.2, 0.21, 0.22, 0.8, 0.81, 0.82])
    assert "# make notebooks CHAPTERS=10" in file.read_text().splitlines()
    assert list(file.parent.iterdir()) == [file], "nothing half written"
    calls.clear()
    pd.testing.assert_frame_equal(table, run_all(run, LAYERS, range(3), file))
    assert not calls

    more = run_all(run, LAYERS[::-1], range(4), file)
    assert calls == [("narrow", 3), ("wide", 3)]
    assert list(more["layer"]) == ["narrow"] * 4 + ["wide"] * 4


def test_a_run_that_is_stopped_goes_on_where_it_was(file):
    stops = [{**LAYERS[0], "layer": "stops"}]
    with pytest.raises(KeyboardInterrupt):
        run_all(run, LAYERS[:1] + stops, range(3), file)
    assert calls == [("wide", 0), ("wide", 1), ("wide", 2), ("stops", 0), ("stops", 1)]
    calls.clear()
    run_all(run, LAYERS, range(3), file)
    assert calls == [("narrow", 0), ("narrow", 1), ("narrow", 2)]


def test_results_of_other_code_are_refused_where_the_code_is_known(file, monkeypatch):
    run_all(run, LAYERS, range(2), file)
    believed = run_all(other_run, LAYERS, range(2), file)
    assert believed["accuracy"].all(), "nobody has said what the code is"
    monkeypatch.setenv("KEPT_CODE", json.dumps({"run": "1f", "same_run": "2e"}))
    file.unlink()
    run_all(run, LAYERS, range(2), file)
    calls.clear()
    run_all(run, LAYERS, range(2), file)
    for function, code in [(run, {"run": "3d"}), (same_run, {"same_run": "1f"})]:
        monkeypatch.setenv("KEPT_CODE", json.dumps(code))
        with pytest.raises(ValueError, match=r"10-layers\.csv was made by other code"):
            run_all(function, LAYERS, range(2), file)
    assert not calls


def test_with_recheck_they_are_taken_if_they_come_out_the_same(file, monkeypatch):
    run_all(run, LAYERS, range(2), file)
    calls.clear()
    monkeypatch.setenv("KEPT_CODE", json.dumps({"same_run": "2e", "other_run": "3d"}))
    monkeypatch.setenv("RECHECK", "1")
    table = run_all(same_run, LAYERS, range(2), file)
    assert [layer for layer, _ in calls] == ["again"] * 2  # the quickest of each layer
    monkeypatch.delenv("RECHECK")
    pd.testing.assert_frame_equal(table, run_all(same_run, LAYERS, range(2), file))
    assert len(calls) == 2, "from now on it is this code's"
    monkeypatch.setenv("RECHECK", "1")
    with pytest.raises(ValueError, match=r"10-layers\.csv says accuracy = 0\.2"):
        run_all(other_run, LAYERS, range(2), file)


DAMAGE = {  # what to replace, in rows such as wide,2,0.1,1,0.5,23.0,0.001
    "a cut last row": (r"(1,0.5,2)3\.0,[\d.]+\n\Z", r"\1"),
    "a cut number": ("1,0.5,23.0", "1,0.5,2.0"),
    "a row that is gone": (r"wide.*,1,0.5.*\n", ""),
    "an empty file": (r"(?s)\A.*\Z", ""),
    "no text": (r"0\.5", "\0"),
    "no head": ("#.*\n", ""),
}


@pytest.mark.parametrize("kind", DAMAGE)
def test_a_damaged_file_is_refused_and_named_and_stays_as_it_is(file, kind):
    pattern, other = DAMAGE[kind]
    run_all(lambda **_: {"accuracy": 0.5, "loss": 23.0}, LAYERS, range(2), file)
    whole = file.read_text()
    file.write_text(re.sub(pattern, other, whole))
    content = file.read_text()
    assert content != whole
    with pytest.raises(ValueError, match=r"10-layers\.csv is not as it was written.*remove it"):
        run_all(run, LAYERS, range(3), file)
    assert file.read_text() == content
    assert not calls


def test_a_file_of_other_configurations_is_refused(file):
    run_all(run, LAYERS, range(2), file)
    with pytest.raises(ValueError, match="of other configurations"):
        run_all(lambda **_: {}, [{"layer": "wide", "depth": 2}], range(2), file)


def test_no_number_a_comma_and_a_hash_survive_the_file(file):
    def odd(layer, seed):
        calls.append((layer, seed))
        return {"loss": np.nan if seed else 1 / 3, "found": np.inf, "text": 'a, "b"\n# c'}

    first = run_all(odd, [{"layer": "# 1"}, {"layer": "a,b"}], range(2), file)
    again = run_all(odd, [{"layer": "# 1"}, {"layer": "a,b"}], range(2), file)
    pd.testing.assert_frame_equal(first, again, check_exact=True)
    assert len(calls) == 4


@pytest.mark.parametrize("step", ["write", "replace"])
def test_a_full_disk_names_the_file_and_leaves_the_old_one(file, monkeypatch, step):
    def full(*_, **__):
        raise OSError(28, "No space left on device")

    run_all(run, LAYERS, range(2), file)
    before = file.read_bytes()
    monkeypatch.setattr(*((Path, "write_text") if step == "write" else (os, "replace")), full)
    with pytest.raises(OSError, match=r"10-layers\.csv could not be written .*No space left"):
        run_all(run, LAYERS, range(3), file)
    assert file.read_bytes() == before
    assert list(file.parent.iterdir()) == [file]


@pytest.mark.parametrize("configurations", [[], [{"layer": "wide"}, {"heads": 2}]])
def test_configurations_must_agree_in_their_keys(configurations):
    with pytest.raises(ValueError, match="same keys"):
        run_all(run, configurations, range(2))


@pytest.fixture
def away(tmp_path, monkeypatch):
    """A folder that is no clone of the course, and the address of two files."""
    there, away = tmp_path / "there", tmp_path / "away" / "notebooks"
    for folder in (there, away):
        folder.mkdir(parents=True)
    for name in ("10-a.csv", "10-b.csv"):
        (there / name).write_text(f"a,b\n{name},1\n")
    monkeypatch.chdir(away)
    return away, there.as_uri()


def test_kept_results_are_fetched_once_and_byte_by_byte(away):
    folder, address = away
    content = bytes(range(256)) + b"\r\n"  # no UTF-8
    (folder.parents[1] / "there" / "18-a.safetensors").write_bytes(content)
    fetch_results(address, "10-a.csv", "18-a.safetensors")
    (folder / "results" / "10-a.csv").write_text("mine")
    fetch_results(address, "10-a.csv", "10-b.csv")
    assert (folder / "results" / "10-a.csv").read_text() == "mine"
    assert (folder / "results" / "10-b.csv").read_text() == "a,b\n10-b.csv,1\n"
    assert (folder / "results" / "18-a.safetensors").read_bytes() == content


def test_in_a_clone_weights_are_fetched_and_no_table_is(away):
    folder, address = away
    (folder.parent / "_config.yml").write_text("")
    (folder.parents[1] / "there" / "18-a.safetensors").write_bytes(b"weights")
    fetch_results(address, "10-a.csv", "18-a.safetensors")
    assert [path.name for path in (folder / "results").iterdir()] == ["18-a.safetensors"]


def test_it_is_said_why_a_file_cannot_be_fetched(away):
    folder, address = away
    with pytest.raises(RuntimeError, match=r"there/other.csv could not be fetched"):
        fetch_results(address, "10-a.csv", "other.csv")
    assert [path.name for path in (folder / "results").iterdir()] == ["10-a.csv"]


def test_a_download_that_breaks_off_is_not_kept(away, monkeypatch):
    folder, address = away
    sent = io.BytesIO(b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nhalf")
    answer = HTTPResponse(SimpleNamespace(makefile=lambda _: sent))
    answer.begin()
    monkeypatch.setattr("urllib.request.urlopen", lambda *_, **__: answer)
    with pytest.raises(RuntimeError, match=r"4 bytes read, 5 more expected"):
        fetch_results(address, "10-a.csv")
    assert list(folder.iterdir()) == []


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


def test_the_rate_rises_for_a_tenth_of_the_steps_and_falls_for_the_others():
    rates = [linear_rate(step, 20, 2.0) for step in range(1, 21)]
    assert rates == pytest.approx([1.0, *(2 * (21 - step) / 19 for step in range(2, 21))])
