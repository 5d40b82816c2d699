"""The news: 2,000 and more articles of the BBC in five classes, or what stands in for them.

Source of the articles: Greene and Cunningham 2006, "Practical Solutions to the Problem of Diagonal
Dominance in Kernel Document Clustering", ICML.
"""

from __future__ import annotations

import json
import os
import threading
from collections.abc import Iterable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from datasets import Dataset, DatasetDict, Features, Value, concatenate_datasets, load_dataset
from huggingface_hub import constants, get_session

from utils.corpus import docstring_rows

HUB_NAME = "SetFit/bbc-news"
HUB_DATE = datetime(2026, 11, 1, tzinfo=UTC)  # the revision is the last one before this day
PROBE_SECONDS = 3.0
LABELS = ("tech", "business", "sport", "entertainment", "politics")
FEATURES = Features(
    {"text": Value("string"), "label": Value("int64"), "label_text": Value("string")}
)

last_source: str | None = None  # "news" or "docstrings": what load_news gave last


def load_news() -> DatasetDict:
    """Load articles for classification, and say in one line where they came from.

    The first of these that can be had: the folder named by the environment variable ``BBC_NEWS``,
    with ``train.jsonl`` and ``test.jsonl``; the hub's ``SetFit/bbc-news``; the docstrings of
    ``utils.corpus``, labelled by library.

    Returns
    -------
    DatasetDict with the splits ``train`` and ``test`` and the columns ``text`` (str), ``label``
    (int64, 0 to 4) and ``label_text`` (str)

    Raises
    ------
    FileNotFoundError
        if ``BBC_NEWS`` is set and one of its two files is not there
    ValueError
        if a row is not valid JSON, lacks a column, or has an empty text or an unknown label; the
        message names file and row
    """
    global last_source
    if folder := os.environ.get("BBC_NEWS"):
        news, source, word = _from_folder(Path(folder)), "the folder in BBC_NEWS", "news"
    else:
        hub, why_not = _from_hub()
        if hub is not None:
            news, source, word = hub, f"{HUB_NAME} on the hub", "news"
        else:
            print(f"{why_not}, so docstrings of installed libraries stand in for the news.")
            rows = docstring_rows()
            news = DatasetDict({split: _dataset(part) for split, part in rows.items()})
            source, word = "docstrings of installed libraries, labelled by library", "docstrings"
    last_source = word
    sizes = " and ".join(f"{len(part):,} {split}" for split, part in news.items())
    print(f"Data: {source} ({sizes} documents).")
    return news


def class_names(news: DatasetDict) -> list[str]:
    """Give the name of each class; its position is the label."""
    train = news["train"]
    names = dict(zip(train["label"], train["label_text"], strict=True))
    return [names[label] for label in sorted(names)]


def drop_duplicates(news: DatasetDict) -> DatasetDict:
    """Keep each text once: in the test split where it stands there, else in the training split."""
    seen: set[str] = set()

    def is_first(text: str) -> bool:
        known = text in seen
        seen.add(text)
        return not known

    kept = {}
    for split in ("test", "train"):
        texts = news[split]["text"]
        kept[split] = news[split].select([i for i, text in enumerate(texts) if is_first(text)])
    return DatasetDict({"train": kept["train"], "test": kept["test"]})


def all_documents(news: DatasetDict) -> Dataset:
    """Give both splits as one."""
    return concatenate_datasets([news["train"], news["test"]])


def _dataset(rows: list[dict[str, Any]]) -> Dataset:
    return Dataset.from_list(rows, features=FEATURES)


def _from_folder(folder: Path) -> DatasetDict:
    files = {split: folder / f"{split}.jsonl" for split in ("train", "test")}
    for file in files.values():
        if not file.is_file():
            raise FileNotFoundError(
                f"BBC_NEWS names the folder {folder}, which has no file {file.name}. Put the two "
                "files train.jsonl and test.jsonl there, or unset BBC_NEWS."
            )
    return DatasetDict({split: _dataset(_read(file)) for split, file in files.items()})


def _read(file: Path) -> list[dict[str, Any]]:
    """Read a file with one JSON object in each line; rows are counted from 1."""
    rows = []
    with file.open("rb") as lines:  # bytes, so that a row that is not UTF-8 has a number as well
        for number, line in enumerate(lines, start=1):
            try:
                row = json.loads(line)
            except ValueError as error:
                raise ValueError(f"{file}, row {number}: not valid JSON ({error}).") from None
            rows.append(_checked(row, f"{file}, row {number}"))
    if not rows:
        raise ValueError(f"{file} is empty; expected one article in each line.")
    return rows


def _checked(row: Any, where: str) -> dict[str, Any]:
    """Give the row's three columns, or raise ValueError."""
    if not isinstance(row, dict):
        raise ValueError(f"{where}: expected an object with text, label and label_text.")
    if missing := [name for name in FEATURES if name not in row]:
        raise ValueError(f"{where}: the column {missing[0]!r} is missing.")
    text, label, label_text = (row[name] for name in FEATURES)
    if not isinstance(text, str) or not text.strip():
        raise ValueError(f"{where}: the text is empty.")
    known = type(label) is int and label in range(len(LABELS))  # True is an int as well
    if not known or label_text != LABELS[label]:
        names = ", ".join(f"{i} {name}" for i, name in enumerate(LABELS))
        raise ValueError(f"{where}: unknown label {label!r} {label_text!r}; known are {names}.")
    return {"text": text, "label": label, "label_text": label_text}


def _from_hub() -> tuple[DatasetDict | None, str]:
    """Load the hub's articles; if that cannot be done, give None and the reason."""
    revision = _hub_revision()
    if revision is None:
        return None, "The hub cannot be reached"
    try:
        loaded = load_dataset(HUB_NAME, revision=revision)
    except Exception as error:  # of a dozen kinds, from four libraries; the reader is told which
        return None, f"The hub answered, but {HUB_NAME} did not load ({type(error).__name__})"
    parts = {split: _checked_all(loaded[split], f"{HUB_NAME}, {split}") for split in loaded}
    return DatasetDict({split: parts[split] for split in ("train", "test")}), ""


def _checked_all(rows: Iterable[Any], where: str) -> Dataset:
    return _dataset([_checked(row, f"{where}, row {i}") for i, row in enumerate(rows, start=1)])


def _hub_revision() -> str | None:
    """Ask the hub, once and for at most three seconds, for the revision that the course uses."""
    found: list[str] = []
    url = f"{constants.ENDPOINT}/api/datasets/{HUB_NAME}/commits/main"

    def ask() -> None:
        try:
            answer = get_session().get(url, timeout=PROBE_SECONDS)
            answer.raise_for_status()
            commits = answer.json()  # newest first
            found.extend(c["id"] for c in commits if datetime.fromisoformat(c["date"]) < HUB_DATE)
        except Exception:
            return  # whatever the reason: the hub cannot be used now

    # A thread, because looking up a name may hang for longer than any timeout of a request.
    probe = threading.Thread(target=ask, daemon=True)
    probe.start()
    probe.join(PROBE_SECONDS)
    return found[0] if found else None
