"""A corpus comes from one of three sources, says which, and a broken row is named."""

import dataclasses
import json
import threading

import pytest
from datasets import Dataset, DatasetDict

from utils import news as corpus
from utils.news import NEWS, class_names, drop_duplicates, load_news

ROWS = [{"text": f"article {i}", "label": i, "label_text": NEWS.classes[i]} for i in range(5)]
STAND_IN = {split: [{"text": "a docstring", "label": 0, "label_text": "numpy"}] for split in
            ("train", "test")}  # fmt: skip
GOOD = json.dumps(ROWS[0])


@pytest.fixture(autouse=True)
def no_network(monkeypatch):
    """No test reaches the hub or reads the real corpus unless it says so."""

    def refuse(*_, **__):
        raise AssertionError("the test went further than it should")

    monkeypatch.delenv("BBC_NEWS", raising=False)
    monkeypatch.setattr("huggingface_hub.get_session", refuse)
    monkeypatch.setattr("datasets.load_dataset", refuse)
    monkeypatch.setattr(NEWS, "stand_in", lambda: STAND_IN)
    monkeypatch.setattr(NEWS, "source", None)


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A valid folder of news: five articles to train, two to test."""
    monkeypatch.setenv("BBC_NEWS", str(tmp_path))
    for split, rows in {"train": ROWS, "test": ROWS[3:]}.items():
        lines = [json.dumps(row | {"more": 1}) for row in rows]
        (tmp_path / f"{split}.jsonl").write_text("\n".join(lines) + "\n", encoding="utf-8")
    return tmp_path


def test_the_folder_is_read_and_named(folder, capsys):
    news = load_news()
    assert news["train"].to_list() == ROWS
    assert news["test"].to_list() == ROWS[3:]
    said = capsys.readouterr().out
    assert said == "Data: the folder in BBC_NEWS (5 train and 2 test documents).\n"
    assert NEWS.is_loaded


BROKEN = {  # a row, and what is said of it
    "broken JSON": ('{"text": ', "not valid JSON"),
    "blank line": ("", "blank"),
    "not an object": ("[1, 2]", "expected an object"),
    "missing column": ('{"text": "a", "label": 1}', "'label_text' is missing"),
    "empty text": (json.dumps(ROWS[0] | {"text": " \n"}), "text is empty"),
    "text is null": (json.dumps(ROWS[0] | {"text": None}), "text is empty"),
    "not UTF-8": (json.dumps(ROWS[0] | {"text": "café"}, ensure_ascii=False), ""),
    "unknown label": (json.dumps(ROWS[0] | {"label": 5}), "unknown label 5"),
    "label as bool": (json.dumps(ROWS[1] | {"label": True}), "unknown label True"),
    "contradiction": (json.dumps(ROWS[0] | {"label_text": "sport"}), "unknown label 0 'sport'"),
}


@pytest.mark.parametrize("kind", BROKEN)
def test_a_broken_row_is_refused_with_file_and_row(folder, kind):
    line, message = BROKEN[kind]
    (folder / "test.jsonl").write_text(f"{GOOD}\n{line}\n{GOOD}\n", encoding="latin-1")
    with pytest.raises(ValueError, match=rf"test\.jsonl, row 2: .*{message}"):
        load_news()
    assert NEWS.source is None


@pytest.mark.parametrize("end", ["", "\r\n \n"])
def test_a_folder_at_home_whose_files_end_in_blank_lines(folder, monkeypatch, end):
    monkeypatch.setenv("HOME", str(folder.parent))
    monkeypatch.setenv("USERPROFILE", str(folder.parent))  # where Windows looks
    monkeypatch.setenv("BBC_NEWS", f"~/{folder.name}")
    (folder / "test.jsonl").write_bytes(f"{GOOD}\n{GOOD}{end}".encode())
    assert [len(part) for part in load_news().values()] == [5, 2]


def test_an_empty_or_missing_file_is_named_with_the_way_out(folder):
    for content in ("", "\n"):
        (folder / "test.jsonl").write_text(content)
        with pytest.raises(ValueError, match=r"test\.jsonl is empty"):
            load_news()
    (folder / "test.jsonl").unlink()
    with pytest.raises(FileNotFoundError, match=r"no file test\.jsonl.*BBC_NEWS"):
        load_news()


class Answer:
    """An answer of the hub."""

    def __init__(self, commits, error=None):
        self.commits, self.error = commits, error

    def raise_for_status(self):
        if self.error:  # else None, as one of the two libraries that the hub client has used gives
            raise self.error

    def json(self):
        return self.commits


COMMITS = [  # newest first
    {"id": "too-new", "date": "2026-11-20T10:00:00.000Z"},
    {"id": "on-the-day", "date": "2026-11-01T00:00:00.000Z"},
    {"id": "last-before", "date": "2026-10-31T23:59:59.000Z"},
    {"id": "older", "date": "2024-01-01T00:00:00.000Z"},
]


@pytest.fixture
def hub(monkeypatch):
    """Give a function that sets what the hub answers and holds; it returns the list of calls."""

    def set_up(answer, rows=ROWS, error=None):
        calls = []

        class Session:
            def get(self, url, **options):
                calls.append((url, options))
                return answer() if callable(answer) else answer

        def load_dataset(name, **options):
            calls.append((name, options))
            if error:
                raise error
            splits = {"test": rows[3:], "train": rows, "validation": ROWS[:1]}
            return DatasetDict({split: Dataset.from_list(part) for split, part in splits.items()})

        monkeypatch.setattr(corpus, "PROBE_SECONDS", 60.0)  # also where the machine is busy
        monkeypatch.setattr("huggingface_hub.get_session", Session)
        monkeypatch.setattr("datasets.load_dataset", load_dataset)
        return calls

    return set_up


def test_the_hub_gives_the_last_revision_before_the_date(hub, capsys):
    calls = hub(Answer(COMMITS))
    news = load_news()
    (url, options), load = calls
    assert url.endswith("/api/datasets/SetFit/bbc-news/commits/main")
    assert options["timeout"] == corpus.PROBE_SECONDS
    assert load == ("SetFit/bbc-news", {"revision": "last-before"})
    assert list(news) == ["train", "test"]
    assert news["train"].to_list() == ROWS
    assert news["test"].to_list() == ROWS[3:]
    said = capsys.readouterr().out
    assert said == "Data: SetFit/bbc-news on the hub (5 train and 2 test documents).\n"


def assert_stand_in(news, said, reason):
    assert news["train"].to_list() == STAND_IN["train"]
    assert not NEWS.is_loaded
    assert said.out.splitlines() == [
        f"{reason}, so docstrings of installed libraries stand in for the news.",
        "Data: docstrings of installed libraries (1 train and 1 test documents).",
    ]


def test_a_hub_without_a_usable_revision_is_not_asked_twice(hub, capsys):
    for answer in [
        Answer(COMMITS, error=OSError("503")),
        Answer(COMMITS[:2]),
        Answer({"error": "no such dataset"}),
        Answer([{"id": "undated"}]),
    ]:
        calls = hub(answer)
        assert_stand_in(load_news(), capsys.readouterr(), "The hub cannot be reached")
        assert len(calls) == 1


def test_a_slow_hub_is_not_waited_for(hub, monkeypatch, capsys):
    went_on, answers_in_time = threading.Event(), []

    def slow():
        answers_in_time.append(not went_on.wait(timeout=60))  # it answers once we went on
        return Answer(COMMITS)

    calls = hub(slow)
    monkeypatch.setattr(corpus, "PROBE_SECONDS", 0.05)
    news = load_news()
    assert not answers_in_time
    went_on.set()
    assert len(calls) <= 1  # nothing is loaded
    assert_stand_in(news, capsys.readouterr(), "The hub cannot be reached")


def test_a_failing_download_gives_the_stand_in_and_a_bad_row_is_an_error(hub, capsys):
    hub(Answer(COMMITS), error=ConnectionError("a long story"))
    reason = "The hub answered, but SetFit/bbc-news did not load (ConnectionError)"
    assert_stand_in(load_news(), capsys.readouterr(), reason)
    NEWS.source = None
    hub(Answer(COMMITS), rows=[*ROWS[:4], ROWS[4] | {"text": ""}])
    with pytest.raises(ValueError, match="train, row 5"):
        load_news()
    assert NEWS.source is None


def dataset_dict(**texts):
    rows = {split: [ROWS[0] | {"text": text} for text in part] for split, part in texts.items()}
    return DatasetDict({split: Dataset.from_list(part) for split, part in rows.items()})


def test_a_repeated_text_stays_once_and_in_the_test_split():
    kept = drop_duplicates(dataset_dict(train=list("abcab"), test=list("cddC")))
    assert {split: list(part["text"]) for split, part in kept.items()} == {
        "train": ["a", "b"],
        "test": ["c", "d", "C"],
    }


def test_another_data_set_is_another_instance(tmp_path, monkeypatch):
    names = {"name": "birds", "classes": ("owl", "wren"), "folder_variable": "BIRDS"}
    birds = dataclasses.replace(NEWS, **names)
    rows = [{"text": f"song {i}", "label": i, "label_text": names["classes"][i]} for i in (1, 0, 1)]
    for split in ("train", "test"):
        (tmp_path / f"{split}.jsonl").write_text("\n".join(map(json.dumps, rows)))
    monkeypatch.setenv("BIRDS", str(tmp_path))
    assert class_names(birds.load()) == ["owl", "wren"]
    assert (birds.is_loaded, NEWS.is_loaded) == (True, False)
